"""Session on a locked iPhone: packages that are installed, files in containers, launches of apps, state."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.app import App
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.note import Note
from harness.core.protocols import Progress, Staged
from platforms.ios.apps.builds import InstalledBuilds, PackagedApp
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.judging import NO_ENERGY, judge_end
from platforms.ios.apps.launching import AppEnd, AppStart, AppStarter
from platforms.ios.apps.other_apps import OtherApp, run_other_app
from platforms.ios.apps.packages import PackageInfo
from platforms.ios.apps.xctest import XCTestPhone, run_tests_of
from platforms.ios.files.container import Container, ContainerFile
from platforms.ios.link.client import PhoneClient
from platforms.ios.state.phone_state import PhoneStateReader
from platforms.ios.state.readiness import IPhoneLimits, note_overridden, sees_obstacle, wait_for_phone

_PROBE: Final = ("--version",)
"""Arguments of a launch that only tells the state of the phone and which build is installed."""
_PROBE_S: Final = 60.0
_FOLDER_NOTE: Final = Path(__file__).parent / "files" / "about-this-folder.txt"
"""File in each benchmark's folder, so that it is there even if the benchmark has no files."""


class IPhone(Struct, frozen=True):
    """An iPhone that a session uses.

    Attributes:
        client: Reaches it.
        device: Its description.
        folder: Our folder in each container.
        runner: Bundle identifier of the runner app that starts what is no package; None without one.
        sign: Command that signs an app again after files were put into it; None without one.
        limits: Limits within which it is ready.
        progress: Shows what is waited for.
    """

    client: PhoneClient
    device: Device
    folder: str
    runner: str | None
    sign: str | None
    limits: IPhoneLimits
    progress: Progress


