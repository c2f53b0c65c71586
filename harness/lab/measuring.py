"""`--lab`: benchmarks as jobs of a lab, in place of devices of this machine. Reports are those of `harness run`."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import DeviceLost, EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Display, Reporter
from harness.core.result import Outcome, Result
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.plan import Failure
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.workload import load_benchmarks, select
from harness.lab.configuration import load_security
from harness.lab.engine import Engine, LabLost, LabTask, connect
from harness.lab.jobs import (
    ChosenSettings,
    Job,
    JobReport,
    LabFile,
    Place,
    class_resource,
    describe_file,
    device_resource,
    own_versions,
    slug,
)
from harness.shell import pause

_POLL_S: Final = 5.0
_AGAIN_S: Final = 2.0
"""Between attempts to reach a lab that went away."""
_MOST_SENT: Final = 5
"""How often one job is submitted: again where a host that joined since lacks its files, or a device went away. And how
often a lab may go away with nothing done in between."""
_HEEDED: Final = frozenset(
    {
        *("benchmark_file", "only", "skip", "benchmark_digest", "framework", "string_map", "root_model_dir", "env"),
        *("timeout", "cooldown", "command_args", "precision", "operators", "probe", "return_timeout"),
        *("lab", "device_class", "lab_certificates", "devices", "cache_dir", "quiet"),
        *("local_reporter", "simple_local_reporter", "screen_reporter", "simple_screen_reporter", "remote_reporter"),
        *("database", "reporters"),
        *ChosenSettings.model_fields,
    }
)
"""Options that mean something here: of specifications, of the lab, and of reports. All others are those of the machine
that measures, or of programs that exist on this one."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Devices that may do a job.

    Attributes:
        label: Their class, or the name of the only one.
        resource: What their processes have.
        places: The devices, when the command began.
        is_single: Whether it is a single device, and no class.
    """

    label: str
    resource: str
    places: tuple[Place, ...]
    is_single: bool = False

    def accepts(self, place: Place) -> bool:
        """Return whether a device is one of them, perhaps one that joined since."""
        return self.resource in {class_resource(place.device_class), device_resource(place.device.identity)}


def run(settings: Settings, display: Display, *, listeners: Sequence[Reporter] = ()) -> ExitCode:
    """Measure every benchmark once on each class of devices, and report as each is done.

    Args:
        settings: What to measure in which lab, on devices of which classes or names, and which reporters get the
            results. Without any, the lab has to have a single class.
        display: Shows what happens.
        listeners: Receive each result, beside the reporters of the settings.

    Raises:
        UsageError: A flag has no effect in a lab, or there is no such class or device.
        EnvironmentProblem: The lab does not answer.
    """
    _refuse(settings)
    benchmarks = select(load_benchmarks(settings), settings.only, settings.skip, settings.benchmark_digest)
    reporting = Reporting(prepare_reporters(settings), display, listeners, lambda _: None)
    try:
        _Measuring(settings, display, reporting).run(benchmarks)
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept())
        raise
    finally:
        reporting.close()
    display.say(reporting.summary(settings.local_reporter))
    return reporting.exit_code()


class _Measuring:
    """Jobs of one command, from their files to their reports."""

    _engine: Engine

    def __init__(self, settings: Settings, display: Display, reporting: Reporting) -> None:
        self._settings = settings
        self._display = display
        self._reporting = reporting
        self._pending: list[LabTask] = []
        self._ids: set[str] = set()
        self._targets: Mapping[str, _Target] = {}
        self._files: dict[Path, LabFile] = {}
        self._alone_since: dict[str, float] = {}

    def run(self, benchmarks: Sequence[Benchmark]) -> None:
        """Submit the jobs and report them; those that a lab forgot, because it started again, are submitted again."""
        lost: LabLost | None = None
        lost_at, losses, left = 0.0, 0, 0
        while True:
            try:
                with connect(self._settings.lab or "", load_security(self._settings.lab_certificates)) as engine:
                    self._engine = engine
                    if lost is None:
                        self._submit(benchmarks)
                    else:
                        self._submit_again()
                    lost = None
                    self._report_all()
            except LabLost as error:
                losses = losses + 1 if len(self._pending) == left else 1
                if not self._pending or losses > _MOST_SENT:
                    raise
                left = len(self._pending)
                lost, lost_at, self._alone_since = error, time.monotonic(), {}
                self._display.warn(f"! {error.message}: waiting for it with {len(self._pending)} jobs")
            except EnvironmentProblem:
                if lost is None:
                    raise
                if time.monotonic() - lost_at > self._settings.return_timeout:
                    raise lost from None
            else:
                return
            pause(_AGAIN_S)

    def _submit(self, benchmarks: Sequence[Benchmark]) -> None:
        targets = _choose(self._engine.places(), self._settings.device_class, self._settings.devices)
        _reject_other_versions(targets)
        self._targets = {target.resource: target for target in targets}
        jobs = [(self._job(benchmark), target) for benchmark in benchmarks for target in targets]
        self._ids = {job.id for job, _ in jobs}
        for target in targets:
            self._send_files(target.places)
        self._pending = [self._engine.submit(job, target.resource) for job, target in jobs]
        self._display.say(f"{len(jobs)} jobs for {', '.join(target.label for target in targets)}")

    def _submit_again(self) -> None:
        """Submit the jobs that are not reported. Hosts that join later ask for files that they lack."""
        self._pending = [self._engine.submit(task.job, task.resource, attempts=task.attempts) for task in self._pending]
        self._display.say(f"the lab is back: {len(self._pending)} jobs were submitted again")

    def _report_all(self) -> None:
        with self._engine.progress(self._ids, self._show):
            try:
                while self._pending:
                    for task in self._engine.finished(self._pending, _POLL_S):
                        self._report(task)
                        self._pending.remove(task)
                    self._give_up_without_devices()
            except (LabLost, OSError):
                raise  # there is nobody to cancel them
            except BaseException:
                self._engine.cancel(self._pending)
                raise

    def _job(self, benchmark: Benchmark) -> Job:
        chosen = ChosenSettings(**{name: getattr(self._settings, name) for name in ChosenSettings.model_fields})
        files = dict(self._local_files(benchmark))
        return Job(id=str(uuid.uuid4()), benchmark=benchmark, files=files, settings=chosen, versions=own_versions())

    def _local_files(self, benchmark: Benchmark) -> Iterator[tuple[str, LabFile]]:
        """Yield the files that are on this machine, by their locations."""
        for file in itertools.chain(benchmark.files, benchmark.input_files):
            path = Path(file.location) if file.location and "://" not in file.location else None
            if path is None or not path.is_file():
                continue  # a host fetches or exports it, or says what is missing
            if path not in self._files:
                self._files[path] = describe_file(path, file.filename)
            yield str(file.location), self._files[path]

    def _report(self, task: LabTask) -> None:
        try:
            answer = self._engine.result(task)
        except LabLost:
            raise
        except EnvironmentProblem as error:
            outcome = Outcome.DEVICE_LOST if isinstance(error, DeviceLost) else Outcome.FAILED
            self._fail(task, Failure(outcome, error.message, error.hint, is_environment_problem=True))
            return
        target = self._targets[task.resource]
        report = answer.report
        if report is not None and not self._is_for_another(report.result, task):
            self._reporting.report(report)
            return
        if report is not None or answer.absent:
            reason = answer.absent if report is None else report.result.reason
            self._display.warn(f"! {reason}: its jobs wait for another device of {target.label}")
            self._engine.retire(answer.address)
        if task.attempts >= _MOST_SENT:
            self._fail(task, _explain_no_begin(answer, target))
            return
        if answer.missing:
            self._send_files([place for place in self._engine.places() if target.accepts(place)])
        self._pending.append(self._engine.submit(task.job, task.resource, attempts=task.attempts + 1))

    def _is_for_another(self, result: Result, task: LabTask) -> bool:
        """Return whether a job whose device was lost is done again: by another one of its class."""
        is_last = task.attempts >= _MOST_SENT or self._targets[task.resource].is_single
        return result.outcome is Outcome.DEVICE_LOST and not is_last

    def _send_files(self, places: Sequence[Place]) -> None:
        for problem in self._engine.send_files(self._files, places):
            self._display.warn(f"! {problem}")

    def _fail(self, task: LabTask, failure: Failure) -> None:
        """Report a job that no device has done: of a class none is named."""
        target = self._targets[task.resource]
        device = target.places[0].device if target.is_single else None
        self._reporting.report(report_failure(task.job.benchmark, device, failure, self._settings))

    def _give_up_without_devices(self) -> None:
        """Fail the jobs whose devices have all been away for a while."""
        if not self._pending:
            return
        present = {
            resource
            for place in self._engine.places()
            for resource in (class_resource(place.device_class), device_resource(place.device.identity))
        }
        now, wanted = time.monotonic(), {task.resource for task in self._pending}
        self._alone_since = {
            resource: since for resource, since in self._alone_since.items() if resource in wanted - present
        }
        for resource in sorted(wanted - present):
            if resource not in self._alone_since:
                self._alone_since[resource] = now
                self._display.warn(f"! the lab has no device of {self._targets[resource].label} now: waiting for one")
            elif now - self._alone_since[resource] >= self._settings.return_timeout:
                self._give_up(resource)

    def _give_up(self, resource: str) -> None:
        """Fail the jobs that need a resource."""
        reason = "all devices that could measure it left the lab"
        lost = Failure(Outcome.DEVICE_LOST, reason, is_environment_problem=True)
        given_up = [task for task in self._pending if task.resource == resource]
        self._engine.cancel(given_up)
        for task in given_up:
            self._fail(task, lost)
            self._pending.remove(task)

    def _show(self, device: str, kind: str, text: str) -> None:
        if kind == "warn":
            self._display.warn(f"{device}: {text}")
        elif self._settings.verbose or self._settings.debug or text.startswith("measuring"):
            self._display.say(f"{device}: {text}")


def _explain_no_begin(answer: JobReport, target: _Target) -> Failure:
    """Return why a job was not begun, however often it was submitted."""
    if answer.absent:
        return Failure(Outcome.DEVICE_LOST, answer.absent, "look at its cable", is_environment_problem=True)
    reason = f"hosts of {target.label} do not keep the files that they get"
    return Failure(Outcome.FAILED, reason, "look at the disks of hosts", is_environment_problem=True)


def _refuse(settings: Settings) -> None:
    """Refuse options that would have no effect: those of the machine that measures.

    Raises:
        UsageError: There is one.
    """
    if refused := sorted(settings.requested - _HEEDED):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in refused)
        raise UsageError(f"{flags}: hosts of a lab have no such option yet", hint="leave it out, or leave out --lab")


def _choose(places: Sequence[Place], classes: Sequence[str], devices: Sequence[str]) -> Sequence[_Target]:
    """Return which devices may do the jobs: those of each class, or each named one.

    Raises:
        UsageError: There is no such class or device, or none is named among several.
        EnvironmentProblem: The lab has no device.
    """
    if not places:
        raise EnvironmentProblem("the lab has no device", hint="bring some: `harness lab join ADDRESS` on their host")
    if devices and classes:
        raise UsageError("--devices and --device-class both say where", hint="leave one of them out")
    known = sorted({place.device_class for place in places})
    if devices:
        return [_device_target(name, places) for name in dict.fromkeys(devices)]
    if not classes and len(known) > 1:
        raise UsageError(
            f"the lab has devices of {len(known)} classes", hint=f"choose by --device-class: {', '.join(known)}"
        )
    wanted = [slug(name) for name in classes] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise UsageError(f"the lab has no device of class {', '.join(unknown)}", hint=f"there are: {', '.join(known)}")
    return [
        _Target(name, class_resource(name), tuple(place for place in places if place.device_class == name))
        for name in dict.fromkeys(wanted)
    ]


def _reject_other_versions(targets: Sequence[_Target]) -> None:
    """Raise `EnvironmentProblem` if a device that may measure has other versions than this client."""
    for place in itertools.chain.from_iterable(target.places for target in targets):
        if difference := own_versions().explain_difference(place.versions):
            raise EnvironmentProblem(f"{place.host} has {difference}", hint="install the same versions everywhere")


def _device_target(name: str, places: Sequence[Place]) -> _Target:
    found = tuple(place for place in places if name in place.device.names)
    if len(found) != 1:
        known = ", ".join(sorted(place.device.name for place in places))
        several = "several devices" if found else "no device"
        raise UsageError(f"the lab has {several} called {name}", hint=f"there are: {known}; identities are unique")
    return _Target(name, device_resource(found[0].device.identity), found, is_single=True)
