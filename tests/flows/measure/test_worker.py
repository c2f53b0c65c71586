"""What one device's worker tells, and leaves to the others, when the device cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem, ExitCode
from harness.core.protocols import Progress, Staged
from harness.core.result import Outcome
from harness.flows.measure.plan import Plan
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.run import measure_all
from harness.testing.progress import RecordedProgress
from tests.flows.instant import Instant, InstantSession, builds, plan
from tests.flows.runs import Kept


class Refusing(Instant):
    """Devices of which one cannot be opened."""

    def __init__(self, error: Exception, refused: str = "A", names: str = "AB") -> None:
        super().__init__(names)
        self._error = error
        self._refused = refused

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        if device.name == self._refused:
            raise self._error
        with super().open(device, progress) as session:
            yield session


def measured(made: Plan, kept: Kept) -> tuple[ExitCode, ExitCode]:
    """What the devices say, and what the run then amounts to."""
    display = RecordedProgress()
    reporting = Reporting((kept,), display)
    devices = measure_all(
        made, files={}, builds=builds(made, "x"), settings=Settings(), reporting=reporting, progress=display
    )
    return devices, reporting.exit_code(devices)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(EnvironmentProblem("it is not rooted", hint="leave it out"), Outcome.FAILED, id="unusable"),
        pytest.param(DeviceLost("it is gone", hint="plug it in"), Outcome.DEVICE_LOST, id="lost"),
    ],
)
def test_a_device_that_cannot_be_used_is_not_called_lost(error: EnvironmentProblem, outcome: Outcome) -> None:
    kept = Kept()
    codes = measured(plan(Refusing(error), ["one", "two"]), kept)
    assert codes == (ExitCode.ENVIRONMENT, ExitCode.ENVIRONMENT)
    told = {(one.device.name, one.outcome, one.reason) for one in kept.results if one.device}
    assert told == {("A", outcome, error.message), ("B", Outcome.OK, None)}
    assert {one.hint for one in kept.results} == {error.hint, None}


class Unrestorable(Instant):
    """A device that cannot be left as it was found."""

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        with super().open(device, progress) as session:
            yield session
        raise EnvironmentProblem("its screen stays on")


def test_a_device_that_could_not_be_left_as_it_was_is_no_success() -> None:
    kept = Kept()
    codes = measured(plan(Unrestorable("A"), ["one", "two"]), kept)
    assert codes == (ExitCode.ENVIRONMENT, ExitCode.ENVIRONMENT)
    assert [one.outcome for one in kept.results] == [Outcome.OK, Outcome.OK]


def shared(platform: Instant, names: list[str]) -> Plan:
    made = plan(platform, names)
    return Plan(made.platform, made.assignments, made.frameworks, spread=True)


def test_what_another_device_does_instead_is_no_failure() -> None:
    kept = Kept()
    codes = measured(shared(Refusing(EnvironmentProblem("it is not rooted")), ["one", "two", "three"]), kept)
    assert codes == (ExitCode.OK, ExitCode.OK)
    assert sorted(one.benchmark.identifier for one in kept.results) == ["one", "three", "two"]
    assert all(one.ok for one in kept.results)


class Breaking(Instant):
    """Two devices, one of which breaks with its first benchmark."""

    def __init__(self, error: BaseException) -> None:
        super().__init__("AB")
        self._error = error

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        with super().open(device, progress) as session:
            yield BrokenSession(device, self._error) if device.name == "A" else session


class BrokenSession(InstantSession):
    def __init__(self, device: Device, error: BaseException) -> None:
        super().__init__(device, lambda _: None)
        self._error = error

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        raise self._error


class Broken(BaseException):
    """Passes the isolation of one benchmark."""


def test_a_worker_that_breaks_does_not_let_the_others_wait() -> None:
    kept = Kept()
    names = ["one", "two", "three"]
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(measured, shared(Breaking(Broken()), names), kept)
        with contextlib.suppress(Broken):
            running.result(timeout=60)
    assert sorted(one.benchmark.identifier for one in kept.results) == sorted(names)


def test_a_job_that_is_lost_after_the_others_have_left_is_told_once() -> None:
    kept = Kept()
    devices, amounts_to = measured(shared(Breaking(DeviceLost("it is gone")), ["one"]), kept)
    (result,) = kept.results
    assert result.outcome in {Outcome.OK, Outcome.DEVICE_LOST}
    assert devices is amounts_to is (ExitCode.OK if result.ok else ExitCode.ENVIRONMENT)
