"""`xctest`: what `xcodebuild test` prints for performance tests, as ExecuTorch's tests for iPhones do.

    Test Case '-[Tests test_forward_mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4]' measured [Clock Monotonic Time, s]
        average: 0.010, relative standard deviation: 2.1%, values: [0.010112, ...], ..., polarity: prefers smaller, ...

on one line for each metric, and `... failed (1.2 seconds).` for a test that failed. Method, model, backend, system and
phone are in the names of ExecuTorch's tests only (`extract_benchmark_results.py` in .github/scripts of
pytorch/executorch).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from harness.core.foreign import ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Direction, Observation
from harness.core.outcome import Outcome

_NUMBER: Final = r"[-+]?\d{1,16}(?:\.\d{1,16})?(?:[eE][-+]?\d{1,2})?"
_TEST: Final = re.compile(r"Test Case\s+'-\[(?P<class>[\w.]{1,200})\s+(?P<test>[\w+]{1,200})\]'\s+(?P<rest>.*)")
_MEASURED: Final = re.compile(
    rf"measured \[(?P<metric>[^\]]{{1,120}})\]\s+average:\s+(?P<average>{_NUMBER})"
    rf"(?:,\s+relative standard deviation:\s+(?P<spread>{_NUMBER})%)?"
    r"(?:,\s+values:\s+\[(?P<values>[^\]]*)\])?(?P<rest>.*)"
)
_FAILED: Final = re.compile(r"failed \((?P<seconds>[\d.]{1,12}) seconds\)")
_STARTED: Final = re.compile(r"started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)")
_EXECUTORCH: Final = re.compile(
    r"test_(?P<method>forward|load|generate)_(?P<model>[\w+]+)_pte.*iOS_(?P<system>\w+?)_iPhone(?P<phone>\w+)"
)
_MODEL: Final = re.compile(r"(?P<model>[^_]+)_(?P<backend>[\w+]+)")
_CLOCK: Final = "Clock Monotonic Time"
_BY_METHOD: Final = {
    "forward": ("NET", "latency"),
    "load": ("RUN", "load_time"),
    "generate": ("LLM", "generate_time"),
    "": ("NET", "latency"),
}
_KNOWN: Final = {
    "CPU Time": ("NET", "cpu_time"),
    "Memory Peak Physical": ("RUN", "peak_memory"),
    "Tokens Per Second": ("LLM", "decode_rate"),
}
_UNITS: Final = {"t/s": "tokens/s"}
_MOST_VALUES: Final = 100_000


@dataclass(slots=True)
class _TestRun:
    """One run of a test while its lines are read."""

    test_class: str
    test: str
    line: int
    last: int
    time: float | None
    observations: dict[str, Observation] = field(default_factory=dict)
    directions: dict[str, Direction] = field(default_factory=dict)
    averages: dict[str, float] = field(default_factory=dict)
    entries: int = 0
    failed: str = ""

    def add(self, observation: Observation, measured: re.Match[str], number: int) -> None:
        """Add a figure of its next line."""
        self.observations[observation.name] = observation
        self.averages[observation.name] = float(measured["average"])
        if "prefers larger" in measured["rest"]:
            self.directions[observation.name] = Direction.HIGHER
        elif "prefers smaller" in measured["rest"]:
            self.directions[observation.name] = Direction.LOWER
        self.last, self.entries = number, self.entries + 1

    def add_failure(self, seconds: str, number: int) -> None:
        """Keep that it failed."""
        self.last, self.entries = number, self.entries + 1
        self.failed = f"the test failed after {seconds} s (line {number})"


class XCTestFormat:
    """The format."""

    name = "xctest"
    marks = "lines `Test Case '-[...]' measured [...] average: ...`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether a test of Xcode measured something."""
        return "Test Case '-[" in text and "measured [" in text

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the log: one record for each run of a test that measured something."""
        runs: list[_TestRun] = []
        latest: dict[tuple[str, str], _TestRun] = {}
        problems: list[ForeignProblem] = []
        time: float | None = None
        for number, line in enumerate(text.splitlines(), 1):
            if (started := _STARTED.search(line)) is not None:
                time = _parse_time(started[1])
            is_measured = "measured [" in line
            match = _TEST.search(line) if is_measured or "failed (" in line else None
            if match is None:
                if is_measured:
                    problems.append(
                        ForeignProblem(place=f"line {number}", reason="no name of a test: `Test Case '-[...]'`")
                    )
                continue
            key = (match["class"], match["test"])
            if not is_measured:
                if (failed := _FAILED.match(match["rest"])) is not None:
                    run = latest.get(key)
                    if run is None or run.failed:
                        run = latest[key] = _TestRun(*key, number, number, time)
                        runs.append(run)
                    run.add_failure(failed["seconds"], number)
                continue
            measured = _MEASURED.match(match["rest"])
            observation = _observe(measured, key[1]) if measured is not None else "not `measured [...] average: ...`"
            if measured is None or isinstance(observation, str):
                problems.append(ForeignProblem(place=f"line {number}", reason=str(observation)))
                continue
            run = latest.get(key)
            if run is None or observation.name in run.observations or run.failed:
                run = latest[key] = _TestRun(*key, number, number, time)
                runs.append(run)
            run.add(observation, measured, number)
        return ForeignContent(records=tuple(map(_build, runs)), problems=tuple(problems))


def create() -> XCTestFormat:
    """Create the format."""
    return XCTestFormat()


def _observe(measured: re.Match[str], test: str) -> Observation | str:
    """Return the figure of a line; a text says what is wrong with it."""
    name, _, unit = (part.strip() for part in measured["metric"].rpartition(","))
    name, unit = (name, _UNITS.get(unit, unit)) if name else (unit, "")
    executorch = _EXECUTORCH.search(test)
    method = executorch["method"] if executorch is not None else ""
    type_, metric = _BY_METHOD[method] if name == _CLOCK else _KNOWN.get(name, ("NET", name))
    if metric == "peak_memory" and method == "load":
        metric = "peak_load_memory"
    values = list(_parse_values(measured["values"] or ""))
    if len(values) > _MOST_VALUES or any(value is None for value in values):
        return "`values` is not a list of numbers"
    samples = tuple(value for value in values if value is not None)
    if samples:
        return Observation(type=type_, metric=metric, unit=unit, samples=samples)
    average, spread = float(measured["average"]), measured["spread"]
    summary = {"mean": average, **({"stdev": average * float(spread) / 100} if spread else {})}
    if not all(map(math.isfinite, summary.values())):
        return "a figure is not finite"
    return Observation(type=type_, metric=metric, unit=unit, summary=summary)


def _parse_values(text: str) -> Iterator[float | None]:
    for part in text.split(",")[: _MOST_VALUES + 1] if text.strip() else ():
        yield float(part) if re.fullmatch(_NUMBER, part.strip()) else None


def _build(run: _TestRun) -> ForeignRecord:
    observations = tuple(sorted(run.observations.values(), key=lambda each: each.name != "LLM decode_rate"))
    main = next(
        (each for each in observations if each.name == "NET latency"), observations[0] if observations else None
    )
    average = run.averages.get(main.name) if main is not None else None
    executorch = _EXECUTORCH.search(run.test)
    named = _MODEL.fullmatch(executorch["model"]) if executorch is not None else None
    model = named["model"] if named is not None else executorch["model"] if executorch is not None else run.test_class
    backend = named["backend"] if named is not None else ""
    phone = executorch["phone"].replace("_", ",") if executorch is not None else ""
    return ForeignRecord(
        place=f"line {run.line}" if run.line == run.last else f"line {run.line} to line {run.last}",
        entries=run.entries,
        model=model,
        identifier=f"{executorch['model']}-{executorch['method']}" if executorch is not None else run.test,
        framework="executorch" if executorch is not None else "xctest",
        backend=backend,
        device=ForeignDevice(
            name=f"iPhone{phone}" if phone else "",
            kind=f"iPhone{phone}" if phone else "",
            os=f"iOS {executorch['system'].replace('_', '.')}" if executorch is not None else "",
        ),
        time=run.time,
        time_note="the log does not name its time zone; UTC is assumed" if run.time is not None else "which names none",
        observations=observations,
        directions=run.directions,
        published=average,
        published_as="mean",
        rounding=0.000_51,
        count=len(main.samples) or None if main is not None else None,
        outcome=Outcome.FAILED if run.failed or not observations else Outcome.OK,
        reason=run.failed or (None if observations else "the log has no figure of it"),
        meta={"test": f"{run.test_class} {run.test}"},
    )


def _parse_time(text: str) -> float | None:
    """Return Unix seconds of `2025-09-18 22:36:38.395`, taken as UTC; None where there is no such day."""
    try:
        return datetime.fromisoformat(text.partition(".")[0]).replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None
