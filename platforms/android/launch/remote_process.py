"""A program that runs on a phone, until its end has been seen."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Final

from harness import shell
from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem
from platforms.android.launch import script
from platforms.android.launch.script import Around, Ending
from platforms.android.link.connection import ANSWER_S
from platforms.android.link.errors import hung, lost
from platforms.android.link.phone import Phone
from platforms.android.link.stream import ShellStream

_AROUND_S: Final = 20.0
"""What a phone may need for its state after a program, beside the answer itself."""
_DRAIN_S: Final = 1.0
"""How long to wait for the last of its outputs when everything was said: both come through different pipes."""
_LAST_SIGNAL: Final = 64
_KILLED: Final = 128 + signal.SIGKILL
_DOING: Final = "a program ran on it"


class Conversation:
    """A program on a phone (`InteractiveProcess` of `harness.core.protocols`).

    Args:
        phone: The phone.
        command: What was started.
        around: What surrounds it.
        stream: The shell that started it.
        mark: What that shell's own lines begin with.
    """

    def __init__(self, phone: Phone, command: Command, around: Around, stream: ShellStream, mark: str) -> None:
        self._phone = phone
        self._command = command
        self._around = around
        self._stream = stream
        self._mark = mark
        self._started = time.monotonic()
        self._left_s = command.timeout_s
        self._heard = 0

    def write_line(self, line: str) -> None:
        """Write a line to its standard input; one that is gone does not hear it."""
        self._stream.write(f"{line}\n".encode())

    def wait_for_line(self, line: str) -> bool:
        """Wait for this line of standard output; False when it ended without it, or its time is over."""
        with self._waiting() as deadline:
            while not (heard := self._find(line)) and self._runs() and self._stream.read(deadline):
                pass
        return heard

    def finish(self) -> tuple[Ending | None, Completed]:
        """Wait for its end.

        Returns:
            What the phone said about it, unless we ended it, or the phone what surrounds it; and what became of it.

        Raises:
            DeviceLost: The phone went away, or does not answer.
            EnvironmentProblem: The phone does not let its page cache be dropped.
        """
        if self._around.talks:
            self._stream.end_input()
        with self._waiting() as deadline:
            # The phone itself ends what does not talk, and tells: we wait longer, in case it does not answer.
            until = deadline if self._around.talks else deadline + _AROUND_S + ANSWER_S
            while self._runs() and self._stream.read(until):
                pass
        if self._stream.flooded:
            return None, self._killed(timed_out=False)
        if self._runs() and self._around.talks:
            return None, self._killed(timed_out=True)
        if self._runs():
            raise hung(self._phone.name, _DOING)
        self._drain()
        ending = script.ending(bytes(self._stream.out), self._mark)
        if ending is None and self._stream.exit_code == _KILLED:
            return None, self._ended_by_phone()
        if ending is None:
            raise self._unsaid()
        return ending, self._completed(ending)

    def _completed(self, ending: Ending) -> Completed:
        by_signal = 128 < ending.code <= 128 + _LAST_SIGNAL
        wall_s = time.monotonic() - self._started if ending.wall_s is None else ending.wall_s
        killed = ending.code == _KILLED and not self._around.talks
        return self._record(
            ending.out,
            exit_code=None if by_signal else ending.code,
            ended_by=ending.code - 128 if by_signal else None,
            timed_out=killed and wall_s >= self._command.timeout_s,
            wall_s=wall_s,
            cpu_s=ending.cpu_s,
        )

    def _killed(self, *, timed_out: bool) -> Completed:
        """We end it, with the connection. Its last words are those that have arrived."""
        self._stream.close()
        if self._stream.flooded:
            most = shell.MAX_OUTPUT_BYTES >> 20
            self._stream.err += f"\nit wrote more than {most} MiB to one of its outputs\n".encode()
        out = script.written(bytes(self._stream.out), self._mark)
        wall_s = time.monotonic() - self._started
        return self._record(
            out, ended_by=signal.SIGKILL, timed_out=timed_out, flooded=self._stream.flooded, wall_s=wall_s
        )

    def _ended_by_phone(self) -> Completed:
        """The shell around it was killed. A phone that goes down does that too, which the next question shows."""
        self._phone.sh(":")
        self._stream.err += (
            f"\n{self._phone.name} ended it, and the shell that started it: is its memory full?\n".encode()
        )
        out = script.written(bytes(self._stream.out), self._mark)
        return self._record(out, ended_by=signal.SIGKILL, timed_out=False, wall_s=time.monotonic() - self._started)

    def _record(
        self,
        out: bytes,
        *,
        wall_s: float,
        timed_out: bool,
        flooded: bool = False,
        exit_code: int | None = None,
        ended_by: int | None = None,
        cpu_s: float | None = None,
    ) -> Completed:
        return Completed(
            command=self._command.replace_argv((*self._around.prefix, *self._command.argv)),
            exit_code=exit_code,
            signal=ended_by,
            timed_out=timed_out,
            flooded=flooded,
            stdout=out.decode(errors="replace"),
            stderr=self._stream.err.decode(errors="replace"),
            wall_s=wall_s,
            cpu_s=cpu_s,
            cpus=self._around.cpus or None,
        )

    def _unsaid(self) -> EnvironmentProblem:
        """The shell around the program ended, and did not say what it should."""
        if self._stream.out.endswith(f"{self._mark} unwiped\n".encode()):
            return EnvironmentProblem(
                f"{self._phone.name} does not let its page cache be dropped", hint="leave --wipe_cache out"
            )
        said = self._stream.err.decode(errors="replace").strip().rpartition("\n")[2]
        return lost(self._phone.name, _DOING, said or "its shell ended before the program")

    def _runs(self) -> bool:
        return self._stream.exit_code is None and not script.has_ended(self._stream.out, self._mark)

    def _drain(self) -> None:
        """A grandchild that keeps an output open does not hold us."""
        until = time.monotonic() + _DRAIN_S
        while self._stream.exit_code is None and self._stream.read(until):
            pass

    def _find(self, line: str) -> bool:
        """Look through the lines of standard output that were not looked at yet."""
        out = self._stream.out
        while (end := out.find(b"\n", self._heard)) >= 0:
            said, self._heard = out[self._heard : end], end + 1
            if said == line.encode():
                return True
        return False

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[float]:
        """Let its clock run, which stands while nobody waits for it. Gives the moment when its time is over."""
        deadline = time.monotonic() + self._left_s
        try:
            yield deadline
        finally:
            self._left_s = deadline - time.monotonic()
