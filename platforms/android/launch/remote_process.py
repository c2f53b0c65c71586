"""A running program on a phone, until its end has been seen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Final

from harness import shell
from harness.core.command import SIGKILL, Command, Completed
from harness.core.errors import EnvironmentProblem
from platforms.android.launch.script import LaunchContext, LaunchReport, is_complete, parse_report, partial_output
from platforms.android.link.errors import lost_error, unresponsive_error
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import ANSWER_S, KILLED, ShellStream

_REPORT_S: Final = 20.0
"""Time that a phone may need for its report after a program, beside the answer itself."""
_DRAIN_S: Final = 1.0
"""Time limit of the rest of its outputs after the report: both come through different pipes."""
_LAST_SIGNAL: Final = 64
_DOING: Final = "a program ran on it"


class RemoteProcess:
    """A running program on a phone (`InteractiveProcess` of `harness.core.protocols`).

    Args:
        phone: The phone.
        command: The program.
        context: Its surroundings.
        stream: The shell that started it.
        mark: Begins that shell's own lines.
        on_report: Completes the result of a program that the phone has reported on.
    """

    def __init__(
        self,
        phone: Phone,
        command: Command,
        context: LaunchContext,
        stream: ShellStream,
        *,
        mark: str,
        on_report: Callable[[LaunchReport, Completed], Completed],
    ) -> None:
        self._phone = phone
        self._command = command
        self._context = context
        self._stream = stream
        self._mark = mark
        self._on_report = on_report
        self._started = time.monotonic()
        self._remaining_s = command.timeout_s
        self._searched = 0
        self._probe = phone.probe()

    def write_line(self, line: str) -> None:
        """Write a line to its standard input; ignored when the program has ended."""
        self._stream.write(f"{line}\n".encode())

    def wait_for_line(self, line: str) -> bool:
        """Wait for exactly this line of standard output; False when it ended without it, or its time is over."""
        with self._running_clock() as deadline:
            while (
                not (is_found := self._find_line(line))
                and self._is_running()
                and self._probe.read(self._stream, deadline)
            ):
                pass
        return is_found

    def finish(self) -> Completed:
        """Wait for its end and return its result.

        Raises:
            DeviceLost: The phone became unreachable, or does not answer.
            EnvironmentProblem: The page cache of the phone cannot be dropped.
        """
        is_interactive = self._context.interactive
        if is_interactive:
            self._stream.close_stdin()
        with self._running_clock() as deadline:
            # The phone itself ends other programs, and reports it: this side waits longer, in case there is no answer.
            until = deadline if is_interactive else deadline + _REPORT_S + ANSWER_S
            while self._is_running() and self._probe.read(self._stream, until):
                pass
        if self._stream.flooded:
            return self._kill(timed_out=False)
        if self._is_running() and is_interactive:
            return self._kill(timed_out=True)
        if self._is_running():
            raise unresponsive_error(self._phone.name, _DOING)
        self._drain()
        report = parse_report(bytes(self._stream.out), self._mark)
        if report is not None:
            return self._on_report(report, self._reported(report))
        if self._stream.exit_code == KILLED:
            return self._killed_by_phone()
        raise self._incomplete_report()

    def _reported(self, report: LaunchReport) -> Completed:
        by_signal = 128 < report.code <= 128 + _LAST_SIGNAL
        wall_s = time.monotonic() - self._started if report.wall_s is None else report.wall_s
        was_killed = report.code == KILLED and not self._context.interactive
        return self._completed(
            report.out,
            exit_code=None if by_signal else report.code,
            ended_by=report.code - 128 if by_signal else None,
            timed_out=was_killed and wall_s >= self._command.timeout_s,
            wall_s=wall_s,
            cpu_s=report.cpu_s,
        )

    def _kill(self, *, timed_out: bool) -> Completed:
        """End it with the connection. Its output is what has arrived."""
        self._stream.close()
        if self._stream.flooded:
            limit = shell.MAX_OUTPUT_BYTES >> 20
            self._stream.err += f"\nit wrote more than {limit} MiB to one of its outputs\n".encode()
        out = partial_output(bytes(self._stream.out), self._mark)
        return self._completed(out, ended_by=SIGKILL, timed_out=timed_out, flooded=self._stream.flooded)

    def _killed_by_phone(self) -> Completed:
        """Return the result when its shell was killed too, unless the phone is shutting down, as a call shows."""
        self._phone.sh(":")
        reason = f"\n{self._phone.name} ended it, and the shell that started it: is its memory full?\n"
        self._stream.err += reason.encode()
        out = partial_output(bytes(self._stream.out), self._mark)
        return self._completed(out, ended_by=SIGKILL)

    def _completed(
        self,
        out: bytes,
        *,
        wall_s: float | None = None,
        timed_out: bool = False,
        flooded: bool = False,
        exit_code: int | None = None,
        ended_by: int | None = None,
        cpu_s: float | None = None,
    ) -> Completed:
        return Completed(
            command=self._command.replace_argv((*self._context.pin_prefix, *self._command.argv)),
            exit_code=exit_code,
            signal=ended_by,
            timed_out=timed_out,
            flooded=flooded,
            stdout=out.decode(errors="replace"),
            stderr=self._stream.err.decode(errors="replace"),
            wall_s=time.monotonic() - self._started if wall_s is None else wall_s,
            cpu_s=cpu_s,
            cpus=self._context.cpus or None,
        )

    def _incomplete_report(self) -> EnvironmentProblem:
        if self._stream.out.endswith(f"{self._mark} unwiped\n".encode()):
            return EnvironmentProblem(
                f"the page cache of {self._phone.name} cannot be dropped", hint="leave out --wipe-cache"
            )
        reason = self._stream.err.decode(errors="replace").strip().rpartition("\n")[2]
        return lost_error(self._phone.name, _DOING, reason or "its shell ended before the program")

    def _is_running(self) -> bool:
        return self._stream.exit_code is None and not is_complete(self._stream.out, self._mark)

    def _drain(self) -> None:
        """Read what is left, but not for long: a grandchild may keep an output open."""
        until = time.monotonic() + _DRAIN_S
        while self._stream.exit_code is None and self._stream.read(until):
            pass

    def _find_line(self, line: str) -> bool:
        """Search the lines of standard output that were not searched yet."""
        out = self._stream.out
        while (end := out.find(b"\n", self._searched)) >= 0:
            candidate, self._searched = out[self._searched : end], end + 1
            if candidate == line.encode():
                return True
        return False

    @contextlib.contextmanager
    def _running_clock(self) -> Iterator[float]:
        """Let its time run, which stands still while nobody waits for it. Yields its deadline."""
        deadline = time.monotonic() + self._remaining_s
        try:
            yield deadline
        finally:
            self._remaining_s = deadline - time.monotonic()
