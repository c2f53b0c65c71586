"""A phone as scripts and files: the one wrapper around adb. Only whole answers leave it."""

from __future__ import annotations

import contextlib
import math
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.files.atomic import replacing
from harness.files.digests import sha256_of_file
from platforms.android.link import transfer
from platforms.android.link.adb import AdbServer, over_network
from platforms.android.link.connection import ANSWER_S, Wire
from platforms.android.link.errors import hung, out_of_space, told
from platforms.android.link.stream import ShellStream

_MOST_REQUEST_BYTES: Final = 0xFFFF
"""What adb's protocol can ask for at once: four hex digits of length."""
_KILLED: Final = 128 + 9
_HASH_S: Final = 60.0
"""For reading back what was pushed, beside a second for each 20 MiB: the slowest storage reads faster."""
_HASH_BYTES_PER_S: Final = 20 << 20
_HASH: Final = 'sha256sum < "$1"'
_TELL: Final = """trap 'printf "\\n%s %s\\n" {mark} $? >&2' EXIT
"""
"""The script's own shell tells its exit status, unless it becomes another program: toybox's `timeout` (0.8.9) may miss
that of a script which ends at once, and takes 127 or any other (https://github.com/landley/toybox/issues/389)."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a script on the phone said.

    Attributes:
        exit_code: 128+n when signal n ended it.
        stdout: Everything it wrote there.
        stderr: Everything it wrote there.
        wall_s: Seconds from asking to the end of the answer, on this side.
    """

    exit_code: int
    stdout: str
    stderr: str
    wall_s: float


