"""Functions that run in the process of a device. They take and return JSON."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device import Device
from harness.core.device_doubt import LAST_GOOD_CHECK
from harness.core.errors import DeviceLost, EnvironmentProblem, HarnessError
from harness.core.protocols import Platform, is_local
from harness.core.result import Outcome, Report
from harness.flows.measure import run as flow
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.metering import NO_METERS
from harness.flows.measure.named_parts import load_frameworks
from harness.flows.measure.plan import Failure, Plan, assign
from harness.lab.health import DeviceHealth, health_file, peek_health
from harness.lab.host_files import missing_files
from harness.lab.jobs import FILES, ChosenSettings, JobReport, LabJob, Place, RunningJob, own_versions
from harness.lab.pairs import measure_pairs, open_runner
from harness.lab.pool import PersonalAction, explain_absence, list_actions, request_action
from harness.lab.processes import ServedDevice, served_device
from harness.lab.progress import LabProgress
from harness.lab.sharing import use_host

if TYPE_CHECKING:
    from distributed import Worker

_RETURN_S: Final = 10.0
"""How long a job waits for a device that went away: another one of its class can do it."""
_FETCH_S: Final = 60.0
"""How long an answer is kept for a client that does not fetch it, before the process of a device ends."""
_LOOK_S: Final = 0.2
_one_at_a_time: Final = threading.Lock()
_checking: Final = threading.Event()
"""Set while the health of the device is checked."""


_begun: Final[set[str]] = set()
_current: Final[list[tuple[float, LabJob]]] = []
"""The job that is measured now, with the monotonic time at which it began; none while the process waits."""


def describe_place(dask_worker: Worker | None = None) -> str:
    """Return the `Place` of this process."""
    served = served_device()
    current = (
        RunningJob(title=job.benchmark.title, measuring_s=time.monotonic() - began, expected_s=job.expected_s)
        for began, job in tuple(_current)
    )
    address = dask_worker.address if dask_worker is not None else ""
    health = _peek(served)
    last = health.checks[-1] if health.checks else None
    absence = explain_absence(
        served.cache_dir, served.device, served.quiet_hours, time.time(), is_checked=served.is_checked
    )
    return Place(
        device=served.device,
        device_class=served.device_class,
        host=socket.gethostname(),
        address=address,
        versions=own_versions(),
        health="checking" if _checking.is_set() else absence.words if absence is not None else "",
        returns_at=absence.returns_at if absence is not None else None,
        is_action_pending=any(list_actions(served.cache_dir, served.device)),
        checked_at=last.time if last is not None else None,
        check_reason=last.reason if last is not None else "",
        doubts=tuple(health.doubts(served.device, served.device_class)),
        job=next(iter(current), None),
        clock=time.time(),
    ).model_dump_json()


def _mark_health(served: ServedDevice) -> dict[str, float]:
    """Return what results say of the last good check, by which those are found that a later bad one puts in doubt."""
    checked = _peek(served).last_good if served.is_checked else None
    return {} if checked is None else {LAST_GOOD_CHECK: checked}


def _peek(served: ServedDevice) -> DeviceHealth:
    return peek_health(health_file(served.cache_dir, served.device))


def run_job(text: str) -> str:
    """Measure a job on the device of this process, and return the `JobReport`."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    job = LabJob.model_validate_json(text)
    _begun.add(job.id)
    try:
        return _run_job(job, get_worker())
    finally:
        _begun.discard(job.id)


def begun_jobs() -> list[str]:
    """Return the ids of the jobs that this process has begun and not ended, and those that wait for its device."""
    return list(_begun)


def _run_job(job: LabJob, worker: Worker | None) -> str:
    address = str(worker.address) if worker is not None else ""
    served = served_device()
    with _one_at_a_time:
        missing = missing_files(tuple(file.sha256 for file in job.files.values()))
        if missing:
            return JobReport(missing=missing).model_dump_json()
        with TemporaryDirectory(prefix="harness-lab-") as scratch, contextlib.ExitStack() as host:
            settings = _settings(job, served, Path(scratch))
            try:
                platform = plugins.platform(served.device.platform, settings)
                device = _find(platform, served.device)
                host.enter_context(use_host(served.cache_dir, alone=is_local(platform)))
            except HarnessError as error:
                return JobReport(absent=error.message, address=address).model_dump_json()
            with _shown_in_status(job):
                reports = _do(job, platform, device, settings, LabProgress(job, device, worker))
    report, *further = (_finish_report(each, served) for each in reports)
    report = report.model_copy(update={"result": report.result.model_copy(update={"uid": job.uid})})
    return JobReport(report=report, further=tuple(further), address=address).model_dump_json()


