"""The program go-ios: finding it, checking its version, and running it with a time limit."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Finding
from platforms.ios.link.errors import unresponsive_error
from platforms.ios.link.go_ios.messages import LogRecord, read_failure, read_log
from platforms.ios.link.words import check_udid, shorten

VARIABLE: Final = "HARNESS_GO_IOS"
"""Environment variable: path of the program."""
_NAMES: Final = ("ios", "go-ios")
_INSTALL: Final = "`npm install -g go-ios`, or set --go-ios to the path of its program"
_VERSION_S: Final = 30.0
_OLDEST: Final = (1, 2, 0)
_TOO_NEW: Final = 2
"""Major version that nobody has tried."""
_UNRELEASED: Final = "local-build"
"""Version of a program that somebody built from its source."""


class _Version(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    version: str


class TimeLimits(Struct, frozen=True):
    """Seconds after which a phone is taken for lost. All are many times what calls take on a machine that is idle.

    Attributes:
        answer_s: Of a call that asks for little, and of a copy that does not get on.
        install_s: Of an installation that does not get on, apart from the time for sending the app.
        slowest_bytes_per_s: Least speed of sending. go-ios waits for an answer after every 32 KiB.
    """

    answer_s: float = 45.0
    install_s: float = 120.0
    slowest_bytes_per_s: float = 1 << 20

    def sending_s(self, file: Path) -> float:
        """Return the time that sending a file may take."""
        return file.stat().st_size / self.slowest_bytes_per_s


LIMITS: Final = TimeLimits()


class ProgramOutput(Struct, frozen=True):
    """What go-ios wrote until it ended.

    Attributes:
        stdout: Its answer.
        log: Lines of its log.
        failure: Why it failed, in its words; empty if it did not.
        timed_out: Whether it was killed because its time was over.
    """

    stdout: str
    log: tuple[LogRecord, ...]
    failure: str
    timed_out: bool = False


class GoIosProgram:
    """The program go-ios. Any thread may use it.

    Args:
        program: Its path; None for `HARNESS_GO_IOS`, or `ios` or `go-ios` in PATH.
        usbmuxd: `HOST:PORT` or path of the socket of usbmuxd; None for the system's.
        tunnel: `HOST:PORT` at which tunnels are listed; None for go-ios's own.
        environment: Variables added to its environment.
        limits: When a phone is taken for lost.

    Raises:
        UsageError: `tunnel` is no address.
    """

    def __init__(
        self,
        program: Path | None = None,
        *,
        usbmuxd: str | None = None,
        tunnel: str | None = None,
        environment: Mapping[str, str] | None = None,
        limits: TimeLimits = LIMITS,
    ) -> None:
        self.limits = limits
        self._program = program or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
        self._tunnel = () if tunnel is None else _tunnel_options(tunnel)
        self._environment = {
            "ENABLE_GO_IOS_AGENT": "no",  # a daemon of its own would stay
            "HTTP_PROXY": "",  # it asks for tunnels on this machine through a proxy otherwise
            "HTTPS_PROXY": "",
            **({"USBMUXD_SOCKET_ADDRESS": usbmuxd} if usbmuxd else {}),
            **(environment or {}),
        }
        self._lock = threading.Lock()
        self._located: Path | None = None

    def locate(self) -> Path:
        """Return its path, once its version is known to be supported.

        Raises:
            EnvironmentProblem: It is missing, another program, or of another version.
        """
        with self._lock:
            if self._located is None:
                self._located = self._find()
            return self._located

    def diagnose(self) -> Finding:
        """Check that it is there. Never raises."""
        try:
            path = self.locate()
        except EnvironmentProblem as error:
            return Finding("go-ios", False, error.message, error.hint or "")
        return Finding("go-ios", True, f"{path} ({self._read_version(path)})")

    def call(
        self,
        udid: str,
        *words: str,
        doing: str,
        timeout_s: float | None = None,
        progress: Callable[[], object] | None = None,
    ) -> ProgramOutput:
        """Run a command that asks one phone, and return its output even if it failed.

        Args:
            udid: The phone.
            words: Words of the command.
            doing: What is done, as in "its apps were listed".
            timeout_s: Time limit; None for that of a call that asks for little.
            progress: Returns how far it is: the time limit begins anew whenever that changes. None leaves the limit.

        Raises:
            DeviceLost: It did not end in time; nothing of it runs any more.
            EnvironmentProblem: It cannot be started, or wrote without end.
            Interrupted: The harness is being stopped.
        """
        command = self.command(udid, *words, timeout_s=self.limits.answer_s if timeout_s is None else timeout_s)
        output = self.run(command, doing, progress=progress)
        if output.timed_out:
            raise unresponsive_error(udid, doing)
        return output

    def call_globally(self, *words: str, doing: str) -> ProgramOutput:
        """Run a command that concerns no single phone. Everything else is as in `call`."""
        argv = (str(self.locate()), *words)
        output = self.run(Command(argv, env=self._environment, timeout_s=self.limits.answer_s), doing)
        if output.timed_out:
            raise EnvironmentProblem(f"usbmuxd did not answer in time while {doing}", hint="restart it")
        return output

    def command(self, udid: str, *words: str, timeout_s: float, env: Mapping[str, str] | None = None) -> Command:
        """Return a command that asks one phone.

        Args:
            udid: The phone.
            words: Words of the command.
            timeout_s: Time limit.
            env: Variables for this command alone.

        Raises:
            EnvironmentProblem: The program is missing, or `udid` is none.
        """
        argv = (str(self.locate()), *words, f"--udid={check_udid(udid)}", *self._tunnel)
        return Command(argv, env={**self._environment, **(env or {})}, timeout_s=timeout_s)

    def run(self, command: Command, doing: str, *, progress: Callable[[], object] | None = None) -> ProgramOutput:
        """Run a command of go-ios; one that needs too long is killed. Raises as `call`, but for the time limit."""
        completed = shell.run(command, progress=progress)
        if completed.flooded:
            raise EnvironmentProblem(f"go-ios wrote without end while {doing}")
        failure = read_failure(completed.stderr)
        if not failure and not completed.ok:
            failure = completed.describe()
        return ProgramOutput(completed.stdout, read_log(completed.stderr), failure, timed_out=completed.timed_out)

    def _find(self) -> Path:
        """Return the first program that is go-ios."""
        reasons = []
        for name in (str(self._program),) if self._program is not None else _NAMES:
            path = shell.which(name)
            version = self._read_version(path) if path is not None else None
            if path is None:
                reasons.extend([f"there is no program {shorten(name)}"] if self._program is not None else [])
            elif version is None:
                reasons.append(f"{path} is not go-ios")
            elif not _is_supported(version):
                reasons.append(f"{path} is go-ios {shorten(version)}; 1.2.0 or later is needed, below 2")
            else:
                return path
        raise EnvironmentProblem("; ".join(reasons) or "go-ios is not installed", hint=_INSTALL)

    def _read_version(self, path: Path) -> str | None:
        """Return the version of a program; None if it is not go-ios."""
        command = Command((str(path), "version"), env=self._environment, timeout_s=_VERSION_S)
        try:
            return _Version.model_validate_json(shell.run(command).stdout).version
        except (EnvironmentProblem, ValidationError):
            return None


def _is_supported(version: str) -> bool:
    match = re.fullmatch(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-+].*)?", version)
    if match is None:
        return version == _UNRELEASED
    return _OLDEST <= tuple(map(int, match.groups())) < (_TOO_NEW,)


def _tunnel_options(address: str) -> tuple[str, ...]:
    host, _, port = address.rpartition(":")
    if not host or not re.fullmatch("[0-9]{1,5}", port):
        raise UsageError(f"{shorten(address)} is no address of tunnels", hint="--ios-tunnel HOST:PORT")
    return f"--tunnel-info-host={host.strip('[]')}", f"--tunnel-info-port={port}"
