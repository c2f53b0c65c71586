"""One device's share of a plan, measured one after the other."""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path
from typing import Final

from harness.analysis.results import build_result
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem, ExitCode
from harness.core.measurement import Job
from harness.core.protocols import Progress, Session
from harness.core.result import Outcome, RawLog, Report
from harness.flows.measure.jobs import marked, meta_of, not_run
from harness.flows.measure.plan import Failure, Plan
from harness.flows.measure.queues import Share
from harness.flows.measure.reporting import Reporting
from harness.run.measure import measure
from harness.shell import Interrupted, pause

_NOBODY_LEFT: Final = Failure(Outcome.DEVICE_LOST, "the devices that could measure it were lost", environment=True)


class Worker:
    """Measures on one device.

    Args:
        device: Where.
        share: What.
        plan: How to reach the device, and the frameworks.
        settings: How.
        reporting: Told each result as soon as it exists.
        progress: Told what happens.
    """

    def __init__(
        self,
        device: Device,
        share: Share,
        plan: Plan,
        *,
        settings: Settings,
        reporting: Reporting,
        progress: Progress,
    ) -> None:
        self._device = device
        self._share = share
        self._plan = plan
        self._settings = settings
        self._reporting = reporting
        self._progress = progress

    def run(self) -> ExitCode:
        """Hold the device for all jobs of its share.

        When it is lost, those that nobody else does end as lost; when it cannot be held at all, as failed.

        Returns:
            Whether something stays undone because the device could not be used, or it could not be left as it was.
        """
        measured = False
        if not self._share.left:
            return self._give_up(_NOBODY_LEFT)  # what another measures now does not come here when that is lost
        try:
            with self._plan.platform.open(self._device, self._progress) as session:
                while (job := self._share.take()) is not None:
                    report = self._measured(job, session)
                    if report.result.outcome is Outcome.DEVICE_LOST:
                        raise _Lost(job, report)
                    self._reporting.report(report)
                    self._share.done()
                    if self._share.left:
                        pause(job.benchmark.cooldown_s)
                measured = True
        except EnvironmentProblem as error:
            self._progress.say(f"✗ {self._device.name}: {error.message}")
            lost = Outcome.DEVICE_LOST if isinstance(error, DeviceLost) else Outcome.FAILED
            failure = Failure(lost, error.message, error.hint, environment=True)
            undone = self._give_up(failure, error if isinstance(error, _Lost) else None)
            return ExitCode.ENVIRONMENT if measured else undone
        finally:
            self._share.abandon()  # whatever ended it: other devices wait for the job that it took
        return ExitCode.OK

    def _give_up(self, failure: Failure, loss: _Lost | None = None) -> ExitCode:
        """Tell what nobody else will do."""
        undone = self._share.abandon()
        for job in undone:
            measured = loss.report if loss is not None and job is loss.job else None
            self._reporting.report(measured or not_run(job.benchmark, self._device, failure, self._settings))
        return ExitCode.ENVIRONMENT if undone else ExitCode.OK

    def _measured(self, job: Job, session: Session) -> Report:
        """One benchmark, isolated: whatever goes wrong in it, the others go on."""
        try:
            with tempfile.TemporaryDirectory(prefix="edge-harness-") as scratch:
                measurement = measure(
                    job,
                    session,
                    self._plan.frameworks[job.benchmark.framework],
                    scratch=Path(scratch),
                    clock=time.time,
                    progress=self._progress,
                )
            result = build_result(
                job, session.device, measurement, run_type=self._settings.run_type, meta=meta_of(self._settings)
            )
            if self._settings.debug or job.benchmark.log_output:
                for log in measurement.logs:
                    self._progress.say(f"--- {job.benchmark.title} {log.name}\n{log.text.rstrip()}")
            return Report(result=marked(result, self._settings), logs=measurement.logs)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            failure = Failure(
                Outcome.FAILED,
                f"the harness itself failed: {type(error).__name__}: {error}",
                "a defect of the harness: please report it with the log beside this result",
            )
            log = RawLog(name="traceback", text=traceback.format_exc())
            return not_run(job.benchmark, self._device, failure, self._settings, build=job.build).model_copy(
                update={"logs": (log,)}
            )


class _Lost(DeviceLost):
    """The device went away for good while a job was measured.

    Args:
        job: That job.
        report: What is known of it.
    """

    def __init__(self, job: Job, report: Report) -> None:
        super().__init__(report.result.reason or "the device was lost", hint=report.result.hint)
        self.job = job
        self.report = report
