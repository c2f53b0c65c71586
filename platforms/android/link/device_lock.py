"""Holding a phone against other hosts: the lock of this machine (`platforms.machine_lock`) does not reach them.

The lock is the kernel's, on a file at one fixed place on the phone, and a shell of ours there holds it for as long as
its connection lasts: until the harness, this machine, the adb server or the cable is gone, or the phone restarts.

Over the network the phone does not notice by itself that the other side is gone, so its shell sends a little now and
then: the phone's kernel gives up what nobody acknowledges after a quarter of an hour (Linux, `tcp_retries2`), and the
hold ends with it. This machine does not wait for that: what it left behind itself it ends at once, because whoever
holds the machine's own lock (`platforms.machine_lock`) is the only one here who can hold the phone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import shlex
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.link.connection import ANSWER_S
from platforms.android.link.errors import hung, lost, told
from platforms.android.link.phone import Phone
from platforms.android.link.stream import ShellStream

LOCK: Final = "/data/local/tmp/edge-harness.lock"
"""The same for everybody, whatever their `--android_dir`, and beside our folder, which a person may remove."""

_SCRIPT: Final = r"""
say() { echo "$mark $*"; }
left() { # whether the holder is one that this machine left behind
  read -r pid whose who <"$lock"
  [ "$whose" = "$owner" ] && [ "/proc/$pid/fd/9" -ef "$lock" ]
}
[ -e "$lock" ] || { true >>"$lock"; chmod 666 "$lock"; } 2>/dev/null
[ -r "$lock" ] || { say refused; exit 0; }
command -v flock >/dev/null || { say none; exit 0; }
exec 9<"$lock"
if flock -n 8 8<&9; then :
elif left && kill -9 "$pid" && { timeout 5 flock 8 8<&9; flock -n 8 8<&9; }; then :
else
  say waits "$who"
  flock 8 8<&9 || { say none; exit 0; }
fi 2>/dev/null
{ echo "$$ $owner $us" >"$lock"; } 2>/dev/null
say holds
read -t 30 -r line || exit 0
while :; do
  read -t 15 -r line
  case $? in 0 | 142) echo ;; *) exit 0 ;; esac
done
"""
"""`9` is only ours, because mksh closes it in what it starts, so `flock` is given a copy: the lock belongs to both.
After `timeout` it is asked once more: the exit status of toybox's does not always say what became of what it ran.

