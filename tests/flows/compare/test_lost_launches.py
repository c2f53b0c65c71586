"""A treatment that heats the device, and is not called unchanged for what is left of it; a device that goes away."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from harness.core.command import Command, Completed
from harness.core.comparison import Parameters
from harness.core.device import Device, DeviceState
from harness.core.errors import DeviceLost, ExitCode
from harness.core.protocols import Progress
from harness.core.result import Outcome
from harness.core.verdict import Verdict
from harness.flows.compare.compare import ComparisonStages, ComparisonTask
from harness.flows.measure.runners import installed_runner
from tests.flows.instant import Instant, InstantSession, builds, plan
from tests.flows.runs import Run


class HeatingSession(InstantSession):
    """Three of four launches of the treatment throttle the device."""

    def __init__(self, device: Device) -> None:
        super().__init__(device, lambda _: None)
        self._throttled = 0
        self._turns = itertools.cycle((True, True, True, False))

    def run(self, command: Command) -> Completed:
        self._throttled += command.argv[0] == "/treatment" and next(self._turns)
        return super().run(command)

    def state(self) -> DeviceState:
        return DeviceState(time=0.0, throttle_count=self._throttled)


class Heating(Instant):
    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        yield HeatingSession(device)


def test_a_throttling_treatment_is_undecided_with_side_count_and_cause(tmp_path: Path) -> None:
    run = Run(tmp_path)
    made = plan(Heating(["A"]), ["same"])
    request = ComparisonTask(installed_runner, installed_runner, Parameters(seed=3, max_pairs=40))
    flow = ComparisonStages(request, run.settings, made, files={}, reporting=run.reporting, display=run.display)
    flow.run(builds(made, "control"), builds(made, "treatment"))
    (result,) = run.recorder.results
    assert result.comparison is not None
    assert result.comparison.verdict is Verdict.UNDECIDED
    assert "the treatment was slowed by heat in" in result.comparison.reason
    assert not result.trusted
    (board,) = run.display.boards
    assert [row.cells[-1] for row in board.rows] == ["undecided"]
    assert run.reporting.exit_code() is ExitCode.UNDECIDED


class GoneSession(InstantSession):
    """Session that is lost at the first launch and does not come back."""

    def __init__(self, device: Device) -> None:
        super().__init__(device, lambda _: None)
        self.tried = 0

    def run(self, command: Command) -> Completed:
        self.tried += 1
        raise DeviceLost("it was unplugged")


class LostPlatform(Instant):
    def __init__(self) -> None:
        super().__init__(["A"])
        self.sessions: list[GoneSession] = []

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        self.sessions.append(GoneSession(device))
        yield self.sessions[-1]


def test_a_device_lost_at_the_first_launch_is_not_used_for_further_benchmarks(tmp_path: Path) -> None:
    run, lost_platform = Run(tmp_path), LostPlatform()
    run.follow(plan(lost_platform, ["one", "two", "three"]))
    assert [session.tried for session in lost_platform.sessions] == [1]
    assert sorted(result.benchmark.identifier for result in run.recorder.results) == ["one", "three", "two"]
    assert {result.outcome for result in run.recorder.results} == {Outcome.DEVICE_LOST}
    assert run.reporting.exit_code() is ExitCode.ENVIRONMENT
