"""Session on a locked phone: files, program starts, state."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.app import App
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.note import Note
from harness.core.protocols import Staged
from platforms.android.files.store import Store, workdir_error
from platforms.android.files.workdir import SessionFolder
from platforms.android.launch.app import AppContext, AppPackage, run_app
from platforms.android.launch.logcat import read_log
from platforms.android.launch.placement import CPUS_SCRIPT, CpuTopology
from platforms.android.launch.remote_process import RemoteProcess
from platforms.android.launch.script import LaunchContext, LaunchReport, launch_line
from platforms.android.link.phone import Phone
from platforms.android.state.energy import EnergyMeter, EnergyWindow
from platforms.android.state.power_rails import recording_config
from platforms.android.state.readiness import Condition, ReadinessGate, describe_overridden, obstacles_in
from platforms.android.state.state import PhoneState, StateCache, read_state
from platforms.staging import describe_end

_RECORDING_S: Final = 60.0
"""Time that perfetto may record beyond a program's time limit, in case nobody ends it."""
_REMOVE: Final = 'rm -f "$1"'
_IS_NEWER: Final = '[ -e "$2" ] && [ ! "$1" -ot "$2" ]'


class PreparedPhone(Struct, frozen=True):
    """A phone that is prepared for a session.

    Attributes:
        folder: Folder of the session.
        attributes: Settings that were fixed on the phone, and that could not be.
        root_prefix: Words that run a script as root, to drop the page cache before each launch; None leaves the cache
            alone.
        cpus: CPUs to choose from; None means all, `()` forbids pinning.
    """

    folder: SessionFolder
    attributes: Mapping[str, str]
    root_prefix: str | None = None
    cpus: tuple[int, ...] | None = None


