"""A running program: its output, what it costs, and how it is ended."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Final

from harness.core.command import Command, Completed
from harness.shell.guardian import Guardian
from harness.shell.signals import POLL_S, Interrupted, check_stopping, defer_signals, is_stopping

MAX_OUTPUT_BYTES: Final = 64 << 20
"""Limit of each of a program's outputs: a thousand times what runners print, and far below what memory holds. A program
that writes more is killed, because what is not kept may hold numbers."""


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
        process: subprocess.Popen[bytes],
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
        self._flooded = False
        self._selector = selectors.DefaultSelector()
        for pipe, buffer in ((process.stdout, self._out), (process.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, buffer)

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
        if is_stopping():
            raise Interrupted("stopped while the program was running")
        code = -signal.SIGKILL if self._flooded else self._process.returncode
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
        if self._process.returncode is None:
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
            if candidate == line.encode():
                return True
        return False

    def _read(self, deadline: float) -> bool:
        """Wait a moment for output, and read it; return False when there is nothing more to wait for.

        Its exit is checked before its output is read: what it wrote until then is in the pipes and is read without
        waiting, even after its time limit (this machine may have been suspended meanwhile). A grandchild that keeps a
        pipe open does not block.
        """
        if not self._selector.get_map() or self._flooded or is_stopping():
            return False
        ended = _ended(self._process)
        if time.monotonic() >= deadline and not ended:
            return False
        ready = self._selector.select(0.0 if ended else min(POLL_S, max(0.0, deadline - time.monotonic())))
        for key, _ in ready:
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                self._selector.unregister(key.fileobj)
            key.data.extend(chunk)
            self._flooded = self._flooded or len(key.data) > MAX_OUTPUT_BYTES
        if self._flooded:
            self._err += f"\nit wrote more than {MAX_OUTPUT_BYTES >> 20} MiB to one of its outputs\n".encode()
        if self._on_line is not None:
            self._reported = _report_lines(self._err, self._reported, self._on_line)
        return bool(ready) or not ended

    def _end(self) -> tuple[float, int | None]:
        """Kill it and its process group, reap it, and close the pipes. Returns CPU seconds and peak memory."""
        with defer_signals():
            self._selector.close()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            kill_group(self._process)
            if self._guardian is not None:
                self._guardian.remove(self._process.pid)
            return _reap(self._process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was not reaped, with its group.

    It is killed by its own id too: one that moved to another group would be waited for without end.
    """
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process.pid, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for the child itself; return False at the deadline, or when the harness is being stopped."""
    pause = 0.0005
    while not _ended(process):
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


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the child itself exited, without reaping it (its resource usage is still needed)."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _reap(process: subprocess.Popen[bytes]) -> tuple[float, int | None]:
    """Reap the child.

    Returns:
        CPU seconds, and peak resident memory in bytes (`ru_maxrss` is in KiB on Linux, in bytes on macOS). Linux counts
        the moment before `exec` too, when the child still had the harness's own memory: a peak that is not above the
        harness's is unknown.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    scale = 1 if os.uname().sysname == "Darwin" else 1024
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss * scale if usage.ru_maxrss > ours else None
    return usage.ru_utime + usage.ru_stime, peak
