"""`xctest`: what `xcodebuild test` prints for performance tests, as ExecuTorch's tests for iPhones do.

    Test Case '-[Tests test_forward_mv2_xnnpack_q8_pte_iOS_17_2_1_iPhone15_4]' measured [Clock Monotonic Time, s]
        average: 0.010, relative standard deviation: 2.1%, values: [0.010112, ...], ..., polarity: prefers smaller, ...

on one line for each metric, and `... failed (1.2 seconds).` for a test that failed. Method, model, backend, system and
phone are in the names of ExecuTorch's tests only (`extract_benchmark_results.py` in .github/scripts of
pytorch/executorch).
"""

from __future__ import annotations

from harness.core.foreign import ForeignContent, ForeignProblem
from harness.core.metric import Observation
from harness.core.xctest import BadLine, CaseEnded, CaseMeasured, SuiteBegan, XCTestCase, parse_log
from harness.foreign.xctest_runs import XCTestRun, build_record, observe_case


class _TestRuns:
    """Runs of tests while a log is read: one ends where its metric is measured again, or where it failed."""

    def __init__(self) -> None:
        self.runs: list[XCTestRun] = []
        self.time: float | None = None
        self._latest: dict[XCTestCase, XCTestRun] = {}

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

    def _begin(self, case: XCTestCase, line: int) -> XCTestRun:
        run = self._latest[case] = XCTestRun(case, line, line, self.time)
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
                observation = observe_case(event)
                if observation is None:
                    problems.append(ForeignProblem(place=f"line {event.line}", reason="a figure is not finite"))
                else:
                    tests.measure(event, observation)
            elif isinstance(event, CaseEnded) and event.how == "failed":
                tests.fail(event)
            elif isinstance(event, BadLine):
                problems.append(ForeignProblem(place=f"line {event.line}", reason=event.reason))
        return ForeignContent(records=tuple(map(build_record, tests.runs)), problems=tuple(problems))


def create() -> XCTestFormat:
    """Create the format."""
    return XCTestFormat()
