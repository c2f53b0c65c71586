"""Processes of apps on a stand-in iPhone: programs of this machine.

A process runs in the bundle of its app, with the container as its home, and leads a process group, which ends with it.
What it writes goes to the log of the phone. It does not survive the harness, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from harness import shell
from harness.core.command import Command
from harness.core.errors import HarnessError
from harness.testing.phones.ios.developer.crash_reports import write_crash_report
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.model import StandInApp
    from harness.testing.phones.ios.phone import StandInIPhone

CONDITIONS: Final = "STAND_IN_CONDITIONS"
"""Variable of apps: file with the conditions of the phone, which follows them while the app runs."""
TEST_SESSION: Final = "XCTestSessionIdentifier"
"""Variable of apps that run tests of Xcode: for which session."""
_MOST_SESSIONS: Final = 64
_END_S: Final = 60.0
_POLL_S: Final = 0.02
_KEPT_BYTES: Final = 1 << 20
_MOST_LINES: Final = 200_000
"""Lines of one process that are kept; what it writes after them is dropped."""


class LaunchRefused(OSError):
    """An app that cannot be started; the message says why."""


@dataclass(slots=True)
class StandInProcess:
    """A process of an app that runs, or ran, on a stand-in iPhone. Any thread may use it.

    Attributes:
        pid: Its process id on this machine.
        app: Its app.
        env: Variables that its client gave it.
        exit_code: Exit status, or the negative number of the signal that ended it; None while it runs.
        output_sent: Set when its output was sent to whoever reads it, if anybody does.
    """

    pid: int
    app: StandInApp
    env: Mapping[str, str] = field(default_factory=dict)
    exit_code: int | None = None
    output_sent: threading.Event = field(default_factory=threading.Event)
    _lines: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def name(self) -> str:
        """Its name: that of its program."""
        return str(self.app.info.get("CFBundleExecutable", ""))

    def wait(self, timeout_s: float = _END_S) -> bool:
        """Wait until it has ended, and its crash report is written; return whether it has."""
        with self._changed:
            return self._changed.wait_for(lambda: self.exit_code is not None, timeout_s)

    def follow(self) -> Iterator[str]:
        """Yield the lines that it writes, from its first, until it ends."""
        for at in range(_MOST_LINES):
            line = self._wait_for_line(at)
            if line is None:
                return
            yield line

    def add_line(self, line: str) -> bool:
        """Keep a line that it wrote; return whether there was room."""
        with self._changed:
            if len(self._lines) >= _MOST_LINES:
                return False
            self._lines.append(line)
            self._changed.notify_all()
            return True

    def _wait_for_line(self, at: int) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) > at or self.exit_code is not None)
            return self._lines[at] if at < len(self._lines) else None

    def last_lines(self, count: int) -> Sequence[str]:
        """Return the last lines that it wrote."""
        with self._changed:
            return tuple(self._lines[-count:])

    def end(self, exit_code: int) -> None:
        """Keep how it ended."""
        with self._changed:
            self.exit_code = exit_code
            self._changed.notify_all()


class ProcessTable:
    """Processes of a phone's apps. Any thread may use it.

    Args:
        phone: The phone.
    """

    def __init__(self, phone: StandInIPhone) -> None:
        self._phone = phone
        self._running: dict[int, tuple[StandInProcess, shell.BackgroundProcess]] = {}
        self._tests: dict[UUID, StandInProcess] = {}
        self._lock = threading.RLock()
        self._conditions = ""

    def start(
        self,
        app: StandInApp,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        *,
        output: ServiceConnection | None = None,
    ) -> StandInProcess:
        """Start an app, in place of one that runs.

        Args:
            app: The app.
            arguments: Its arguments.
            env: Variables added to its environment.
            output: Where its standard output and error go, which is closed when it ends.

        Raises:
            LaunchRefused: Its program cannot be started.
        """
        self.kill(app.bundle)
        given = dict(env or {})
        self.save_conditions()
        program = app.folder / str(app.info.get("CFBundleExecutable", ""))
        command = Command((str(program), *arguments), env={**given, **self._variables(app)}, cwd=app.folder)
        started: list[StandInProcess] = []
        known = threading.Event()

        def report(line: str) -> None:
            known.wait()
            if started and started[0].add_line(line):
                self._phone.write_log(started[0].name, started[0].pid, line)

        with contextlib.ExitStack() as stack:
            stack.callback(known.set)
            running = shell.run_in_background(command, keep_bytes=_KEPT_BYTES, keep_errors=True, on_line=report)
            try:
                background = stack.enter_context(running)
            except HarnessError as error:
                raise LaunchRefused(str(error)) from error
            process = StandInProcess(background.pid, app, given)
            started.append(process)
            with self._lock:
                self._running[process.pid] = (process, background)
                self._keep_session(process)
            kept = stack.pop_all()
        known.set()
        self._phone.write_log("SpringBoard", 57, f"started {app.bundle} as process {process.pid}")
        name = f"app-{process.pid}"
        threading.Thread(target=self._watch, args=(process, background, kept), name=name, daemon=True).start()
        if output is None:
            process.output_sent.set()
        else:
            threading.Thread(target=_copy, args=(process, output), name=f"{name}-output", daemon=True).start()
        return process

    def list_running(self) -> Sequence[StandInProcess]:
        """Return the processes that run, the oldest first."""
        with self._lock:
            return tuple(process for process, _ in self._running.values())

    def find(self, bundle: str) -> StandInProcess | None:
        """Return the process of an app; None if it does not run."""
        return next((process for process in self.list_running() if process.app.bundle == bundle), None)

    def find_tests(self, session: UUID) -> StandInProcess | None:
        """Return the process that runs, or ran, the tests of a session; None before it was started."""
        with self._lock:
            return self._tests.get(session)

    def send_signal(self, pid: int, number: int) -> bool:
        """Send a signal to a process and its group; return False if there is no such process of an app."""
        with self._lock:
            entry = self._running.get(pid)
        if entry is None or not 0 <= number < signal.NSIG:
            return False
        entry[1].send_signal(number)
        return True

    def kill(self, bundle: str) -> bool:
        """Kill an app, and wait for its end; return False if it does not run."""
        process = self.find(bundle)
        return process is not None and self.kill_process(process.pid)

    def kill_process(self, pid: int, timeout_s: float = _END_S) -> bool:
        """Kill a process, and wait for its end up to the limit; return False if there is no such process of an app."""
        with self._lock:
            entry = self._running.get(pid)
        if entry is None:
            return False
        entry[1].send_signal(signal.SIGKILL)
        entry[0].wait(timeout_s)
        return True

    def kill_all(self) -> None:
        """Kill every app, and wait for their end."""
        for process in self.list_running():
            self.send_signal(process.pid, signal.SIGKILL)
        for process in self.list_running():
            process.wait()

    def save_conditions(self) -> None:
        """Write the conditions of the phone for its apps, if they changed."""
        text = json.dumps(asdict(self._phone.conditions))
        with self._lock:
            if text != self._conditions:
                _replace(self._conditions_file, text)
                self._conditions = text

    @property
    def _conditions_file(self) -> Path:
        return self._phone.folder / "conditions.json"

    def _keep_session(self, process: StandInProcess) -> None:
        with contextlib.suppress(ValueError):  # no test, or no identifier
            self._tests[UUID(process.env.get(TEST_SESSION, ""))] = process
        while len(self._tests) > _MOST_SESSIONS:
            del self._tests[next(iter(self._tests))]

    def _variables(self, app: StandInApp) -> dict[str, str]:
        home = str(app.container)
        return {
            "HOME": home,
            "CFFIXED_USER_HOME": home,
            "TMPDIR": str(app.container / "tmp"),
            CONDITIONS: str(self._conditions_file),
        }

    def _watch(self, process: StandInProcess, background: shell.BackgroundProcess, kept: contextlib.ExitStack) -> None:
        """Wait for the end of a process; end what it left, and write its crash report."""
        pause = threading.Event()
        while not background.has_ended():
            self.save_conditions()
            pause.wait(_POLL_S)
        kept.close()
        exit_code = background.exit_code or 0
        how = f"exited with status {exit_code}" if exit_code >= 0 else f"ended by signal {-exit_code}"
        self._phone.write_log("SpringBoard", 57, f"{process.app.bundle}, process {process.pid}, {how}")
        try:
            if exit_code < 0:
                with contextlib.suppress(OSError):  # the phone was taken away
                    write_crash_report(self._phone, process, -exit_code)
        finally:
            with self._lock:
                del self._running[process.pid]
            process.end(exit_code)


def _copy(process: StandInProcess, output: ServiceConnection) -> None:
    """Send what a process writes, until it ends or the client hangs up."""
    with contextlib.suppress(ConnectionEnded):
        for line in process.follow():
            output.send(f"{line}\n".encode())
    output.close()
    process.output_sent.set()


def _replace(file: Path, text: str) -> None:
    """Write a file such that a reader sees the old or the new text; nothing if its folder is gone."""
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(name).replace(file)
