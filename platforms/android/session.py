"""A phone while it is held: files, program starts, state."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from harness.core.command import App, Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.protocols import Staged
from platforms.android.files.store import Store, refused
from platforms.android.files.workdir import SessionFolder
from platforms.android.launch import app, logcat, placement, script
from platforms.android.launch.remote_process import Conversation
from platforms.android.launch.script import Around, Ending
from platforms.android.link.phone import Phone
from platforms.android.settings.clocks import CORES_SCRIPT
from platforms.android.state import power_rails
from platforms.android.state.energy import Course, Meter
from platforms.android.state.readiness import Gate, Limits, obstacles_in
from platforms.android.state.readings import Readings
from platforms.android.state.state import Reading, read_state

_LATE_S: Final = 60.0
"""How much longer than a program perfetto may record, should we be gone."""
_LIMITS: Final = Limits()
_PULLED: Final = 'rm -f "$1"'
_IS_NEW: Final = '[ -e "$2" ] && [ ! "$1" -ot "$2" ]'


@dataclass(frozen=True, slots=True)
class Prepared:
    """A phone that is ready.

    Attributes:
        folder: The session's folder.
        attributes: What was fixed on the phone, and what could not be.
        wipe: What to write before a script so that root runs it, to drop the page cache before each launch; None
            leaves the cache alone.
    """

    folder: SessionFolder
    attributes: Mapping[str, str]
    wipe: str | None = None


class AndroidSession:
    """A session on a phone (`Session`, `Gated`, `Reconnectable` and `Interactive` of `harness.core.protocols`).

    Args:
        phone: The phone, held.
        device: The same as a value.
        prepared: It is ready.
        again: Waits for it after it was away, and makes it ready again.
        gate: Says when it can be measured on.
        check_held: Sees, without asking it, that no other host can have it; else it is lost.
        cpus: CPUs to choose from; None means all, `()` forbids pinning.
    """

    def __init__(
        self,
        phone: Phone,
        device: Device,
        prepared: Prepared,
        again: Callable[[], Prepared],
        gate: Gate,
        *,
        check_held: Callable[[], None],
        cpus: tuple[int, ...] | None = None,
    ) -> None:
        self._phone = phone
        self._asked = device
        self._again = again
        self._gate = gate
        self._check_held = check_held
        self._cpus = cpus
        self._readings = Readings(phone)
        self._meter = Meter()
        self._unfit: EnvironmentProblem | None = None
        self._begin(prepared)

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Data are links into the store; programs lie together, so that they find what they load.

        Raises:
            BenchmarkFailed: Names that cannot be.
            DeviceLost: The phone went away.
            EnvironmentProblem: No space there, or a file here cannot be read.
        """
        folder = f"{self._folder.path}/{self._staged}"
        self._staged += 1
        try:
            started, state = self._store.stage(files, programs, folder)
        except OSError as error:
            raise EnvironmentProblem(f"cannot read {error.filename}: {error.strerror}") from error
        self._readings.keep(state)
        self._apks[folder] = next((path for path in started.values() if path.endswith(".apk")), None)
        return Staged(folder, {name: f"{folder}/{name}" for name in files}, started)

    def run(self, command: Command) -> Completed:
        """Run pinned, in a process group of its own, which dies with the connection. One round trip, unless it fails.

        Its time and CPU seconds are the phone's own; peak memory is not known there. Its energy comes with the answer,
        after a second of waiting for readings before and after.

        Raises:
            BenchmarkFailed: A staged file was changed.
            BenchmarkUnsupported: It cannot be pinned to its CPUs, or is an app that cannot be run.
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: The phone does not let its page cache be dropped.
        """
        if command.app is not None:
            return self._app(command, command.app)
        with self._conversation(command, talks=False) as conversation:
            return self._ended(conversation)

    @contextlib.contextmanager
    def start(self, command: Command) -> Iterator[_Live]:
        """Start as `run` does, to talk with. Its errors are those of `run`.

        Raises:
            BenchmarkUnsupported: It is an app; nobody can talk with those.
        """
        if command.app is not None:
            raise BenchmarkUnsupported(f"{command.app.package} is an app, and cannot be talked with")
        with self._conversation(command, talks=True) as conversation:
            yield _Live(conversation, self._ended)

    def pull(self, remote: str, local: Path) -> None:
        """Fetch, then remove there; what lies outside our folder stays. Two round trips.

        Raises:
            FileNotFoundError: The phone has no such file, or it is older than the last launch and not ours.
            DeviceLost: The phone went away.
        """
        if not self._is_ours(remote):
            if self._phone.sh(_IS_NEW, remote, self._began).exit_code:
                raise FileNotFoundError(f"{self._phone.name} has no file {remote} that was written since the launch")
            self._phone.pull(remote, local)
            return
        self._phone.pull(remote, local)
        said = self._phone.sh(_PULLED, remote)
        if said.exit_code:
            local.unlink(missing_ok=True)
            raise refused(self._phone.name, remote, said)

    def state(self) -> DeviceState:
        """The phone's state now, or as it was a moment ago when something else was asked."""
        return self._readings.now().state

    def wait_until_ready(self) -> None:
        """Wait until it is cool and charged. See `gates`. One that did not become so is not waited for again.

        Raises:
            EnvironmentProblem: It does not become so in time, or did not, and still is not.
            DeviceLost: It went away.
        """
        if self._unfit is not None and any(obstacles_in(self._readings.now(), _LIMITS, _LIMITS.hysteresis_c)):
            raise EnvironmentProblem(self._unfit.message, hint=self._unfit.hint)
        self._unfit = None
        try:
            self._gate.wait_until_ready(self._readings.now)
        except DeviceLost:
            raise
        except EnvironmentProblem as error:
            self._unfit = error
            raise

    def reconnect(self) -> None:
        """Wait for its return, and prepare it anew."""
        self._readings.forget()
        self._begin(self._again())

    def _begin(self, prepared: Prepared) -> None:
        self._wipe = prepared.wipe
        self._folder = prepared.folder
        self._store = Store(self._phone, self._folder.own, self._folder.path, self._folder.kept)
        self._staged = 0
        self._apks: dict[str, str | None] = {}
        self._opened: set[str] = set()
        attributes = {**self._asked.attributes, **prepared.attributes}
        if (offline := placement.offline(self._folder.cores)) is not None:
            attributes["offline_cpus"] = offline
        self.device = self._asked.model_copy(update={"attributes": attributes})

    def _app(self, command: Command, which: App) -> Completed:
        self._check_held()
        folders = [folder for folder in self._apks if any(f"{word}/".startswith(f"{folder}/") for word in command.argv)]
        packages = {self._apks[folder] for folder in folders or self._apks}
        if len(packages) > 1:
            raise BenchmarkFailed(
                f"{which.package} comes in several builds, and its extras do not tell which is meant",
                hint="let one of them name a file, or {TGTDIR}",
            )
        for folder in set(folders) - self._opened:
            self._store.open_to_apps(folder)
            self._opened.add(folder)
        apk = next(iter(packages), None)
        package = None if apk is None else app.Package(apk, self._store.sha256_of(apk))
        around = app.Around(self._folder.own, self._began, package, secrets.token_hex(12))
        ended = app.run(self._phone, command, which, around)
        self._readings.keep(ended.state)
        untold = "that of an app cannot be told apart from that of its start" if command.energy else None
        return replace(ended.completed, energy_unavailable=untold)

    @contextlib.contextmanager
    def _conversation(self, command: Command, *, talks: bool) -> Iterator[Conversation]:
        self._check_held()
        cpus = self._placed(command)
        metered = command.energy and not talks
        around = Around(
            own=self._folder.own,
            folder=self._folder.path,
            began=self._began,
            watched=self._store.watched,
            cpus=cpus,
            wipe=self._wipe,
            talks=talks,
            metered=metered,
            rails=power_rails.config(command.timeout_s + _LATE_S) if metered and self._meter.records else "",
        )
        started = replace(command, env=self._environment(command))
        mark = secrets.token_hex(12)
        with self._phone.shell(script.line(started, around, mark), "a program ran on it") as stream:
            yield Conversation(self._phone, command, around, stream, mark)

    def _ended(self, conversation: Conversation) -> Completed:
        ending, completed = conversation.finish()
        if ending is None:
            return completed
        after = self._readings.keep(ending.state)
        fate = "it ended well" if completed.ok else f"it {completed.describe()}"
        self._store.check(ending.files, fate)
        if completed.ok:
            return self._metered(completed, ending, after) if completed.command.energy else completed
        self._check_placed(completed)
        # In front: what the program itself said last is the reason that people read first.
        said = logcat.about(self._phone, ending.pid, ending.began)
        return replace(completed, stderr=said + completed.stderr)

    def _metered(self, completed: Completed, ending: Ending, after: Reading) -> Completed:
        if not ending.before:
            return replace(completed, energy_unavailable="programs that live at the same time share it")
        before = read_state(ending.before, after.state.time).state
        spent = self._meter.spent(Course(before, after.state, ending.trace, ending.began_up_s, ending.ended_up_s))
        return replace(completed, energy_mj=spent.energy_mj, energy_unavailable=spent.reason)

    @property
    def _began(self) -> str:
        """A file that is written at the start of a launch: what is older, that did not write."""
        return f"{self._folder.path}/began"

    def _is_ours(self, remote: str) -> bool:
        return remote.startswith(f"{self._folder.own}/") and ".." not in remote.split("/")

    def _check_placed(self, failed: Completed) -> None:
        """See whether a program that failed had the CPUs that it was pinned to: phones take some away when warm.

        Raises:
            BenchmarkFailed: They are not there any more. The benchmarks after it choose among those that are.
            DeviceLost: The phone went away.
        """
        if not failed.cpus or not any(line.startswith("taskset:") for line in failed.stderr.splitlines()):
            return
        self._folder = replace(self._folder, cores=self._phone.sh(CORES_SCRIPT).stdout)
        gone = sorted(set(failed.cpus) - set(placement.usable(self._folder.cores)))
        if gone:
            raise BenchmarkFailed(
                f"CPU {', '.join(map(str, gone))} of {self._phone.name} went offline: the program could not be pinned",
                hint="let it cool down; or take other CPUs (--cpus)",
            )

    def _environment(self, command: Command) -> Mapping[str, str]:
        """Programs find the libraries beside them, after those that the command names itself."""
        beside = next((folder for word in command.argv if (folder := self._store.libraries_of(word))), None)
        if beside is None:
            return command.env
        named = command.env.get("LD_LIBRARY_PATH")
        return {**command.env, "LD_LIBRARY_PATH": f"{named}:{beside}" if named else beside}

    def _placed(self, command: Command) -> tuple[int, ...]:
        cores = self._folder.cores
        if command.cpus is not None:
            return placement.checked(cores, command.cpus)
        if command.threads is None or self._cpus == ():
            return ()
        return placement.choose(cores, placement.checked(cores, self._cpus or ()), command.threads)


@dataclass(frozen=True, slots=True)
class _Live:
    """A live process, and what is to be done at its end."""

    conversation: Conversation
    ended: Callable[[Conversation], Completed]

    def write_line(self, line: str) -> None:
        self.conversation.write_line(line)

    def wait_for_line(self, line: str) -> bool:
        return self.conversation.wait_for_line(line)

    def finish(self) -> Completed:
        return self.ended(self.conversation)
