"""Programs that run in the background while something else is done, such as one that follows a log."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Final

from harness.core.command import Command
from harness.shell.children import ChildProcess, has_ended, kill_group, signal_group
from harness.shell.guardian import Guardian, start_guardian
from harness.shell.pipes import open_reader
from harness.shell.signals import POLL_S, Interrupted, defer_signals, is_stopping
from harness.shell.starting import start_process

_KEPT_BYTES: Final = 8 << 20


class BackgroundProcess:
    """Program in the background. A thread reads what it writes, so that it never waits; the end of it is kept.

    Args:
        process: The process, with its standard output on a pipe.
        keep_bytes: Bytes of its output that are kept; older lines are dropped.
        guardian: Ends its process group if the harness is killed meanwhile.
        on_line: Called with each line of its output as it arrives, in the thread that reads; it must not raise.
    """

    def __init__(
        self,
        process: ChildProcess,
        keep_bytes: int,
        guardian: Guardian | None = None,
        on_line: Callable[[str], None] | None = None,
    ) -> None:
        self._process = process
        self._keep_bytes = keep_bytes
        self._on_line = on_line
        self._unreported = bytearray()
        self._guardian = guardian
        if guardian is not None:
            guardian.add(process.pid)
        self._output = bytearray()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, name=f"background-{process.pid}", daemon=True)

    @property
    def pid(self) -> int:
        """Its process id, which is that of its process group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit status, or the negative number of the signal that ended it; None before `close`."""
        return self._process.returncode

    def has_ended(self) -> bool:
        """Return whether it has ended, by itself or by a signal; `close` is still to be called."""
        try:
            return has_ended(self._process)
        except ChildProcessError:  # closed by another thread meanwhile
            return True

    def send_signal(self, number: int) -> None:
        """Send a signal to its process group; no error if it has ended."""
        with self._lock:
            if self._process.returncode is None:
                signal_group(self._process, number)

    def start_reading(self) -> None:
        """Read what it writes from now on."""
        self._thread.start()

    def lines(self) -> tuple[str, ...]:
        """Return the last whole lines of its standard output so far, oldest first."""
        with self._lock:
            end = self._output.rfind(b"\n") + 1
            text = self._output[:end].decode(errors="replace")
        return tuple(text.split("\n")[:-1])

    def close(self) -> None:
        """Kill it and its process group. What it wrote until then can still be read."""
        with defer_signals(), self._lock:
            kill_group(self._process)
            if self._guardian is not None:
                self._guardian.remove(self._process.pid)
            self._process.wait()
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()
        elif self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self) -> None:
        if self._process.stdout is None:
            return
        reader = open_reader((self._process.stdout,))
        while not reader.is_exhausted:
            closing = self._closing.is_set()  # asked first: what was written until then is read without waiting
            chunks = reader.read(0.0 if closing else POLL_S)
            for _, chunk in chunks:
                self._append(chunk)
                self._report(chunk)
            if closing and not chunks:
                break
        reader.close()
        if self._unreported:
            self._report(b"\n")

    def _report(self, chunk: bytes) -> None:
        if self._on_line is None:
            return
        *lines, rest = (bytes(self._unreported) + chunk).split(b"\n")
        if len(rest) > self._keep_bytes:
            lines, rest = [*lines, rest], b""
        self._unreported = bytearray(rest)
        for line in lines:
            self._on_line(line.decode(errors="replace"))

    def _append(self, chunk: bytes) -> None:
        """Append a chunk; when twice as much is there as is kept, drop the older half up to the end of a line."""
        with self._lock:
            self._output += chunk
            if len(self._output) > 2 * self._keep_bytes:
                end = self._output.find(b"\n", len(self._output) - self._keep_bytes)
                del self._output[: end + 1 if end >= 0 else len(self._output) - self._keep_bytes]


@contextlib.contextmanager
def run_in_background(
    command: Command,
    *,
    keep_bytes: int = _KEPT_BYTES,
    keep_errors: bool = False,
    on_line: Callable[[str], None] | None = None,
) -> Iterator[BackgroundProcess]:
    """Run a program while the context is open; it is killed with its process group at the end, whatever it does.

    Its time limit does not count.

    Args:
        command: What to start.
        keep_bytes: Bytes of its output that are kept; older lines are dropped.
        keep_errors: Whether its standard error is kept among its output, instead of dropped.
        on_line: Called with each line of its output as it arrives, in another thread; it must not raise.

    Raises:
        EnvironmentProblem: It cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    if is_stopping():
        raise Interrupted("stopped before the program was started")
    with contextlib.ExitStack() as stack:
        guardian = start_guardian()
        with defer_signals():
            stderr = subprocess.STDOUT if keep_errors else subprocess.DEVNULL
            process = start_process(command, {}, subprocess.DEVNULL, stderr=stderr)
            background = BackgroundProcess(process, keep_bytes, guardian, on_line)
            stack.callback(background.close)
        background.start_reading()
        yield background