class Phone:
    """A phone that an adb server reaches. Used by one thread at a time.

    Args:
        server: The server.
        serial: How the server calls it.
        name: What a person calls it.
    """

    def __init__(self, server: AdbServer, serial: str, name: str | None = None) -> None:
        self.server = server
        self.serial = serial
        self.name = name or serial
        self._heed: Callable[[], None] = shell.check_stopping

    @property
    def over_network(self) -> bool:
        """Whether it is reached over the network (`HOST:PORT`, or a name that mDNS announced)."""
        return over_network(self.serial)

    def sh(self, script: str, *arguments: str, timeout_s: float = 20.0, stdin: bytes = b"") -> Said:
        """Run a script: `sh -c script sh arguments...`, on the phone for at most `timeout_s`.

        Args:
            script: For Android's shell (mksh) and its tools (toybox).
            arguments: `$1` and so on, as they are.
            timeout_s: Limit on the phone; we give up a few seconds later.
            stdin: What it can read.

        Raises:
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: It does not let us in, or the script took too long or said too much.
            Interrupted: The harness is being stopped.
        """
        mark = secrets.token_hex(12)
        telling = _TELL.format(mark=mark) + script
        line = shlex.join(("exec", "timeout", "-s", "KILL", f"{timeout_s:g}", "sh", "-c", telling, "sh", *arguments))
        started = time.monotonic()
        deadline = started + timeout_s + ANSWER_S
        doing = "it ran a script"
        with self.shell(line, doing) as stream:
            stream.write(stdin)
            stream.end_input()
            while stream.read(deadline):
                pass
            wall_s = time.monotonic() - started
            if stream.flooded:
                raise EnvironmentProblem(f"{self.name} says too much: a script wrote without end")
            if stream.exit_code is None:
                raise hung(self.name, doing)
            if stream.exit_code == _KILLED and wall_s >= timeout_s:
                raise EnvironmentProblem(
                    f"{self.name} took more than {timeout_s:g} s for a script", hint="restart it; is its storage full?"
                )
            out, err = (text.decode(errors="replace") for text in (stream.out, stream.err))
            code, err = _told(err, mark)
            return Said(stream.exit_code if code is None else code, out, err, wall_s)

    def push(self, local: Path, remote: str) -> None:
        """Bring a file to the phone, and see by its hash there that it is the same.

        Raises:
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: It refuses (no space, no permission), or what arrived is not what was sent.
            OSError: The file here cannot be read.
        """
        self.send([(local, remote, 0o644)])
        wanted = sha256_of_file(local)
        said = self.sh(_HASH, remote, timeout_s=hashing_s(local.stat().st_size))
        if said.stdout.split()[:1] != [wanted]:
            raise EnvironmentProblem(
                f"{local.name} did not arrive on {self.name} as it was sent", hint="try another cable or port"
            )

    def send(self, files: Sequence[tuple[Path, str, int]]) -> None:
        """Bring files to the phone in one round trip, without looking at what arrived.

        Args:
            files: Where they are here, where they go there, and with which permissions.

        Raises:
            As for `push`.
        """
        with self._opened("sync:", "files were pushed") as opened:
            for local, remote, mode in files:
                refused = transfer.send(opened, local, remote, mode)
                if refused is not None:
                    raise _push_refused(self.name, remote, refused)

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file, whole or not at all.

        Raises:
            FileNotFoundError: There is no such file on the phone.
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: The phone does not let it be read.
        """
        local.parent.mkdir(parents=True, exist_ok=True)
        with replacing(local) as draft:
            with self._opened("sync:", f"{remote} was fetched") as opened:
                size_bytes = transfer.size(opened, remote)
                refused = None if size_bytes is None else transfer.receive(opened, remote, draft)
            if size_bytes is None:
                raise FileNotFoundError(f"{self.name} has no file {remote}")
            if refused is not None:
                raise EnvironmentProblem(f"{self.name} does not let {remote} be read: {refused}")
            if draft.stat().st_size % (1 << 32) != size_bytes:
                raise EnvironmentProblem(
                    f"{remote} had {size_bytes} bytes on {self.name}, and {draft.stat().st_size} arrived",
                    hint="something still writes it: wait for that before the program ends",
                )

    def reboot(self) -> None:
        """Restart it; see `platforms.android.link.reconnect` for its coming back.

        Raises:
            DeviceLost: The phone went away before it was asked.
        """
        with self._opened("reboot:", "it was asked to restart"):
            pass

    def finish(self) -> None:
        """From now on, go on when the harness is being stopped: what was changed is to be put back."""
        self._heed = _go_on

    @contextlib.contextmanager
    def within(self, limit_s: float) -> Iterator[None]:
        """Give up whatever is asked meanwhile after so many seconds, however patient it would be by itself."""
        heed, deadline = self._heed, time.monotonic() + limit_s

        def hurry() -> None:
            heed()
            if time.monotonic() >= deadline:
                raise TimeoutError("no answer")

        self._heed = hurry
        try:
            yield
        finally:
            self._heed = heed

    def check_features(self) -> None:
        """See that its shell tells exit codes.

        Raises:
            DeviceLost: The phone went away.
            EnvironmentProblem: It is too old, or does not let us in.
        """
        if "shell_v2" not in self.server.features(self.serial):
            raise EnvironmentProblem(
                f"{self.name} does not tell how programs end (its adb has no `shell_v2`): no failure could be noticed",
                hint="use a phone with Android 8 or later",
            )

    @contextlib.contextmanager
    def shell(self, line: str, doing: str) -> Iterator[ShellStream]:
        """A shell that runs a line; what it runs is ended with the context.

        Args:
            line: For `/system/bin/sh -c`.
            doing: For messages: what goes wrong goes wrong "while {doing}".

        Raises:
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: It does not let us in, or the line is too long for adb.
        """
        service = f"shell,v2,raw:{line}"
        if len(service.encode()) > _MOST_REQUEST_BYTES or "\0" in service:
            raise EnvironmentProblem(
                f"a command of {len(service.encode())} bytes cannot be sent through adb", hint="put it into a file"
            )
        with self._opened(service, doing) as opened:
            yield ShellStream(opened)

    @contextlib.contextmanager
    def _opened(self, service: str, doing: str) -> Iterator[Wire]:
        with told(self.name, doing), contextlib.closing(self.server.open(self.serial, service, self._mind)) as opened:
            yield opened

    def _mind(self) -> None:
        """What a connection heeds, also one that was open already when `finish` was called."""
        self._heed()


def _told(err: str, mark: str) -> tuple[int | None, str]:
    """The exit status that a script told, if it did; and what else it said there."""
    before, told, rest = err.rpartition(f"\n{mark} ")
    code, _, behind = rest.partition("\n")
    return (int(code), before + behind) if told and code.isdigit() else (None, err)


def _go_on() -> None:
    """Nothing stops what is put back."""


def hashing_s(size_bytes: int) -> float:
    """How long reading so many bytes on a phone may take, seconds."""
    return _HASH_S + math.ceil(size_bytes / _HASH_BYTES_PER_S)


def _push_refused(phone: str, remote: str, said: str) -> EnvironmentProblem:
    if "No space left" in said:
        return out_of_space(phone, remote.rpartition("/")[0], said)
    return EnvironmentProblem(f"{phone} refuses {remote}: {said}", hint="is --android_dir a folder that adb may write?")
