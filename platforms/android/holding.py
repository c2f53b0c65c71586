"""Holding a phone against other hosts: the lock of a machine (`platforms.lock`) knows nothing of another machine.

The lock is the kernel's, on a file in our folder on the phone, and a shell of ours there holds it for as long as its
connection lasts. So none is ever stale: it ends with the harness, with this machine, with the cable and with a restart
of the phone, however these end.
"""

from __future__ import annotations

import os
import platform
import secrets
import shlex
import time
from contextlib import ExitStack
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Progress
from platforms.android.faults import hung, lost, told
from platforms.android.phone import Phone
from platforms.android.stream import ShellStream
from platforms.android.wire import ANSWER_S

_SCRIPT: Final = r"""
say() { echo "$mark $*"; }
mkdir -p "$own" 2>/dev/null
[ -e "$lock" ] || { true >>"$lock"; chmod 666 "$lock"; } 2>/dev/null
[ -r "$lock" ] || { say refused; exit 0; }
command -v flock >/dev/null || { say none; exit 0; }
exec 9<"$lock"
if ! flock -n 8 8<&9; then
  read -r who <"$lock"
  say waits "$who"
  flock 8 8<&9 || { say none; exit 0; }
fi
{ echo "$us" >"$lock"; } 2>/dev/null
say holds
while read -r line; do :; done
"""
"""`9` is only ours, because mksh closes it in what it starts, so `flock` is given a copy: the lock belongs to both."""

_DOING: Final = "it was held against other hosts"
_LOOK_S: Final = 0.001
_WAIT_S: Final = 1.0


class Hold:
    """A phone that we hold, or wish to. Used by one thread.

    Args:
        phone: The phone.
        own: Our folder there.
        timeout_s: How long to wait for another host.
        progress: Told that it waits.
    """

    def __init__(self, phone: Phone, own: str, timeout_s: float, progress: Progress) -> None:
        self._phone = phone
        self._own = own
        self._timeout_s = timeout_s
        self._progress = progress
        self._connection = ExitStack()
        self._stream: ShellStream | None = None

    def take(self) -> None:
        """Hold the phone, again after it was away.

        Raises:
            DeviceLost: It went away, or does not answer.
            EnvironmentProblem: Another host holds it for longer than we wait, or it does not let us work in our folder.
            Interrupted: The harness is being stopped.
        """
        self._take(self._timeout_s)

    def check(self) -> None:
        """See that it is still held, without asking the phone.

        Raises:
            DeviceLost: The connection that holds it has ended, as it does when the phone is away for a moment: another
                host may have it now.
        """
        if self._stream is None:
            return
        with told(self._phone.name, _DOING):
            self._stream.read(time.monotonic() + _LOOK_S)
        if self._stream.exit_code is not None:
            raise lost(self._phone.name, _DOING, "the shell that held it was ended")

    def ensure(self) -> None:
        """See that it is held, and hold it again if it is not and nobody else holds it.

        Raises:
            DeviceLost: It went away, or does not answer.
            EnvironmentProblem: Another host has it now.
        """
        try:
            self.check()
        except DeviceLost:
            self._take(0.0)

    def release(self) -> None:
        """Let others have it."""
        self._stream = None
        self._connection.close()

    def _take(self, timeout_s: float) -> None:
        self.release()
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
                    f"{self._phone.name} does not let us work in {self._own}",
                    hint="is --android_dir a folder that adb may write?",
                )
            if word == "holds":  # else it has no `flock` (Android 7), and only this machine is kept out
                self._stream, self._connection = stream, connection.pop_all()

    def _outwait(self, stream: ShellStream, mark: str, who: str, timeout_s: float) -> str:
        started = time.monotonic()
        with self._progress.task(f"{who} measures on {self._phone.name}: waiting", timeout_s) as task:
            while (waited_s := time.monotonic() - started) < timeout_s:
                task.update(completed=waited_s)
                answer = self._answer(stream, mark, 1, min(_WAIT_S, timeout_s - waited_s))
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
            "own": self._own,
            "lock": f"{self._own}/lock",
            "us": f"{platform.node() or 'a host without a name'} (process {os.getpid()})",
        }
        return "\n".join((*(f"{name}={shlex.quote(value)}" for name, value in values.items()), _SCRIPT))
