"""Functions that run in the process of a device, or in the scheduler. They take and return JSON."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import pickle
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device import Device
from harness.core.device_doubt import LAST_GOOD_CHECK
from harness.core.errors import DeviceLost, EnvironmentProblem, HarnessError
from harness.core.protocols import BoardRow, Platform, Task, is_local
from harness.core.result import Outcome, Report
from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.flows.measure import run as flow
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.metering import NO_METERS
from harness.flows.measure.named_parts import load_frameworks
from harness.flows.measure.plan import Failure, Plan, assign
from harness.lab.health import DeviceHealth, health_file, peek_health
from harness.lab.jobs import FILES, ChosenSettings, Job, JobReport, Place, RunningJob, own_versions
from harness.lab.pairs import measure_pairs, open_runner
from harness.lab.pool import PersonalAction, explain_absence, list_actions, request_action
from harness.lab.quiet_hours import QuietHours
from harness.lab.sharing import use_host

if TYPE_CHECKING:
    from distributed import Scheduler, Worker

VARIABLE: Final = "EDGE_HARNESS_LAB_DEVICE"
"""Environment variable of a process: the device that it serves (`ServedDevice`)."""
BUILDS_VARIABLE: Final = "EDGE_HARNESS_LAB_BUILDS"
"""The same of a process that builds for others (`ServedBuilds`)."""
TOPIC: Final = "harness"
_RETURN_S: Final = 10.0
"""How long a job waits for a device that went away: another one of its class can do it."""
_FETCH_S: Final = 60.0
"""How long an answer is kept for a client that does not fetch it, before the process of a device ends."""
_LOOK_S: Final = 0.2
_one_at_a_time: Final = threading.Lock()
_checking: Final = threading.Event()
"""Set while the health of the device is checked."""


_current: Final[list[tuple[float, Job]]] = []
"""The job that is measured now, with the monotonic time at which it began; none while the process waits."""


def _to_text(pickled: bytes) -> str:
    return base64.b64encode(pickled).decode()


def _to_bytes(text: object) -> object:
    return base64.b64decode(text) if isinstance(text, str) else text


class ServedDevice(Value):
    """What the process of a device is told when it starts.

    Attributes:
        device: The device.
        device_class: Its class.
        cache_dir: Cache of its host.
        settings: Settings of its host, pickled: options of plug-ins, such as where the server of adb is.
        is_checked: Whether its health is checked.
        quiet_hours: Quiet hours of its host.
    """

    device: Device
    device_class: str
    cache_dir: Path
    settings: Annotated[bytes, PlainSerializer(_to_text), BeforeValidator(_to_bytes)]
    is_checked: bool = False
    quiet_hours: tuple[QuietHours, ...] = ()


class ServedBuilds(Value):
    """What the process of a host that builds for others is told when it starts.

    Attributes:
        cache_dir: Cache of its host.
        settings: Settings of its host, pickled: options of plug-ins.
        toolchain: Digest of its toolchain.
    """

    cache_dir: Path
    settings: Annotated[bytes, PlainSerializer(_to_text), BeforeValidator(_to_bytes)]
    toolchain: str

    @property
    def host_settings(self) -> Settings:
        """Settings of its host."""
        settings: Settings = pickle.loads(self.settings)  # noqa: S301 - written by the process that started this one
        return settings


def builds_of_this_process() -> ServedBuilds:
    """Return what this process was told that builds for others.

    Raises:
        EnvironmentProblem: It does not.
    """
    text = os.environ.get(BUILDS_VARIABLE)
    if text is None:
        raise EnvironmentProblem("this process builds nothing", hint="start it by `harness lab join ADDRESS --builds`")
    return ServedBuilds.model_validate_json(text)


def _cache_dir() -> Path:
    """Return the cache of this host."""
    return builds_of_this_process().cache_dir if BUILDS_VARIABLE in os.environ else _served().cache_dir


def describe_place(dask_worker: Worker | None = None) -> str:
    """Return the `Place` of this process."""
    served = _served()
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
    ).model_dump_json()


def _mark_health(served: ServedDevice) -> dict[str, float]:
    """Return what results say of the last good check, by which those are found that a later bad one puts in doubt."""
    checked = _peek(served).last_good if served.is_checked else None
    return {} if checked is None else {LAST_GOOD_CHECK: checked}


def _peek(served: ServedDevice) -> DeviceHealth:
    return peek_health(health_file(served.cache_dir, served.device))


def missing_files(digests: tuple[str, ...]) -> tuple[str, ...]:
    """Return which files this host does not have."""
    folder = _cache_dir() / FILES
    return tuple(digest for digest in digests if not (folder / digest / "content").is_file())


def store_file(sha256: str, content: bytes) -> str:
    """Keep a file, whose content has to have the digest, which is returned.

    Raises:
        EnvironmentProblem: It has another, or cannot be written.
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise EnvironmentProblem(f"a file arrived as {found[:12]} instead of {sha256[:12]}", hint="send it again")
    try:
        write_atomically(_cache_dir() / FILES / sha256 / "content", content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise EnvironmentProblem(f"{socket.gethostname()} cannot keep a file: {reason}", hint="make room") from error
    return sha256


def run_job(text: str) -> str:
    """Measure a job on the device of this process, and return the `JobReport`."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    return _run_job(text, get_worker())


def _run_job(text: str, worker: Worker | None) -> str:
    address = str(worker.address) if worker is not None else ""
    job, served = Job.model_validate_json(text), _served()
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
                reports = _do(job, platform, device, settings, _LabProgress(job, device, worker))
    report, *further = (_finish_report(each, served) for each in reports)
    report = report.model_copy(update={"result": report.result.model_copy(update={"uid": job.uid})})
    return JobReport(report=report, further=tuple(further), address=address).model_dump_json()


def _finish_report(report: Report, served: ServedDevice) -> Report:
    """Return a report without its place on this host, and with the last good check."""
    meta = {**report.result.meta, **_mark_health(served)}
    return report.model_copy(update={"place": None, "result": report.result.model_copy(update={"meta": meta})})


@contextlib.contextmanager
def _shown_in_status(job: Job) -> Iterator[None]:
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
    served = _served()
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
        return await asyncio.to_thread(_run_job, text, dask_worker)
    finally:
        _checking.clear()


def list_tasks(dask_scheduler: Scheduler | None = None) -> list[tuple[str, str, str]]:
    """Return key, state and address of the process of each job that the scheduler knows. Runs in the scheduler."""
    tasks: Any = dask_scheduler.tasks if dask_scheduler is not None else {}
    return [
        (str(task.key), str(task.state), task.processing_on.address if task.processing_on is not None else "")
        for task in tasks.values()
    ]


def find_processes(resource: str, dask_scheduler: Scheduler | None = None) -> list[str]:
    """Return the addresses of the processes that have a resource. Runs in the scheduler."""
    workers: Any = dask_scheduler.workers if dask_scheduler is not None else {}
    return [str(address) for address, worker in workers.items() if resource in worker.resources]


def count_devices(dask_scheduler: Scheduler | None = None) -> dict[str, int]:
    """Return how many processes have each resource. Runs in the scheduler."""
    workers: Any = dask_scheduler.workers if dask_scheduler is not None else {}
    return dict(Counter(name for worker in workers.values() for name, amount in worker.resources.items() if amount))


class _Collector:
    """Reporter that keeps the only report."""

    name = "lab"

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def report(self, report: Report) -> None:
        self.reports.append(report)

    def close(self) -> None:
        pass


class _LabProgress:
    """Progress that is sent to the client of a job. Any thread may use it."""

    def __init__(self, job: Job, device: Device, worker: Worker | None) -> None:
        self._worker = worker
        self._job = job
        self._device = device

    def say(self, text: str) -> None:
        self._send("say", text)

    def warn(self, text: str) -> None:
        self._send("warn", text)

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:  # noqa: ARG002 - a protocol
        self._send("say", text)
        yield _SilentTask()

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[_SilentBoard]:  # noqa: ARG002 - a protocol
        """Show no table: the client shows what all batches together have shown."""
        yield _SilentBoard()

    def _send(self, kind: str, text: str) -> None:
        message = {"job": self._job.id, "device": self._device.name, "kind": kind, "text": text}
        if self._worker is not None:
            self._worker.log_event(TOPIC, message)


class _SilentBoard:
    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show nothing (`Board`)."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Show nothing (`Board`)."""


class _SilentTask:
    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Show nothing: a lab has the beginning of a task, and its end."""


def _do(job: Job, platform: Platform, device: Device, settings: Settings, progress: _LabProgress) -> Sequence[Report]:
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


def _with_files(job: Job, cache_dir: Path) -> Benchmark:
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


def _settings(job: Job, served: ServedDevice, scratch: Path) -> Settings:
    """Return the settings of this host, with what the client may choose."""
    chosen: dict[str, Any] = {name: getattr(job.settings, name) for name in ChosenSettings.model_fields}
    host: Settings = pickle.loads(served.settings)  # noqa: S301 - written by the process that started this one
    return replace(
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


def _served() -> ServedDevice:
    """Return the device of this process.

    Raises:
        EnvironmentProblem: It serves none.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        raise EnvironmentProblem("this process serves no device", hint="start it by `harness lab join ADDRESS`")
    return ServedDevice.model_validate_json(text)
