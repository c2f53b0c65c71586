"""Workers of devices that cannot be used: their results, and jobs left to other devices."""

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
from harness.flows.measure.jobs import make_jobs
from harness.flows.measure.plan import Plan
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.run import measure_all
from harness.testing.progress import RecordedProgress
from tests.flows.instant import Instant, InstantSession, builds, plan
from tests.flows.runs import RecordingReporter


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


def measure_plan(made: Plan, recorder: RecordingReporter) -> tuple[ExitCode, ExitCode]:
    """Return the exit code of the devices and that of the run."""
    display = RecordedProgress()
    reporting = Reporting((recorder,), display)
    jobs = make_jobs(made, builds(made, "x"), {})
    devices = measure_all(made, jobs, settings=Settings(), reporting=reporting, progress=display)
    return devices, reporting.exit_code(devices)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(EnvironmentProblem("it is not rooted", hint="leave it out"), Outcome.FAILED, id="unusable"),
        pytest.param(DeviceLost("it is gone", hint="plug it in"), Outcome.DEVICE_LOST, id="lost"),
    ],
)
def test_an_unusable_device_is_not_reported_as_lost(error: EnvironmentProblem, outcome: Outcome) -> None:
    recorder = RecordingReporter()
    codes = measure_plan(plan(Refusing(error), ["one", "two"]), recorder)
    assert codes == (ExitCode.ENVIRONMENT, ExitCode.ENVIRONMENT)
    outcomes = {(result.device.name, result.outcome, result.reason) for result in recorder.results if result.device}
    assert outcomes == {("A", outcome, error.message), ("B", Outcome.OK, None)}
    assert {result.hint for result in recorder.results} == {error.hint, None}


class Unrestorable(Instant):
    """Platform whose device cannot be restored."""

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        with super().open(device, progress) as session:
            yield session
        raise EnvironmentProblem("its screen stays on")


def test_a_device_that_cannot_be_restored_fails_the_run() -> None:
    recorder = RecordingReporter()
    codes = measure_plan(plan(Unrestorable("A"), ["one", "two"]), recorder)
    assert codes == (ExitCode.ENVIRONMENT, ExitCode.ENVIRONMENT)
    assert [result.outcome for result in recorder.results] == [Outcome.OK, Outcome.OK]


def shared_plan(platform: Instant, names: list[str]) -> Plan:
    made = plan(platform, names)
    return Plan(made.platform, made.assignments, made.frameworks, spread=True)


def test_a_job_taken_over_by_another_device_is_no_failure() -> None:
    recorder = RecordingReporter()
    codes = measure_plan(
        shared_plan(Refusing(EnvironmentProblem("it is not rooted")), ["one", "two", "three"]), recorder
    )
    assert codes == (ExitCode.OK, ExitCode.OK)
    assert sorted(result.benchmark.identifier for result in recorder.results) == ["one", "three", "two"]
    assert all(result.ok for result in recorder.results)


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
    """Exception that the isolation of benchmarks does not catch."""


def test_a_crashed_worker_does_not_block_the_others() -> None:
    recorder = RecordingReporter()
    names = ["one", "two", "three"]
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(measure_plan, shared_plan(Breaking(Broken()), names), recorder)
        with contextlib.suppress(Broken):
            running.result(timeout=60)
    assert sorted(result.benchmark.identifier for result in recorder.results) == sorted(names)


def test_a_job_lost_after_the_others_finished_is_reported_once() -> None:
    recorder = RecordingReporter()
    devices, exit_code = measure_plan(shared_plan(Breaking(DeviceLost("it is gone")), ["one"]), recorder)
    (result,) = recorder.results
    assert result.outcome in {Outcome.OK, Outcome.DEVICE_LOST}
    assert devices is exit_code is (ExitCode.OK if result.ok else ExitCode.ENVIRONMENT)
