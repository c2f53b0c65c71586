"""Runs of Xcode's tests as records: what formats share that read them from a log or from a result bundle."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from harness.core.foreign import ForeignDevice, ForeignRecord
from harness.core.metric import Direction, Observation
from harness.core.outcome import Outcome
from harness.core.xctest import CaseEnded, CaseMeasured, XCTestCase, observe

_EXECUTORCH: Final = re.compile(
    r"test_(?P<method>forward|load|generate)_(?P<model>[\w+]+)_pte.*iOS_(?P<system>\w+?)_iPhone(?P<phone>\w+)"
)
_MODEL: Final = re.compile(r"(?P<model>[^_]+)_(?P<backend>[\w+]+)")


def observe_case(measured: CaseMeasured) -> Observation | None:
    """Return what a test measured, by what the names of ExecuTorch's tests say; None if a figure is not finite."""
    executorch = _EXECUTORCH.search(measured.case.name)
    return observe(measured, executorch["method"] if executorch is not None else "")


@dataclass(slots=True)
class XCTestRun:
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


def build_record(run: XCTestRun) -> ForeignRecord:
    """Return the record of a run of a test."""
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
        reason=run.failed or (None if observations else "the file has no figure of it"),
        meta={"test": f"{run.case.class_name} {run.case.name}"},
    )
