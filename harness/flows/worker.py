"""One device's share of a plan: what cannot run is reported at once, the rest is measured one after the other."""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path

from harness.analysis.conclude import conclude
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.measurement import Job
from harness.core.protocols import Progress, Session
from harness.core.result import Outcome, RawLog, Report
from harness.flows.jobs import job_of, meta_of, not_run
from harness.flows.plan import Builds, Failure, Files, Plan
from harness.flows.reporting import Reporting
from harness.run.measure import measure
from harness.settings import Settings
from harness.shell import Interrupted, pause


class Worker:
    """Measures on one device.

    Args:
        device: Where.
        plan: What, for all devices.
        files: Every file, or why it is not there.
        builds: Every runner, or why it is not there.
        settings: How.
        reporting: Told each result as soon as it exists.
        progress: Told what happens.
    """

    def __init__(
        self,
        device: Device,
        plan: Plan,
        *,
        files: Files,
        builds: Builds,
        settings: Settings,
        reporting: Reporting,
        progress: Progress,
    ) -> None:
        self._device = device
        self._plan = plan
        self._files = files
        self._builds = builds
        self._settings = settings
        self._reporting = reporting
        self._progress = progress

    def run(self) -> None:
        """Every benchmark of the plan on this device ends as a result."""
        jobs: list[Job] = []
        for one in self._plan.assignments:
            if one.device.identity != self._device.identity:
                continue
            job = job_of(one, self._builds, self._files)
            if isinstance(job, Job):
                jobs.append(job)
            else:
                self._reporting.report(not_run(one.benchmark, self._device, job, self._settings))
        if jobs:
            self._measure_all(jobs)

    def _measure_all(self, jobs: list[Job]) -> None:
        """Hold the device for all jobs; when it is lost, those that are left end as lost."""
        left = list(jobs)
        try:
            with self._plan.platform.open(self._device, self._progress) as session:
                while left:
                    report = self._measured(left[0], session)
                    done = left.pop(0)
                    self._reporting.report(report)
                    if report.result.outcome is Outcome.DEVICE_LOST:
                        raise DeviceLost(report.result.reason or "the device was lost", hint=report.result.hint)
                    if left:
                        pause(done.benchmark.cooldown_s)
        except EnvironmentProblem as error:
            self._progress.say(f"✗ {self._device.name}: {error}")
            for job in left:
                failure = Failure(Outcome.DEVICE_LOST, error.message, error.hint, environment=True)
                self._reporting.report(not_run(job.benchmark, self._device, failure, self._settings))

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
            result = conclude(
                job, session.device, measurement, run_type=self._settings.run_type, meta=meta_of(self._settings)
            )
            if self._settings.debug or job.benchmark.log_output:
                for log in measurement.logs:
                    self._progress.say(f"--- {job.benchmark.title} {log.name}\n{log.text.rstrip()}")
            return Report(result=result, logs=measurement.logs)
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
