"""Worker of one device: measures the jobs of its queue one after the other."""

from __future__ import annotations

import shlex
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.analysis.results import build_result
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem, ExitCode
from harness.core.examples import Stage
from harness.core.measurement import Job, Measurement
from harness.core.protocols import OperatorIdentification, Progress, Session, is_local
from harness.core.result import Outcome, RawLog, Report, Result
from harness.files.drafts import open_scratch_folder
from harness.flows.measure.compared import is_evaluated
from harness.flows.measure.jobs import mark_regressed, report_failure, report_meta
from harness.flows.measure.kinds import compute_figures
from harness.flows.measure.plan import Failure, Plan
from harness.flows.measure.queues import WorkQueue
from harness.flows.measure.reporting import Reporting
from harness.running.measure import STOPPED_HINT, MeasuringStopped, measure
from harness.shell import Interrupted, pause

_NOBODY_LEFT: Final = Failure(
    Outcome.DEVICE_LOST, "the devices that could measure it were lost", is_environment_problem=True
)


class Worker:
    """Worker of one device.

    Args:
        device: The device.
        queue: Its jobs.
        plan: The platform, to open the device with, and the frameworks.
        settings: How to measure.
        reporting: Is given each result as soon as it exists.
        progress: Shows what happens.
    """

    def __init__(
        self,
        device: Device,
        queue: WorkQueue,
        plan: Plan,
        *,
        settings: Settings,
        reporting: Reporting,
        progress: Progress,
    ) -> None:
        self._device = device
        self._queue = queue
        self._plan = plan
        self._settings = settings
        self._reporting = reporting
        self._progress = progress

    def run(self) -> ExitCode:
        """Open the device, and do all jobs of its queue.

        When the device is lost, jobs that no other device does end as lost; when it cannot be opened at all, as failed.

        Returns:
            `ENVIRONMENT` if a job was not done because the device could not be used, or if the device could not be
            restored.
        """
        measured = False
        if not self._queue.has_work:
            return self._give_up(_NOBODY_LEFT)  # another device's current job would not come here, either
        try:
            with self._plan.platform.open(self._device, self._progress) as session:
                while (job := self._queue.get()) is not None:
                    try:
                        report = self._measure(job, session)
                    except MeasuringStopped as stop:
                        self._keep_launches(stop.measurement, job, session)
                        raise
                    if report.result.outcome is Outcome.DEVICE_LOST:
                        raise _Lost(job, report)
                    self._reporting.report(report)
                    self._queue.acknowledge()
                    if self._queue.has_work:
                        pause(job.benchmark.cooldown_s)
                measured = True
        except EnvironmentProblem as error:
            self._progress.warn(f"✗ {self._device.name}: {error.message}")
            outcome = Outcome.DEVICE_LOST if isinstance(error, DeviceLost) else Outcome.FAILED
            failure = Failure(outcome, error.message, error.hint, is_environment_problem=True)
            undone = self._give_up(failure, error if isinstance(error, _Lost) else None)
            return ExitCode.ENVIRONMENT if measured else undone
        finally:
            self._queue.drain()  # whatever ended it: other devices wait for its current job
        return ExitCode.OK

    def _give_up(self, failure: Failure, loss: _Lost | None = None) -> ExitCode:
        """Report the jobs that no other device will do."""
        undone = self._queue.drain()
        for job in undone:
            report = loss.report if loss is not None and job is loss.job else None
            self._reporting.report(report or report_failure(job.benchmark, self._device, failure, self._settings))
        return ExitCode.ENVIRONMENT if undone else ExitCode.OK

    def _measure(self, job: Job, session: Session) -> Report:
        """Measure one benchmark in isolation: whatever goes wrong in it, the others go on."""
        try:
            with open_scratch_folder() as scratch:
                framework = self._plan.frameworks[job.benchmark.framework]
                measurement = measure(
                    job, session, framework, scratch=scratch, clock=time.time, progress=self._progress
                )
                measurement = self._add_figures(measurement, job, session, scratch)
            result = self._identify_operators(self._build_result(measurement, job, session), job)
            if self._settings.verbose:
                for line in _describe_commands(result):
                    self._progress.say(f"{job.benchmark.title}: {line}")
            if self._settings.debug or job.benchmark.log_output:
                for log in measurement.logs:
                    self._progress.say(f"--- {job.benchmark.title} {log.name}\n{log.text.rstrip()}")
            return Report(
                result=mark_regressed(result, self._settings), logs=measurement.logs, artifacts=measurement.artifacts
            )
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            failure = Failure(
                Outcome.FAILED,
                f"the harness itself failed: {type(error).__name__}: {error}",
                "a bug in the harness: please report it with the log beside this result",
            )
            log = RawLog(name="traceback", text=traceback.format_exc())
            return report_failure(job.benchmark, self._device, failure, self._settings, build=job.build).model_copy(
                update={"logs": (log,)}
            )

    def _keep_launches(self, measurement: Measurement, job: Job, session: Session) -> None:
        """Report what there is of a job that was interrupted, unless nothing was launched to its end."""
        if measurement.launches:
            result = self._build_result(measurement, job, session)
            self._reporting.report(Report(result=result, logs=measurement.logs, artifacts=measurement.artifacts))

    def _build_result(self, measurement: Measurement, job: Job, session: Session) -> Result:
        return build_result(
            job, session.device, measurement, run_type=self._settings.run_type, meta=report_meta(self._settings)
        )

    def _add_figures(self, measurement: Measurement, job: Job, session: Session, scratch: Path) -> Measurement:
        """Add the figures that do not come from launches.

        Raises:
            MeasuringStopped: The harness is being stopped.
        """
        try:
            added = compute_figures(job, measurement, scratch)
            if job.references is not None and is_evaluated(job.benchmark):
                added = self._evaluate(added, job, session, scratch)
            if job.benchmark.same_work is not None:
                added = self._prove_same_work(added, job, session, scratch)
        except Interrupted as interruption:
            reason = "stopped before its outputs were looked at"
            stopped = replace(measurement, outcome=Outcome.INTERRUPTED, reason=reason, hint=STOPPED_HINT)
            raise MeasuringStopped(stopped) from interruption
        return added

    def _identify_operators(self, result: Result, job: Job) -> Result:
        """Add what each operator is in the model, where the framework knows."""
        framework = self._plan.frameworks[job.benchmark.framework]
        if not (result.ok and job.benchmark.has_operators and isinstance(framework, OperatorIdentification)):
            return result
        return result.model_copy(update={"operators": tuple(framework.identify_operators(result.metrics, job.files))})

    def _prove_same_work(self, measurement: Measurement, job: Job, session: Session, scratch: Path) -> Measurement:
        """Add whether it computes the same as its reference, from outputs that are taken after its latency."""
        from harness.flows.measure.same_work import add_same_work  # noqa: PLC0415 - NumPy, which only this needs

        framework = self._plan.frameworks[job.benchmark.framework]
        return add_same_work(measurement, job, session, framework, scratch=scratch, progress=self._progress)

    def _evaluate(self, measurement: Measurement, job: Job, session: Session, scratch: Path) -> Measurement:
        """Add the evaluation of the outputs, which are taken when the latency has been measured."""
        from harness.flows.measure.evaluation import add_evaluation  # noqa: PLC0415 - NumPy, which only this needs

        return add_evaluation(
            measurement,
            job,
            session,
            self._plan.frameworks[job.benchmark.framework],
            stage=Stage.HOST if is_local(self._plan.platform) else Stage.DEVICE,
            scratch=scratch,
            progress=self._progress,
        )


class _Lost(DeviceLost):
    """Loss of the device while it measured a job.

    Args:
        job: The job.
        report: Report of what was measured of it.
    """

    def __init__(self, job: Job, report: Report) -> None:
        super().__init__(report.result.reason or "the device was lost", hint=report.result.hint)
        self.job = job
        self.report = report


def _describe_commands(result: Result) -> Iterable[str]:
    """Return each command that was started on the device, once."""
    return dict.fromkeys(shlex.join(command) for launch in result.launches for command in launch.commands)
