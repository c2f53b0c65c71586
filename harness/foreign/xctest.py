"""`xctest`: what `xcodebuild test` prints for performance tests, as ExecuTorch's tests for iPhones do.

    Test Case '-[Tests test_forward_mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4]' measured [Clock Monotonic Time, s]
        average: 0.010, relative standard deviation: 2.1%, values: [0.010112, ...], ..., polarity: prefers smaller, ...

on one line for each metric, and `... failed (1.2 seconds).` for a test that failed. Method, model, backend, system and
phone are in the names of ExecuTorch's tests only (`extract_benchmark_results.py` in .github/scripts of
pytorch/executorch).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from harness.core.foreign import ForeignContent, ForeignDevice, ForeignProblem, ForeignRecord
from harness.core.metric import Direction, Observation
from harness.core.outcome import Outcome
from harness.core.xctest import BadLine, CaseEnded, CaseMeasured, SuiteBegan, XCTestCase, observe, parse_log

_EXECUTORCH: Final = re.compile(
    r"test_(?P<method>forward|load|generate)_(?P<model>[\w+]+)_pte.*iOS_(?P<system>\w+?)_iPhone(?P<phone>\w+)"
)
_MODEL: Final = re.compile(r"(?P<model>[^_]+)_(?P<backend>[\w+]+)")


@dataclass(slots=True)
class _TestRun:
    """One run of a test while its lines are read."""

    case: XCTestCase
    line: int
    last: int
    time: float | None
    observations: dict[str, Observation] = field(default_factory=dict)
    directions: dict[str, Direction] = field(default_factory=dict)
    averages: dict[str, float] = field(default_factory=dict)
    entries: int = 0
    failed: str = ""

    def add(self, observation: Observation, measured: CaseMeasured) -> None:
        """Add a figure of its next line."""
        self.observations[observation.name] = observation
        self.averages[observation.name] = measured.average
        if measured.direction is not None:
            self.directions[observation.name] = measured.direction
        self.last, self.entries = measured.line, self.entries + 1

    def add_failure(self, ended: CaseEnded) -> None:
        """Keep that it failed."""
        self.last, self.entries = ended.line, self.entries + 1
        self.failed = f"the test failed after {ended.seconds} s (line {ended.line})"


class _TestRuns:
    """Runs of tests while a log is read: one ends where its metric is measured again, or where it failed."""

    def __init__(self) -> None:
        self.runs: list[_TestRun] = []
        self.time: float | None = None
        self._latest: dict[XCTestCase, _TestRun] = {}

    def measure(self, measured: CaseMeasured, observation: Observation) -> None:
        """Add a metric to the run of its test."""
        run = self._latest.get(measured.case)
        if run is None or observation.name in run.observations or run.failed:
            run = self._begin(measured.case, measured.line)
        run.add(observation, measured)

    def fail(self, ended: CaseEnded) -> None:
        """Add the failure to the run of its test."""
        run = self._latest.get(ended.case)
        if run is None or run.failed:
            run = self._begin(ended.case, ended.line)
        run.add_failure(ended)

    def _begin(self, case: XCTestCase, line: int) -> _TestRun:
        run = self._latest[case] = _TestRun(case, line, line, self.time)
        self.runs.append(run)
        return run


class XCTestFormat:
    """The format."""

    name = "xctest"
    marks = "lines `Test Case '-[...]' measured [...] average: ...`"

    def recognises(self, text: str, name: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return whether a test of Xcode measured something."""
        return "Test Case '-[" in text and "measured [" in text

    def read(self, text: str, name: str) -> ForeignContent:  # noqa: ARG002
        """Read the log: one record for each run of a test that measured something."""
        tests = _TestRuns()
        problems: list[ForeignProblem] = []
        for event in parse_log(text):
            if isinstance(event, SuiteBegan):
                tests.time = event.time
            elif isinstance(event, CaseMeasured):
                executorch = _EXECUTORCH.search(event.case.name)
                observation = observe(event, executorch["method"] if executorch is not None else "")
                if observation is None:
                    problems.append(ForeignProblem(place=f"line {event.line}", reason="a figure is not finite"))
                else:
                    tests.measure(event, observation)
            elif isinstance(event, CaseEnded) and event.how == "failed":
                tests.fail(event)
            elif isinstance(event, BadLine):
                problems.append(ForeignProblem(place=f"line {event.line}", reason=event.reason))
        return ForeignContent(records=tuple(map(_build, tests.runs)), problems=tuple(problems))


def create() -> XCTestFormat:
    """Create the format."""
    return XCTestFormat()


def _build(run: _TestRun) -> ForeignRecord:
    observations = tuple(sorted(run.observations.values(), key=lambda each: each.name != "LLM decode_rate"))
    main = next(
        (each for each in observations if each.name == "NET latency"), observations[0] if observations else None
    )
    average = run.averages.get(main.name) if main is not None else None
    executorch = _EXECUTORCH.search(run.case.name)
    named = _MODEL.fullmatch(executorch["model"]) if executorch is not None else None
    model = (
        named["model"] if named is not None else executorch["model"] if executorch is not None else run.case.class_name
    )
    backend = named["backend"] if named is not None else ""
    phone = executorch["phone"].replace("_", ",") if executorch is not None else ""
    return ForeignRecord(
        place=f"line {run.line}" if run.line == run.last else f"line {run.line} to line {run.last}",
        entries=run.entries,
        model=model,
        identifier=f"{executorch['model']}-{executorch['method']}" if executorch is not None else run.case.name,
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
        meta={"test": f"{run.case.class_name} {run.case.name}"},
    )
