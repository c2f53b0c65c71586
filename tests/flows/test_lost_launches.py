"""A treatment that heats the device loses its launches, and is not called unchanged for what is left of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from harness.core.command import Command, Completed
from harness.core.comparison import Parameters, Verdict
from harness.core.device import Device, DeviceState
from harness.core.errors import ExitCode
from harness.core.protocols import Progress
from harness.flows.compare import Request, _Comparison
from harness.flows.sides import installed
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


def test_a_treatment_that_heats_is_undecided_with_side_count_and_cause(tmp_path: Path) -> None:
    run = Run(tmp_path)
    made = plan(Heating(["A"]), ["same"])
    request = Request(installed, installed, Parameters(seed=3, max_pairs=40))
    flow = _Comparison(request, run.settings, made, files={}, reporting=run.reporting, display=run.display)
    flow.run(builds(made, "control"), builds(made, "treatment"))
    (result,) = run.kept.results
    assert result.comparison is not None
    assert result.comparison.verdict is Verdict.UNDECIDED
    assert "the treatment was slowed by heat in" in result.comparison.reason
    assert not result.trusted
    assert run.reporting.exit_code() is ExitCode.UNDECIDED
