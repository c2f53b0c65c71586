"""A phone that is reached through adb: runs scripts and transfers files, each whole or not at all."""

from __future__ import annotations

import contextlib
import math
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.files.atomic import replacing
from harness.files.digests import sha256_of_file
from platforms.android.link.adb import AdbServer, is_network_serial
from platforms.android.link.errors import map_errors, out_of_space_error, unresponsive_error
from platforms.android.link.liveness import PROBE_TIMES, LivenessProbe, ProbeTimes
from platforms.android.link.protocol import (
    ANSWER_S,
    KILLED,
    Connection,
    ShellStream,
    never_stop,
    receive_file,
    remote_file_size,
    send_file,
)

_MOST_REQUEST_BYTES: Final = 0xFFFF
"""Longest request of adb's protocol: four hex digits of length."""
_HASH_S: Final = 60.0
_HASH_BYTES_PER_S: Final = 20 << 20
"""For reading a file back: a minute, and a second for each 20 MiB, which the slowest storage reads faster."""
_HASH: Final = 'sha256sum < "$1"'
_ENDED_BY_TIMEOUT: Final = (KILLED, KILLED - 1)
"""Exit codes of `timeout -s KILL` when the time is over: toybox 0.8.0 (Android 10) counts signals from 127."""
_REPORT_STATUS: Final = """trap 'printf "\\n%s %s\\n" {mark} $? >&2' EXIT
"""
"""The script's own shell reports its exit status, unless it becomes another program: toybox's `timeout` (0.8.9) may
miss that of a script which ends at once, and takes 127 or any other (https://github.com/landley/toybox/issues/389)."""


class ScriptResult(Struct, frozen=True):
    """End of a script on the phone.

    Attributes:
        exit_code: 128+n when signal n ended it.
        stdout: Its standard output.
        stderr: Its standard error.
        wall_s: Seconds from the request to the end of the answer, on this side.
    """

    exit_code: int
    stdout: str
    stderr: str
    wall_s: float