def _finish_report(report: Report, served: ServedDevice) -> Report:
    """Return a report without its place on this host, and with the last good check."""
    meta = {**report.result.meta, **_mark_health(served)}
    return report.model_copy(update={"place": None, "result": report.result.model_copy(update={"meta": meta})})


@contextlib.contextmanager
def _shown_in_status(job: LabJob) -> Iterator[None]:
    _current.append((time.monotonic(), job))
    try:
        yield
    finally:
        _current.clear()


async def finish_job(dask_worker: Worker | None = None) -> None:
    """Wait until what is measured now has ended and its client has the answer, and let nothing else begin.

    Answers stay in this process until clients have fetched them: one that ends before would let the job be done again.
    """
    tasks = dask_worker.state.tasks if dask_worker is not None else {}
    unanswered = {key for key, task in tasks.items() if task.state in {"executing", "memory"}}
    await asyncio.to_thread(_one_at_a_time.acquire)
    deadline = time.monotonic() + _FETCH_S
    while not unanswered.isdisjoint(tasks) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_S)


def leave_to_host(text: str) -> str:
    """Leave what a person does with the device of this process (`PersonalAction`) to its host, and return it.

    Raises:
        EnvironmentProblem: The host cannot keep it.
    """
    served = served_device()
    action = PersonalAction.model_validate_json(text).model_copy(update={"time": time.time()})
    try:
        request_action(served.cache_dir, served.device, action)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"{socket.gethostname()} cannot keep it: {reason}", hint="make room") from error
    return action.model_dump_json()


async def check_health(text: str, dask_worker: Worker | None = None) -> str:
    """Do the job of a check, after that which is measured now, and return the `JobReport`."""
    _checking.set()
    try:
        return await asyncio.to_thread(_run_job, LabJob.model_validate_json(text), dask_worker)
    finally:
        _checking.clear()


class _Collector:
    """Reporter that keeps the only report."""

    name = "lab"

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def close(self) -> None:
        pass


def _do(job: LabJob, platform: Platform, device: Device, settings: Settings, progress: LabProgress) -> Sequence[Report]:
    """Do a job by the flow of `harness run` or `harness compare`; whatever goes wrong is a failed result."""
    benchmark, collector = _with_files(job, settings.cache_dir), _Collector()
    difference = own_versions().explain_difference(job.versions)
    if difference:
        failure = Failure(Outcome.FAILED, f"the client has {difference}", "install the same everywhere")
        return [report_failure(benchmark, device, failure, settings)]
    try:
        plan = Plan(
            platform, assign([benchmark], [device], platform, NO_METERS), load_frameworks([benchmark], settings)
        )
        if job.pairs is None:
            with open_runner(job, settings, progress) as runner:
                flow.run(plan, settings, progress, runner, reporters=[collector], reproduce=lambda _: None)
        else:
            measure_pairs(job, job.pairs, plan, settings, display=progress, listener=collector)
    except HarnessError as error:
        outcome = Outcome.DEVICE_LOST if isinstance(error, DeviceLost) else Outcome.FAILED
        return [report_failure(benchmark, device, Failure(outcome, error.message, error.hint), settings)]
    if not collector.reports:
        return [report_failure(benchmark, device, Failure(Outcome.FAILED, "nothing was reported"), settings)]
    return collector.reports


def _with_files(job: LabJob, cache_dir: Path) -> Benchmark:
    """Return the benchmark with the files that the client sent, where they are here."""
    folder = cache_dir / FILES

    def moved(location: str | None) -> str | None:
        file = job.files.get(location or "")
        return location if file is None else str(file.below(folder))

    update = {
        name: tuple(file.model_copy(update={"location": moved(file.location)}) for file in getattr(job.benchmark, name))
        for name in ("files", "input_files")
    }
    return job.benchmark.model_copy(update=update)


def _find(platform: Platform, device: Device) -> Device:
    """Return the device as it is now.

    Raises:
        DeviceLost: It is not there.
    """
    found = next((each for each in platform.devices() if each.identity == device.identity), None)
    if found is None:
        raise DeviceLost(f"{device.name} is not connected to {socket.gethostname()}", hint="connect it again")
    return found


def _settings(job: LabJob, served: ServedDevice, scratch: Path) -> Settings:
    """Return the settings of this host, with what the client may choose."""
    chosen: dict[str, Any] = {name: getattr(job.settings, name) for name in ChosenSettings.model_fields}
    host = served.host_settings
    return dataclasses.replace(
        Settings(),
        plug_ins=host.plug_ins,
        cpus=host.cpus,
        lock_timeout=host.lock_timeout,
        return_timeout=_RETURN_S,
        cool_timeout=host.cool_timeout,
        monsoon_map=host.monsoon_map,
        cache_dir=served.cache_dir,
        model_cache=host.model_cache,
        local_reporter=scratch,
        platform=served.device.platform,
        screen_reporter=False,
        **chosen,
    )