class AndroidSession:
    """A session on a phone (`Session`, `Gated`, `Reconnectable`, `Releasing` and `Interactive` of the protocols).

    Args:
        phone: The phone, locked.
        device: Its description.
        prepared: Its preparation.
        prepare_again: Waits for its return after it was lost, and prepares it again.
        gate: Waits until it is ready.
        check_locked: Checks, without a round trip, that no other host can use it; else it is lost.
    """

    def __init__(
        self,
        phone: Phone,
        device: Device,
        prepared: PreparedPhone,
        prepare_again: Callable[[], PreparedPhone],
        gate: ReadinessGate,
        *,
        check_locked: Callable[[], None],
    ) -> None:
        self._phone = phone
        self._described = device
        self._prepare_again = prepare_again
        self._gate = gate
        self._check_locked = check_locked
        self._states = StateCache(phone)
        self._meter = EnergyMeter()
        self._not_ready: EnvironmentProblem | None = None
        self._begin(prepared)

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Link files to the store; programs of a build lie in one folder, so that they find what they load.

        Raises:
            BenchmarkFailed: Invalid names.
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: No space there, or a local file cannot be read.
        """
        folder = f"{self._folder.path}/{self._staged_count}"
        self._staged_count += 1
        try:
            program_paths, state = self._store.stage(files, programs, folder)
        except OSError as error:
            raise EnvironmentProblem(f"cannot read {error.filename}: {error.strerror}") from error
        self._states.parse(state)
        self._apks[folder] = next((path for path in program_paths.values() if path.endswith(".apk")), None)
        return Staged(folder, {name: f"{folder}/{name}" for name in files}, program_paths)

    def run(self, command: Command) -> Completed:
        """Run pinned, in a process group of its own, which ends with the connection. One round trip, unless it fails.

        Time and CPU seconds are the phone's own; peak memory is unknown there. Energy comes with the report, which then
        takes a second longer for readings before and after.

        Raises:
            BenchmarkFailed: A staged file was changed.
            BenchmarkUnsupported: It cannot be pinned to its CPUs, or is an app that cannot be run.
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: The page cache of the phone cannot be dropped.
        """
        if command.app is not None:
            return self._run_app(command, command.app)
        with self._launch(command, interactive=False) as process:
            return process.finish()

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[RemoteProcess]:
        """Start an interactive program; raises as `run` does.

        Raises:
            BenchmarkUnsupported: It is an app, which cannot be interactive.
        """
        if command.app is not None:
            raise BenchmarkUnsupported(f"{command.app.package} is an app, and cannot be controlled line by line")
        with self._launch(command, interactive=True) as process:
            yield process

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file, then remove it there, unless it lies outside our folder. Two round trips.

        Raises:
            FileNotFoundError: The phone has no such file, or it lies outside and is older than the last launch.
            DeviceLost: The phone became unreachable.
        """
        if not self._is_in_workdir(remote):
            if self._phone.sh(_IS_NEWER, remote, self._began).exit_code:
                raise FileNotFoundError(f"{self._phone.name} has no file {remote} that was written since the launch")
            self._phone.pull(remote, local)
            return
        self._phone.pull(remote, local)
        result = self._phone.sh(_REMOVE, remote)
        if result.exit_code:
            local.unlink(missing_ok=True)
            raise workdir_error(self._phone.name, remote, result)

    def release(self, staged: Staged, names: Collection[str]) -> None:
        """Remove a folder, and named files of it from the phone's store.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: The phone does not remove them.
        """
        self._store.release(staged.folder, [staged.files[name] for name in names])

    def state(self) -> DeviceState:
        """Return the phone's state now, or as it was a moment ago when another answer included it."""
        state = self._states.read().device
        is_ignored = Condition.THERMAL_STATUS in self._gate.limits.overridden
        return state.model_copy(update={"thermal_status_ignored": True}) if is_ignored else state

    def wait_until_ready(self) -> None:
        """Wait until it is cool and charged. A phone that did not become ready is not waited for again.

        Raises:
            EnvironmentProblem: It is not ready in time, or was not before and still is not.
            DeviceLost: It became unreachable.
        """
        if self._not_ready is not None and any(
            obstacles_in(self._states.read(), self._gate.limits, self._gate.limits.hysteresis_c)
        ):
            raise EnvironmentProblem(self._not_ready.message, hint=self._not_ready.hint)
        self._not_ready = None
        try:
            self._gate.wait_until_ready(self._states.read)
        except DeviceLost:
            raise
        except EnvironmentProblem as error:
            self._not_ready = error
            raise

    def reconnect(self) -> None:
        """Wait for its return, and prepare it again."""
        self._states.clear()
        self._begin(self._prepare_again())

    def _begin(self, prepared: PreparedPhone) -> None:
        self._root_prefix = prepared.root_prefix
        self._cpus = prepared.cpus
        self._folder = prepared.folder
        self._store = Store(self._phone, self._folder.workdir, self._folder.path, self._folder.contents)
        self._staged_count = 0
        self._apks: dict[str, str | None] = {}
        self._open_to_apps: set[str] = set()
        attributes = {**self._described.attributes, **prepared.attributes}
        if (offline := self._folder.cpus.describe_offline()) is not None:
            attributes["offline_cpus"] = offline
        self.device = self._described.model_copy(update={"attributes": attributes})

    @contextlib.contextmanager
    def _launch(self, command: Command, *, interactive: bool) -> Iterator[RemoteProcess]:
        self._check_locked()
        cpus = self._choose_cpus(command)
        metered = command.energy and not interactive
        context = LaunchContext(
            workdir=self._folder.workdir,
            folder=self._folder.path,
            began=self._began,
            watched=self._store.watched,
            cpus=cpus,
            root_prefix=self._root_prefix,
            interactive=interactive,
            metered=metered,
            rails=recording_config(command.timeout_s + _RECORDING_S) if metered and self._meter.wants_trace else "",
        )
        mark = secrets.token_hex(12)
        line = launch_line(replace(command, env=self._environment(command)), context, mark)
        with self._phone.shell(line, "a program ran on it") as stream:
            yield RemoteProcess(self._phone, command, context, stream, mark=mark, on_report=self._complete)

    def _complete(self, report: LaunchReport, completed: Completed) -> Completed:
        """Check staged files after a program, and add its energy, or the log of its failure."""
        after = self._states.parse(report.state)
        self._store.check(report.files, describe_end(completed))
        completed = replace(completed, notes=tuple(self._notes(after, completed.cpus or ())))
        if completed.ok:
            return self._add_energy(completed, report, after) if completed.command.energy else completed
        self._check_cpus_online(completed)
        # In front: the program's own last line is the reason that people read first.
        log = read_log(self._phone, report.pid, report.began)
        return replace(completed, stderr=log + completed.stderr)

    def _add_energy(self, completed: Completed, report: LaunchReport, after: PhoneState) -> Completed:
        if not report.before:
            return replace(completed, energy_unavailable="programs that run at the same time share it")
        before = read_state(report.before, after.device.time).device
        window = EnergyWindow(before, after.device, report.trace, report.began_uptime_s, report.ended_uptime_s)
        reading = self._meter.measure(window)
        return replace(completed, energy_mj=reading.energy_mj, energy_unavailable=reading.reason)

    def _run_app(self, command: Command, app: App) -> Completed:
        self._check_locked()
        folders = [folder for folder in self._apks if any(f"{word}/".startswith(f"{folder}/") for word in command.argv)]
        apks = {self._apks[folder] for folder in folders or self._apks}
        if len(apks) > 1:
            raise BenchmarkFailed(
                f"{app.package} comes in several builds, and its extras do not say which one to use",
                hint="let one of them name a file, or {TGTDIR}",
            )
        for folder in set(folders) - self._open_to_apps:
            self._store.open_to_apps(folder)
            self._open_to_apps.add(folder)
        apk = next(iter(apks), None)
        package = None if apk is None else AppPackage(apk, self._store.sha256_of(apk))
        context = AppContext(self._folder.workdir, self._began, package, secrets.token_hex(12))
        completed, state = run_app(self._phone, command, app, context)
        completed = replace(completed, notes=tuple(self._notes(self._states.parse(state), ())))
        unavailable = "that of an app cannot be separated from that of its start" if command.energy else None
        return replace(completed, energy_unavailable=unavailable)

    def _notes(self, state: PhoneState, cpus: Sequence[int]) -> Iterator[Note]:
        """Yield what a reader of a launch's numbers must know of the phone."""
        if (overridden := describe_overridden(state, self._gate.limits)) is not None:
            yield overridden
        if state.blind:
            yield Note(
                code="thermal_blind",
                message="the phone reports no skin temperature at which it throttles: its thermal status may stay 0 "
                "whatever its heat, and throttled launches may count",
                hint="watch clocks and temperatures in the result; give it pauses (`cooldown`)",
            )
        if (kinds := self._folder.cpus.describe_mixture(cpus)) is not None:
            yield Note(
                code="mixed_cpus",
                message=f"its threads were pinned to CPUs of different kinds ({kinds}): work that is divided equally "
                "waits for the slowest",
                hint="take CPUs of one kind: --cpus big, prime or little; or fewer threads",
            )

    @property
    def _began(self) -> str:
        """A file that is written at the start of a launch: the launch did not write what is older."""
        return f"{self._folder.path}/began"

    def _is_in_workdir(self, remote: str) -> bool:
        return remote.startswith(f"{self._folder.workdir}/") and ".." not in remote.split("/")

    def _check_cpus_online(self, failed: Completed) -> None:
        """Check whether a program that failed had the CPUs that it was pinned to: phones switch some off when warm.

        Raises:
            BenchmarkFailed: They are offline. Later benchmarks choose among those that are left.
            DeviceLost: The phone became unreachable.
        """
        if not failed.cpus or not any(line.startswith("taskset:") for line in failed.stderr.splitlines()):
            return
        self._folder = replace(self._folder, cpus=CpuTopology.parse(self._phone.sh(CPUS_SCRIPT).stdout))
        offline = sorted(set(failed.cpus) - set(self._folder.cpus.usable))
        if offline:
            raise BenchmarkFailed(
                f"CPU {', '.join(map(str, offline))} of {self._phone.name} went offline: "
                "the program could not be pinned",
                hint="let it cool down; or take other CPUs (--cpus)",
            )

    def _environment(self, command: Command) -> Mapping[str, str]:
        """Add the libraries beside a program to its search path, after those that the command names itself."""
        folder = next((folder for word in command.argv if (folder := self._store.library_folder(word))), None)
        if folder is None:
            return command.env
        named = command.env.get("LD_LIBRARY_PATH")
        return {**command.env, "LD_LIBRARY_PATH": f"{named}:{folder}" if named else folder}

    def _choose_cpus(self, command: Command) -> tuple[int, ...]:
        cpus = self._folder.cpus
        if command.cpus is not None:
            return cpus.check(command.cpus)
        wanted = cpus.check(self._cpus or ())
        if command.threads is None or self._cpus == ():
            return wanted
        return cpus.choose(command.threads, wanted)
