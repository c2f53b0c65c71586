"""A running program: its output, what it costs, and how it is ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Final

from harness.core.command import SIGKILL, Command, Completed
from harness.shell.children import ChildProcess, has_ended, kill_group, reap
from harness.shell.guardian import Guardian
from harness.shell.pipes import open_reader
from harness.shell.signals import POLL_S, STOPPING, Interrupted, check_stopping, defer_signals, is_stopping, pause

MAX_OUTPUT_BYTES: Final = 64 << 20
"""Limit of each of a program's outputs: a thousand times what runners print, and far below what memory holds. A program
that writes more is killed, because what is not kept may hold numbers."""
_HEARING_S: Final = 2 * POLL_S
"""Ctrl-C reaches a program that has not left our process group yet; the thread that handles signals hears of it within
this time. It is then no crash of the program."""


class RunningProcess:
    """Program that was started and not yet waited for (`harness.core.protocols.InteractiveProcess`).

    Only time in which somebody waits for it counts towards its command's limit: while it is idle because another
    program is measured, it cannot be late.

    Args:
        command: What was started.
        process: The process, with both outputs on pipes.
        on_line: Called with each line of standard error as it arrives.
        guardian: Ends its process group if the harness is killed meanwhile.
    """

    def __init__(
        self,
        command: Command,
        process: ChildProcess,
        on_line: Callable[[str], None] | None,
        guardian: Guardian | None = None,
    ) -> None:
        self._command = command
        self._guardian = guardian
        if guardian is not None:
            guardian.add(process.pid)
        self._process = process
        self._on_line = on_line
        self._started = time.monotonic()
        self._left_s = command.timeout_s
        self._out, self._err = bytearray(), bytearray()
        self._searched = self._reported = 0
        self._flooded = self._is_over = False
        outputs = {process.stdout: self._out, process.stderr: self._err}
        self._buffers = {pipe: buffer for pipe, buffer in outputs.items() if pipe is not None}
        self._reader = open_reader(tuple(self._buffers))

    def write_line(self, line: str) -> None:
        """Write a line to its standard input; ignored when the program has ended."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())

    def wait_for_line(self, line: str) -> bool:
        """Wait for exactly this line on standard output. Other lines are skipped here, and kept in the result.

        Returns:
            False when the program ended without it, or its time limit expired.

        Raises:
            Interrupted: The harness is being stopped.
        """
        with self._clock_running() as deadline:
            while not (found := self._find_line(line)) and self._read(deadline):
                pass
        check_stopping()
        return found

    def finish(self, progress: Callable[[], object] | None = None) -> Completed:
        """Close its standard input, wait until it exits, and kill what is left of its process group.

        A program that wrote more than `MAX_OUTPUT_BYTES` is killed (`flooded`); the end of standard error says so.

        Args:
            progress: Returns how far it is: its time limit begins anew whenever that changes. None leaves the limit.

        Raises:
            Interrupted: The harness is being stopped.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            with self._clock_running() as deadline:
                before = None if progress is None else progress()
                while self._read(deadline):
                    if progress is not None and (now := progress()) != before:
                        before, deadline = now, time.monotonic() + self._command.timeout_s  # noqa: PLW2901 - begins anew
                timed_out = not self._flooded and not _wait(self._process, deadline)
        finally:
            cpu_s, peak_memory_bytes = self._end()
        if -self._process.returncode in STOPPING:
            pause(_HEARING_S)
        if is_stopping():
            raise Interrupted("stopped while the program was running")
        code = -SIGKILL if self._flooded else self._process.returncode
        return Completed(
            command=self._command,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            flooded=self._flooded,
            stdout=self._out.decode(errors="replace"),
            stderr=self._err.decode(errors="replace"),
            wall_s=time.monotonic() - self._started,
            cpu_s=cpu_s,
            peak_memory_bytes=peak_memory_bytes,
        )

    def close(self) -> None:
        """Kill it and its process group, unless it was waited for."""
        if not self._is_over:
            self._end()

    @contextlib.contextmanager
    def _clock_running(self) -> Iterator[float]:
        """Count time towards its limit; yield the moment at which the limit expires."""
        deadline = time.monotonic() + self._left_s
        try:
            yield deadline
        finally:
            self._left_s = deadline - time.monotonic()

    def _find_line(self, line: str) -> bool:
        """Search the lines of standard output that were not searched yet."""
        while (end := self._out.find(b"\n", self._searched)) >= 0:
            candidate, self._searched = self._out[self._searched : end], end + 1
            if candidate.removesuffix(b"\r") == line.encode():  # Windows ends lines with both
                return True
        return False

    def _read(self, deadline: float) -> bool:
        """Wait a moment for output, and read it; return False when there is nothing more to wait for.

        Its exit is checked before its output is read: what it wrote until then is in the pipes and is read without
        waiting, even after its time limit (this machine may have been suspended meanwhile). A grandchild that keeps a
        pipe open does not block.
        """
        if self._reader.is_exhausted or self._flooded or is_stopping():
            return False
        ended = has_ended(self._process)
        if time.monotonic() >= deadline and not ended:
            return False
        chunks = self._reader.read(0.0 if ended else min(POLL_S, max(0.0, deadline - time.monotonic())))
        for pipe, chunk in chunks:
            buffer = self._buffers[pipe]
            buffer.extend(chunk)
            self._flooded = self._flooded or len(buffer) > MAX_OUTPUT_BYTES
        if self._flooded:
            self._err += f"\nit wrote more than {MAX_OUTPUT_BYTES >> 20} MiB to one of its outputs\n".encode()
        if self._on_line is not None:
            self._reported = _report_lines(self._err, self._reported, self._on_line)
        return bool(chunks) or not ended

    def _end(self) -> tuple[float | None, int | None]:
        """Kill it and its process group, reap it, and close the pipes. Returns CPU seconds and peak memory."""
        with defer_signals():
            self._is_over = True
            if self._process.stdin is not None:
                self._process.stdin.close()
            kill_group(self._process)
            self._reader.close()
            if self._guardian is not None:
                self._guardian.remove(self._process.pid)
            return reap(self._process)


def _wait(process: ChildProcess, deadline: float) -> bool:
    """Wait for the child itself; return False at the deadline, or when the harness is being stopped."""
    pause = 0.0005
    while not has_ended(process):
        if is_stopping() or time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _report_lines(buffer: bytearray, reported: int, on_line: Callable[[str], None]) -> int:
    """Call `on_line` with each whole line behind the first `reported` bytes; return how many bytes are reported now."""
    end = buffer.rfind(b"\n") + 1
    if end > reported:
        for line in buffer[reported:end].decode(errors="replace").splitlines():
            on_line(line)
        return end
    return reported