class Phone:
    """A phone that an adb server reaches. Used by one thread at a time.

    Args:
        server: The server.
        serial: Its name for the server.
        name: Its name in messages; None takes the serial.
        probe_times: When to ask whether it hangs, while something is waited for.
    """

    def __init__(
        self, server: AdbServer, serial: str, name: str | None = None, *, probe_times: ProbeTimes = PROBE_TIMES
    ) -> None:
        self.server = server
        self.serial = serial
        self.name = name or serial
        self._probe_times = probe_times
        self._check_waiting: Callable[[], None] = shell.check_stopping

    @property
    def over_network(self) -> bool:
        """True when it is reached over the network (`HOST:PORT`, or a name that mDNS announced)."""
        return is_network_serial(self.serial)

    def sh(self, script: str, *arguments: str, timeout_s: float = 20.0, stdin: bytes = b"") -> ScriptResult:
        """Run a script: `sh -c script sh arguments...`, on the phone for at most `timeout_s`.

        Args:
            script: For Android's shell (mksh) and its tools (toybox).
            arguments: `$1` and so on, unchanged.
            timeout_s: Limit on the phone; waiting ends a few seconds later.
            stdin: Content of its standard input.

        Raises:
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: It refuses access, or the script took too long or wrote too much.
            Interrupted: The harness is being stopped.
        """
        mark = secrets.token_hex(12)
        reporting = _REPORT_STATUS.format(mark=mark) + script
        line = shlex.join(("exec", "timeout", "-s", "KILL", f"{timeout_s:g}", "sh", "-c", reporting, "sh", *arguments))
        started = time.monotonic()
        deadline = started + timeout_s + ANSWER_S
        doing = "it ran a script"
        with self.shell(line, doing) as stream:
            stream.write(stdin)
            stream.close_stdin()
            probe = self.probe()
            while probe.read(stream, deadline):
                pass
            wall_s = time.monotonic() - started
            if stream.flooded:
                raise EnvironmentProblem(f"the output of a script on {self.name} does not end")
            if stream.exit_code is None:
                raise unresponsive_error(self.name, doing)
            if stream.exit_code in _ENDED_BY_TIMEOUT and wall_s >= timeout_s:
                raise EnvironmentProblem(
                    f"{self.name} took more than {timeout_s:g} s for a script", hint="restart it; is its storage full?"
                )
            stdout, stderr = (text.decode(errors="replace") for text in (stream.out, stream.err))
            code, stderr = _split_status(stderr, mark)
            return ScriptResult(stream.exit_code if code is None else code, stdout, stderr, wall_s)

    def ping(self, limit_s: float) -> None:
        """Check that its daemon answers, without starting anything on it.

        Args:
            limit_s: How long it may take.

        Raises:
            DeviceLost: It does not answer, or became unreachable.
        """
        with self.limit_time(limit_s), self._open("sync:", "it was asked whether it hangs") as connection:
            remote_file_size(connection, "/")

    def probe(self) -> LivenessProbe:
        """Return a new probe for a shell that is waited for."""
        return LivenessProbe(self.ping, self._probe_times)

    def push(self, local: Path, remote: str) -> None:
        """Copy a file to the phone, and verify its hash there.

        Raises:
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: It refuses (no space, no permission), or the file arrived damaged.
            OSError: The local file cannot be read.
        """
        self.send([(local, remote, 0o644)])
        hashed = self.sh(_HASH, remote, timeout_s=hash_timeout_s(local.stat().st_size))
        if hashed.stdout.split()[:1] != [sha256_of_file(local)]:
            raise EnvironmentProblem(
                f"{local.name} did not arrive on {self.name} as it was sent", hint="try another cable or port"
            )

    def send(self, files: Sequence[tuple[Path, str, int]]) -> None:
        """Copy files to the phone in one round trip, without verifying what arrived.

        Args:
            files: Local path, path on the phone, and permissions of each.

        Raises:
            As for `push`.
        """
        with self._open("sync:", "files were pushed") as connection:
            for local, remote, mode in files:
                refusal = send_file(connection, local, remote, mode)
                if refusal is not None:
                    raise _push_refused(self.name, remote, refusal)

    def pull(self, remote: str, local: Path) -> None:
        """Copy a file from the phone, whole or not at all.

        Raises:
            FileNotFoundError: There is no such file on the phone.
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: The file cannot be read there.
        """
        local.parent.mkdir(parents=True, exist_ok=True)
        with replacing(local) as draft:
            with self._open("sync:", f"{remote} was fetched") as connection:
                size_bytes = remote_file_size(connection, remote)
                refusal = None if size_bytes is None else receive_file(connection, remote, draft)
            if size_bytes is None:
                raise FileNotFoundError(f"{self.name} has no file {remote}")
            if refusal is not None:
                raise EnvironmentProblem(f"{self.name} does not let {remote} be read: {refusal}")
            if draft.stat().st_size % (1 << 32) != size_bytes:
                raise EnvironmentProblem(
                    f"{remote} had {size_bytes} bytes on {self.name}, and {draft.stat().st_size} arrived",
                    hint="something still writes it: wait for that before the program ends",
                )

    def reboot(self) -> None:
        """Restart the phone without waiting for its return (see `reconnect`).

        Raises:
            DeviceLost: The phone became unreachable before.
        """
        with self._open("reboot:", "it was asked to restart"):
            pass

    def ignore_stopping(self) -> None:
        """Keep working from now on while the harness is being stopped: settings must be restored."""
        self._check_waiting = never_stop

    @contextlib.contextmanager
    def limit_time(self, limit_s: float) -> Iterator[None]:
        """Limit everything that is requested within the context to so many seconds together."""
        check_waiting, deadline = self._check_waiting, time.monotonic() + limit_s

        def check_deadline() -> None:
            check_waiting()
            if time.monotonic() >= deadline:
                raise TimeoutError("no answer")

        self._check_waiting = check_deadline
        try:
            yield
        finally:
            self._check_waiting = check_waiting

    def check_features(self) -> None:
        """Check that its shell reports exit codes.

        Raises:
            DeviceLost: The phone became unreachable.
            EnvironmentProblem: It is too old, or refuses access.
        """
        if "shell_v2" not in self.server.features(self.serial):
            raise EnvironmentProblem(
                f"{self.name} does not report how programs end (its adb has no `shell_v2`); failures go unnoticed",
                hint="use a phone with Android 8 or later",
            )

    @contextlib.contextmanager
    def shell(self, line: str, doing: str) -> Iterator[ShellStream]:
        """Open a shell that runs a line; its programs are ended with the context.

        Args:
            line: For `/system/bin/sh -c`.
            doing: For messages: failures happen "while {doing}".

        Raises:
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: It refuses access, or the line is too long for adb.
        """
        service = f"shell,v2,raw:{line}"
        if len(service.encode()) > _MOST_REQUEST_BYTES or "\0" in service:
            raise EnvironmentProblem(
                f"a command of {len(service.encode())} bytes cannot be sent through adb", hint="put it into a file"
            )
        with self._open(service, doing) as connection:
            yield ShellStream(connection)

    @contextlib.contextmanager
    def _open(self, service: str, doing: str) -> Iterator[Connection]:
        with map_errors(self.name, doing):
            opened = self.server.open(self.serial, service, self._check_now)
            with contextlib.closing(opened) as connection:
                yield connection

    def _check_now(self) -> None:
        """Apply the present check, also to connections that were opened before `ignore_stopping` or `limit_time`."""
        self._check_waiting()


def _split_status(stderr: str, mark: str) -> tuple[int | None, str]:
    """Split off the exit status that a script reported, if it did."""
    before, separator, rest = stderr.rpartition(f"\n{mark} ")
    code, _, after = rest.partition("\n")
    return (int(code), before + after) if separator and code.isdigit() else (None, stderr)


def hash_timeout_s(size_bytes: int) -> float:
    """Return how long hashing so many bytes on a phone may take, in seconds."""
    return _HASH_S + math.ceil(size_bytes / _HASH_BYTES_PER_S)


def _push_refused(phone: str, remote: str, reason: str) -> EnvironmentProblem:
    if "No space left" in reason:
        return out_of_space_error(phone, remote.rpartition("/")[0], reason)
    return EnvironmentProblem(
        f"{phone} refuses {remote}: {reason}", hint="is --android-dir a folder that adb may write to?"
    )