class IosSession:
    """A session on an iPhone (`Session`, `Gated`, `Reconnectable` and `Releasing` of the protocols).

    Args:
        phone: The phone, locked.
        wait_for_return: Waits for it after it was lost.
    """

    def __init__(self, phone: IPhone, wait_for_return: Callable[[], None]) -> None:
        self.device = phone.device
        self._phone = phone
        self._client = phone.client
        self._udid = phone.device.identity
        self._wait_for_return = wait_for_return
        self._last: Container | None = None
        self._begin()

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Push files, and install packages whose build is not there. A folder is fresh: nothing of it exists before.

        A package with tests of Xcode is installed when they are run: its files are in its bundle then.

        Raises:
            OutOfSpace: The phone has no room.
            BenchmarkFailed: A package is none.
            BenchmarkUnsupported: A program is no package, and no runner app was named that could start it.
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: A package cannot be installed.
        """
        folder = f"{self._session}/{len(self._staged)}"
        paths: dict[str, str] = {}
        apps: list[str] = []
        staged = [ContainerFile(_FOLDER_NOTE, f"{folder}/{_FOLDER_NOTE.name}")]  # with which the app makes the folder
        staged.extend(ContainerFile(path, f"{folder}/{name}") for name, path in files.items())
        for name, path in programs.items():
            if path.suffix == ".ipa":
                app = self._builds.add(path)
                paths[name] = app.path
                if app.package is not None and app.package.tests:
                    self._tested[folder] = app.package
                else:
                    apps.append(paths[name])
                    self._open_container(app.bundle)
            else:
                paths[name] = f"{folder}/programs/{name}/{path.name}"
                staged.append(ContainerFile(path, paths[name]))
        self._staged[folder] = tuple(staged)
        if self._phone.runner is not None:
            self._open_container(self._phone.runner)
        for app in self._builds.apps_of(apps):
            self._install(app)
        for container in self._containers.values():
            container.add(staged)
        return Staged(folder, {name: f"{folder}/{name}" for name in files}, paths)

    def run(self, command: Command) -> Completed:
        """Run an app to its end. What it wrote comes from files in its container, and how it ended from its result.

        Raises:
            BenchmarkFailed: Another build ran than the one that was given, or the app could not use its files.
            BenchmarkUnsupported: Something is requested that no app can have.
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: The phone refuses.
        """
        if command.cpus:
            raise BenchmarkUnsupported("iOS pins programs to no CPUs", hint="leave out --cpus")
        if command.app is not None and command.app.tests:
            return self._run_tests(command, command.app)
        if command.app is not None:
            container = self._open_container(command.app.package)
            container.add([file for files in self._staged.values() for file in files])
            self._last = container
            other = OtherApp(self._builds.find_installed(command.app.package), command.app.result)
            return run_other_app(self._client, self._udid, command, other, self._crashes)
        app, arguments = self._resolve(command)
        self._install(app)
        container = self._open_container(app.bundle)
        container.add([file for files in self._staged.values() for file in files])
        end = self._run_checked(app, container, command, arguments)
        self._last = container
        if end.result is not None:
            self._states.add(end.result.after)
        return judge_end(replace(command, argv=(app.path, *arguments)), end, tuple(self._notes()))

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file from the container of the app that ran last, then remove it there.

        Raises:
            FileNotFoundError: There is no such file.
            DeviceLost: The phone became unreachable.
        """
        parts = PurePosixPath(remote).parts
        if self._last is None or not parts or parts[0] == "/" or ".." in parts:
            raise FileNotFoundError(f"{self.device.name} has no file {remote} in the container of an app that ran")
        local.parent.mkdir(parents=True, exist_ok=True)
        self._client.pull(self._udid, self._last.bundle, remote, local)
        self._last.discard(remote)

    def release(self, staged: Staged, names: Collection[str]) -> None:
        """Remove a folder, and the contents of named files of it.

        Raises:
            DeviceLost: The phone became unreachable.
        """
        files = self._staged.get(staged.folder, ())
        self._staged[staged.folder] = ()
        for container in self._containers.values():
            container.forget(staged.folder, [staged.files[name] for name in names], [file.path for file in files])

    def state(self) -> DeviceState:
        """Return the state of its battery now, and of its heat and screen as the last app saw them."""
        state = self._states.read()
        ignored = "thermal-status" in self._phone.limits.overridden
        return state.model_copy(update={"thermal_status_ignored": True}) if ignored else state

    def wait_until_ready(self) -> None:
        """Wait until it is cool and charged. An app is started to tell, where the last launch saw it hot.

        Raises:
            EnvironmentProblem: It is not ready in time.
            DeviceLost: It became unreachable.
        """

        def read() -> DeviceState:
            state = self._states.read()
            is_old = self._states.is_unknown or sees_obstacle(state, self._phone.limits)
            if is_old and (app := self._builds.some_app()) is not None:
                self._probe(app)
                state = self._states.read()
            return state

        wait_for_phone(self.device.kind or self.device.name, read, self._phone.limits, self._phone.progress)

    def reconnect(self) -> None:
        """Wait for its return, and begin anew."""
        self._wait_for_return()
        self._begin()

    def close(self) -> None:
        """End our apps, and remove what the session left; contents and apps stay. Never raises for a lost phone."""
        with contextlib.suppress(DeviceLost):
            for container in self._containers.values():
                self._tidy_up(container)

    def _tidy_up(self, container: Container) -> None:
        """End an app, and remove the session's files, also where the phone refuses to end it.

        Raises:
            DeviceLost: The phone became unreachable.
        """
        for step in (partial(self._client.kill, self._udid, container.bundle), container.close):
            try:
                step()
            except DeviceLost:
                raise
            except EnvironmentProblem:
                continue

    def _begin(self) -> None:
        self._session = f"{self._phone.folder}/sessions/{secrets.token_hex(6)}"
        self._staged: dict[str, tuple[ContainerFile, ...]] = {}
        self._containers: dict[str, Container] = {}
        self._last = None
        self._launches = 0
        self._logs_next = False
        self._states = PhoneStateReader(self._client, self._udid)
        self._crashes = CrashWatch(self._client, self._udid)
        self._starter = AppStarter(self._client, self._udid, self._crashes)
        self._builds = InstalledBuilds(self._client, self._udid)
        self._tested: dict[str, PackageInfo] = {}
        self._tests = XCTestPhone(self._client, self._udid, self.device.name, self._phone.sign)

    def _run_tests(self, command: Command, app: App) -> Completed:
        """Run tests of Xcode with the package that was staged with the files that the command names, or the last."""
        staged = {file.path: file.local for files in self._staged.values() for file in files}
        folders = [folder for folder in self._tested if any(word.startswith(f"{folder}/") for word in command.argv)]
        folder = next(reversed(folders or list(self._tested)), "")
        completed = run_tests_of(self._tests, command, app, self._tested.get(folder), staged)
        return replace(completed, energy_unavailable=NO_ENERGY if command.energy else None)

    def _resolve(self, command: Command) -> tuple[PackagedApp, tuple[str, ...]]:
        """Return the app that a command starts, and its arguments."""
        app = self._builds.find(command.argv[0])
        if app is not None:
            return app, command.argv[1:]
        if self._phone.runner is None:
            raise BenchmarkUnsupported(
                f"iOS starts apps only, and {command.argv[0]} is none",
                hint="give the .ipa of a runner app (--program runner.ipa), or name an installed one (--ios-app)",
            )
        return self._builds.installed_app(self._phone.runner), command.argv

    def _install(self, app: PackagedApp) -> None:
        """Install a package, unless that very build is installed: the app that is there says so itself."""
        if app.package is None or self._builds.is_current(app):
            return
        if self._builds.may_be_current(app):
            self._open_container(app.bundle)
            self._probe(app)
            if self._builds.is_current(app):
                return
        self._builds.install(app)

    def _open_container(self, bundle: str) -> Container:
        if bundle not in self._containers:
            container = Container(self._client, self._udid, bundle, self._phone.folder, self._session)
            self._containers[bundle] = container
        return self._containers[bundle]

    def _probe(self, app: PackagedApp) -> None:
        """Start an app to learn which build it is, and the state of the phone; an app that says nothing is no error."""
        with contextlib.suppress(BenchmarkFailed):
            end = self._start(app, None, Command(_PROBE, timeout_s=_PROBE_S), _PROBE)
            if end.result is not None:
                self._builds.note(app, end.result.executable_sha256)
                self._states.add(end.result.after)

    def _start(self, app: PackagedApp, links: str | None, command: Command, arguments: tuple[str, ...]) -> AppEnd:
        self._launches += 1
        start = AppStart(
            bundle=app.bundle,
            process=app.executable,
            arguments=arguments,
            env=dict(command.env),
            timeout_s=command.timeout_s,
            result=f"{self._session}/results/{self._launches}.json",
            links=links,
            mark=secrets.token_hex(12),
        )
        return self._starter.run(start)

    def _run_checked(
        self, app: PackagedApp, container: Container, command: Command, arguments: tuple[str, ...]
    ) -> AppEnd:
        """Run an app; once more where files were incomplete, or where another build was installed."""
        for is_last in (False, True):
            with self._logging(app.executable) as log:
                end = self._start(app, container.links_path, command, arguments)
            self._logs_next = end.result is None
            if end.result is None:
                return replace(end, stderr="".join(log) + end.stderr)
            if end.result.incomplete and not is_last and container.repair(end.result.incomplete):
                continue
            if end.result.problem or end.result.exit_code is None:
                reason = end.result.problem or "it says neither an exit status nor why there is none"
                raise BenchmarkFailed(f"{app.bundle} did not run on {self.device.name}: {reason}")
            self._builds.note(app, end.result.executable_sha256)
            if app.package is None or self._builds.is_current(app):
                return end
            if not is_last:
                self._builds.install(app)
        raise self._builds.wrong_build_error(app)

    @contextlib.contextmanager
    def _logging(self, process: str) -> Iterator[list[str]]:
        """Read the system log meanwhile, where the last launch left no result: reading disturbs the phone.

        Yields the lines of the process, which are there when the context has ended.
        """
        lines: list[str] = []
        if not self._logs_next:
            yield lines
            return
        try:
            opened = self._client.open_log(self._udid)
        except BenchmarkUnsupported as error:
            lines.append(f"{error.message}\n")
            yield lines
            return
        with opened as log:
            yield lines
            lines.extend(f"{line}\n" for line in log.lines(process))

    def _notes(self) -> Iterator[Note]:
        """Yield what a reader of a launch's numbers must know of the phone."""
        if (overridden := note_overridden(self._states.read(), self._phone.limits)) is not None:
            yield overridden
        yield from self._builds.notes()