Who is granted the lock says that they are still there. In mksh 142 means that nothing was read in time.
"""

_DOING: Final = "it was held against other hosts"
_LOOK_S: Final = 0.001
_WAIT_S: Final = 1.0
_MOMENT_S: Final = 1.0
"""At least so long is waited: a shell that was refused a moment ago may be granted the lock, and ends then."""


class Hold:
    """A phone that we hold, or wish to. Used by one thread.

    Args:
        phone: The phone.
        owner: Who we are, for the phone: all that can only hold it one after the other (`owner_of`).
        timeout_s: How long to wait for another host.
        progress: Told that it waits.
    """

    def __init__(self, phone: Phone, owner: str, timeout_s: float, progress: Progress) -> None:
        self._phone = phone
        self._owner = owner
        self._timeout_s = timeout_s
        self._progress = progress
        self._connection = ExitStack()
        self._stream: ShellStream | None = None
        self._lockless = False

    def take(self) -> None:
        """Hold the phone, again after it was away; what is still held stays so.

        Raises:
            DeviceLost: It went away, or does not answer.
            EnvironmentProblem: Another host holds it for longer than we wait, or it does not let us lay down a lock.
            Interrupted: The harness is being stopped.
        """
        self._hold(self._timeout_s)

    def check(self) -> None:
        """See that it is still held, without asking the phone.

        Raises:
            DeviceLost: The connection that holds it has ended, as it does when the phone is away for a moment, or it
                could not be held again since: another host may have it now.
        """
        if self._lockless:
            return
        if self._stream is None:
            raise lost(self._phone.name, _DOING, "another host may hold it now")
        with told(self._phone.name, _DOING):
            deadline = time.monotonic() + _LOOK_S
            while self._stream.read(deadline):
                pass
        if self._stream.exit_code is not None:
            raise lost(self._phone.name, _DOING, "the shell that held it was ended")

    def ensure(self) -> None:
        """See that it is held, and hold it again if it is not and nobody else holds it.

        Raises:
            DeviceLost: It went away, or does not answer.
            EnvironmentProblem: Another host has it now.
        """
        self._hold(0.0)

    def release(self) -> None:
        """Let others have it."""
        self._stream = None
        self._connection.close()

    def _hold(self, timeout_s: float) -> None:
        with contextlib.suppress(DeviceLost):
            self.check()
            return
        self.release()
        self._take(timeout_s)

    def _take(self, timeout_s: float) -> None:
        mark = secrets.token_hex(12)
        with ExitStack() as connection:
            stream = connection.enter_context(self._phone.shell(self._line(mark), _DOING))
            answer = self._answer(stream, mark, 0, ANSWER_S)
            if answer is None:
                raise hung(self._phone.name, _DOING)
            word, _, who = answer.partition(" ")
            if word == "waits":
                word = self._outwait(stream, mark, who.strip() or "another host", timeout_s)
            if word == "refused":
                raise EnvironmentProblem(
                    f"{self._phone.name} does not let us lay down {LOCK}, by which hosts keep out of each other's way",
                    hint="make space on it; `adb shell ls -ld /data/local/tmp` must show a folder of the user `shell`",
                )
            self._lockless = word == "none"  # no `flock` for files there: only this machine is kept out
            if word == "holds":
                stream.write(b"\n")
                self._stream, self._connection = stream, connection.pop_all()

    def _outwait(self, stream: ShellStream, mark: str, who: str, timeout_s: float) -> str:
        started = time.monotonic()
        with self._progress.task(f"{who} measures on {self._phone.name}: waiting", timeout_s) as task:
            patience_s = max(timeout_s, _MOMENT_S)
            while (waited_s := time.monotonic() - started) < patience_s:
                task.update(completed=waited_s)
                answer = self._answer(stream, mark, 1, min(_WAIT_S, patience_s - waited_s))
                if answer is not None:
                    return answer
        after = f" after {timeout_s:g} s" if timeout_s else ""
        raise EnvironmentProblem(
            f"{who} is measuring on {self._phone.name}{after}",
            hint="two hosts that measure on one phone disturb each other: wait, or give more time (--lock_timeout)",
        )

    def _answer(self, stream: ShellStream, mark: str, number: int, wait_s: float) -> str | None:
        """One of its answers, by its number; None when it does not come in time."""
        deadline = time.monotonic() + wait_s
        while True:
            whole = stream.out.decode(errors="replace").rpartition("\n")[0]
            said = [line.removeprefix(f"{mark} ") for line in whole.splitlines() if line.startswith(f"{mark} ")]
            if number < len(said):
                return said[number]
            if stream.exit_code is not None:
                reason = stream.err.decode(errors="replace").strip().rpartition("\n")[2]
                raise lost(self._phone.name, _DOING, reason or "the shell that was to hold it ended")
            if not stream.read(deadline):
                return None

    def _line(self, mark: str) -> str:
        values = {
            "mark": mark,
            "lock": LOCK,
            "owner": self._owner,
            "us": f"{platform.node() or 'a host without a name'} (process {os.getpid()})",
        }
        return "\n".join((*(f"{name}={shlex.quote(value)}" for name, value in values.items()), _SCRIPT))


def owner_of(machine_lock: Path) -> str:
    """Who holds a phone by right of a lock of this machine: the same for everybody who must hold that lock first.

    A file's number alone would be that of another file on another machine, so the kernel's boot is part of it; where
    there is none to read, the machine's name.

    Args:
        machine_lock: The lock file, which is there.

    Raises:
        EnvironmentProblem: It is not.
    """
    try:
        found = machine_lock.stat()
    except OSError as error:
        raise EnvironmentProblem(f"cannot look at the lock file {machine_lock}: {error.strerror}") from error
    try:
        machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        machine = platform.node()
    return hashlib.sha256(f"{machine} {found.st_dev} {found.st_ino}".encode()).hexdigest()[:16]
