"""Lock of a phone against other hosts: the lock of this machine (`platforms.machine_lock`) does not reach them.

The lock is the kernel's, on a file at one fixed place on the phone, and a shell of ours there holds it for as long as
its connection lasts: until the harness, this machine, the adb server or the cable is gone, or the phone restarts.

Over the network the phone does not notice by itself that the other side is gone, so its shell sends a line now and
then: the phone's kernel gives up what nobody acknowledges after a quarter of an hour (Linux, `tcp_retries2`), and the
lock ends with it. This machine does not wait for that: it ends shells that it left behind at once, because whoever
holds the machine's own lock (`platforms.machine_lock`) is the only one here who can lock the phone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.link.errors import lost_error, map_errors, unresponsive_error
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import ANSWER_S, ShellStream
from platforms.android.scripts import assign_variables, read_script

LOCK: Final = "/data/local/tmp/edge-harness.lock"
"""The same for everybody, whatever their `--android-dir`, and beside our folder, which a person may remove."""

_SCRIPT: Final = read_script("device_lock.sh")
_DOING: Final = "it was reserved for this host"
_CHECK_S: Final = 0.001
_POLL_S: Final = 1.0
_LEAST_WAIT_S: Final = 1.0
"""At least so long is waited: a shell that was refused a moment ago may get the lock, and ends then."""


class DeviceLock:
    """Lock of one phone, as seen by one host. Used by one thread.

    Args:
        phone: The phone.
        owner: Identifies all processes that can lock the phone only one after the other (`owner_of`).
        timeout_s: How long to wait for another host.
        progress: Shows who is waited for.
    """

    def __init__(self, phone: Phone, owner: str, timeout_s: float, progress: Progress) -> None:
        self._phone = phone
        self._owner = owner
        self._timeout_s = timeout_s
        self._progress = progress
        self._connection = ExitStack()
        self._stream: ShellStream | None = None
        self._unsupported = False

    def acquire(self) -> None:
        """Lock the phone, again after it was unreachable; does nothing while it is locked.

        Raises:
            DeviceLost: It became unreachable, or does not answer.
            EnvironmentProblem: Another host has it for too long, or it does not let the lock file be created.
            Interrupted: The harness is being stopped.
        """
        self._acquire_within(self._timeout_s)

    def check(self) -> None:
        """Check that the phone is still locked, without a round trip.

        Raises:
            DeviceLost: The connection that holds the lock has ended, as it does when the phone is unreachable for a
                moment, or the lock could not be acquired again since: another host may have it now.
        """
        if self._unsupported:
            return
        if self._stream is None:
            raise lost_error(self._phone.name, _DOING, "another host may have reserved it since")
        with map_errors(self._phone.name, _DOING):
            deadline = time.monotonic() + _CHECK_S
            while self._stream.read(deadline):
                pass
        if self._stream.exit_code is not None:
            raise lost_error(self._phone.name, _DOING, "the shell that held its lock has ended")

    def ensure(self) -> None:
        """Check that the phone is locked, and lock it again if nobody else has it.

        Raises:
            DeviceLost: It became unreachable, or does not answer.
            EnvironmentProblem: Another host has it now.
        """
        self._acquire_within(0.0)

    def release(self) -> None:
        """Unlock the phone."""
        self._stream = None
        self._connection.close()

    def _acquire_within(self, timeout_s: float) -> None:
        with contextlib.suppress(DeviceLost):
            self.check()
            return
        self.release()
        mark = secrets.token_hex(12)
        with ExitStack() as connection:
            stream = connection.enter_context(self._phone.shell(self._script(mark), _DOING))
            answer = self._read_answer(stream, mark, 0, ANSWER_S)
            if answer is None:
                raise unresponsive_error(self._phone.name, _DOING)
            word, _, holder = answer.partition(" ")
            if word == "waiting":
                word = self._wait_for(holder.strip() or "another host", stream, mark, timeout_s)
            if word == "refused":
                raise EnvironmentProblem(
                    f"{self._phone.name} does not let the lock file {LOCK} be created, which keeps other hosts away",
                    hint="make space on it; `adb shell ls -ld /data/local/tmp` must show a folder of the user `shell`",
                )
            self._unsupported = word == "unsupported"  # no `flock` for files there: only this machine is kept out
            if word == "locked":
                stream.write(b"\n")
                self._stream, self._connection = stream, connection.pop_all()

    def _wait_for(self, holder: str, stream: ShellStream, mark: str, timeout_s: float) -> str:
        started = time.monotonic()
        with self._progress.task(f"waiting: {holder} is measuring on {self._phone.name}", timeout_s) as task:
            limit_s = max(timeout_s, _LEAST_WAIT_S)
            while (waited_s := time.monotonic() - started) < limit_s:
                task.update(completed=waited_s)
                answer = self._read_answer(stream, mark, 1, min(_POLL_S, limit_s - waited_s))
                if answer is not None:
                    return answer
        after = f" after {timeout_s:g} s" if timeout_s else ""
        raise EnvironmentProblem(
            f"{holder} is measuring on {self._phone.name}{after}",
            hint="two hosts that measure on one phone disturb each other: wait, or give more time (--lock-timeout)",
        )

    def _read_answer(self, stream: ShellStream, mark: str, number: int, wait_s: float) -> str | None:
        """Return one of the shell's answers by its number; None when it does not come in time."""
        deadline = time.monotonic() + wait_s
        while True:
            complete = stream.out.decode(errors="replace").rpartition("\n")[0]
            answers = [line.removeprefix(f"{mark} ") for line in complete.splitlines() if line.startswith(f"{mark} ")]
            if number < len(answers):
                return answers[number]
            if stream.exit_code is not None:
                reason = stream.err.decode(errors="replace").strip().rpartition("\n")[2]
                raise lost_error(self._phone.name, _DOING, reason or "the shell that was to hold its lock ended")
            if not stream.read(deadline):
                return None

    def _script(self, mark: str) -> str:
        host = f"{platform.node() or 'a host without a name'} (process {os.getpid()})"
        return assign_variables({"mark": mark, "lock": LOCK, "owner": self._owner, "host": host}) + _SCRIPT


def owner_of(machine_lock: Path) -> str:
    """Identify everybody who must hold a lock of this machine before they can lock a phone.

    A file's number alone would be that of another file on another machine, so the kernel's boot is part of it; where
    there is none to read, the machine's name.

    Args:
        machine_lock: The lock file, which exists.

    Raises:
        EnvironmentProblem: It does not.
    """
    try:
        status = machine_lock.stat()
    except OSError as error:
        raise EnvironmentProblem(f"cannot look at the lock file {machine_lock}: {error.strerror}") from error
    try:
        machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        machine = platform.node()
    return hashlib.sha256(f"{machine} {status.st_dev} {status.st_ino}".encode()).hexdigest()[:16]
