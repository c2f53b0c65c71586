"""The one place that starts processes: argument lists, a wall clock, the whole process group ended, output captured."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem, HarnessError

MOST_BYTES: Final = 64 << 20
"""What a program may write to one of its outputs: a thousand times what runners say, and far below what memory holds.
One that writes more is ended, because numbers may be in what is not kept."""

_LOOK_S = 0.2
"""How often a waiting thread looks whether the harness is being stopped."""
_TRY_S = 0.1
"""How often it looks whether a lock is free."""

_SECRET = frozenset({"HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE", "HARNESS_HOOK_SECRET"})

_stopping = threading.Event()
"""Set by a signal; the only state of this module, because a signal concerns the whole process."""


class Interrupted(HarnessError):
    """Ctrl-C, SIGTERM or SIGHUP arrived; children were ended."""


def run(
    command: Command, *, env: Mapping[str, str] | None = None, on_line: Callable[[str], None] | None = None
) -> Completed:
    """Run one program to its end and capture what it writes.

    The environment is the harness's own, then `env`, then the command's; nothing is left behind in the harness.
    The program leads a process group of its own, which is killed whole on expiry and on interruption.

    Args:
        command: What to start.
        env: Variables beside the command's.
        on_line: Called with each line of standard error as it arrives.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, env or {}, subprocess.DEVNULL, on_line) as running:
        return running.finish()


@contextlib.contextmanager
def start(command: Command) -> Iterator[Running]:
    """Start a program to talk with. It is ended with the context, whatever happened; everything else is as in `run`.

    Args:
        command: What to start.

    Raises:
        EnvironmentProblem: The program cannot be started at all.
        Interrupted: The harness is being stopped.
    """
    with _running(command, {}, subprocess.PIPE, None) as running:
        yield running


class Running:
    """A program that was started, until its end has been seen (`harness.core.protocols.LiveProcess`).

    The limit of its command counts only the time in which somebody waits for it: while it is idle because another
    program is measured, it cannot be late.

    Args:
        command: What was started.
        process: The process, with both outputs on pipes.
        on_line: Called with each line of standard error as it arrives.
    """

    def __init__(
        self, command: Command, process: subprocess.Popen[bytes], on_line: Callable[[str], None] | None
    ) -> None:
        self._command = command
        self._process = process
        self._on_line = on_line
        self._started = time.monotonic()
        self._left_s = command.timeout_s
        self._out, self._err = bytearray(), bytearray()
        self._heard = self._told = 0
        self._flooded = False
        self._selector = selectors.DefaultSelector()
        for pipe, buffer in ((process.stdout, self._out), (process.stderr, self._err)):
            if pipe is not None:
                self._selector.register(pipe, selectors.EVENT_READ, buffer)

    def tell(self, line: str) -> None:
        """Write a line to its standard input; one that is gone does not hear it."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())

    def hear(self, line: str) -> bool:
        """Wait for this line of standard output; other lines are passed over, and kept.

        Returns:
            False when the program ended without it, or its time is over.

        Raises:
            Interrupted: The harness is being stopped.
        """
        with self._waiting() as deadline:
            while not (heard := self._find(line)) and self._read(deadline):
                pass
        check_stopping()
        return heard

    def finish(self) -> Completed:
        """Close its standard input, and wait for its end; its whole group is ended then.

        A program that wrote more than `MOST_BYTES` counts as killed; standard error says so last.

        Raises:
            Interrupted: The harness is being stopped.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            with self._waiting() as deadline:
                while self._read(deadline):
                    pass
                timed_out = not self._flooded and not _wait(self._process, deadline)
        finally:
            cpu_s, peak_memory_bytes = self._end()
        if _stopping.is_set():
            raise Interrupted("stopped while the program was running")
        code = -signal.SIGKILL if self._flooded else self._process.returncode
        return Completed(
            command=self._command,
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            stdout=self._out.decode(errors="replace"),
            stderr=self._err.decode(errors="replace"),
            wall_s=time.monotonic() - self._started,
            cpu_s=cpu_s,
            peak_memory_bytes=peak_memory_bytes,
        )

    def close(self) -> None:
        """End it now, if its end has not been seen."""
        if self._process.returncode is None:
            self._end()

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[float]:
        """Let its clock run. Gives the moment when its time is over."""
        deadline = time.monotonic() + self._left_s
        try:
            yield deadline
        finally:
            self._left_s = deadline - time.monotonic()

    def _find(self, line: str) -> bool:
        """Look through the lines of standard output that were not looked at yet."""
        while (end := self._out.find(b"\n", self._heard)) >= 0:
            said, self._heard = self._out[self._heard : end], end + 1
            if said == line.encode():
                return True
        return False

    def _read(self, deadline: float) -> bool:
        """Wait for output, for a moment; False when there is nothing more to wait for.

        Whether it ended is asked before its output is looked at: what it wrote until then is in the pipes, and is read
        without waiting. A grandchild that keeps a pipe open does not hold us.
        """
        if not self._selector.get_map() or self._flooded or _stopping.is_set() or time.monotonic() >= deadline:
            return False
        ended = _ended(self._process)
        ready = self._selector.select(0.0 if ended else min(_LOOK_S, max(0.0, deadline - time.monotonic())))
        for key, _ in ready:
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                self._selector.unregister(key.fileobj)
            key.data.extend(chunk)
            self._flooded = self._flooded or len(key.data) > MOST_BYTES
        if self._flooded:
            self._err += f"\nended because it wrote more than {MOST_BYTES >> 20} MiB to one of its outputs\n".encode()
        if self._on_line is not None:
            self._told = _tell(self._err, self._told, self._on_line)
        return bool(ready) or not ended

    def _end(self) -> tuple[float, int | None]:
        """Kill it and what is left of its group, collect it, and close the pipes. Returns CPU seconds and peak memory.

        Itself too: a program that moved to another group would be waited for without end.
        """
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        kill_group(self._process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._process.pid, signal.SIGKILL)
        return _reap(self._process)


def check_stopping() -> None:
    """For long work that starts no process: give up when the harness is being stopped.

    Raises:
        Interrupted: It is.
    """
    if _stopping.is_set():
        raise Interrupted("stopped while it was working")


def pause(seconds: float) -> None:
    """Let time pass, unless the harness is being stopped. The one way to wait for nothing but time.

    It looks again and again and does not wait on an event: the signal handler, which may run in the midst of that very
    wait, could then not set it.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + seconds
    check_stopping()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_S))
        check_stopping()


def patiently(attempt: Callable[[], bool], timeout_s: float = math.inf) -> bool:
    """Try until it succeeds: a lock that another process may hold.

    Args:
        attempt: Tries once, without waiting.
        timeout_s: For how long.

    Returns:
        False when the time is over.

    Raises:
        Interrupted: The harness is being stopped.
    """
    end = time.monotonic() + timeout_s
    while not attempt():
        if time.monotonic() >= end:
            return False
        pause(_TRY_S)
    return True


def dying_with_us(command: Command) -> Command:
    """The same start, which Linux ends when the harness is killed: what a killed run left disturbs no later one.

    Raises:
        EnvironmentProblem: There is no such program; behind the prefix it would look like a failure of the prefix.
    """
    program = command.argv[0]
    place = program if "/" not in program else str((command.cwd or Path()) / program)
    if shutil.which(place, path=command.env.get("PATH")) is None:
        raise _no_such_program(program)
    return command.replace_argv((*_death_prefix(), *command.argv))


@cache
def _death_prefix() -> tuple[str, ...]:
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _no_such_program(program: str) -> EnvironmentProblem:
    return EnvironmentProblem(f"cannot start {program}: no such program", hint="check the path, or install it")


def inherited() -> dict[str, str]:
    """The harness's environment as programs may see it: without its secrets."""
    return {name: value for name, value in os.environ.items() if name not in _SECRET}


def output(argv: Sequence[str], *, timeout_s: float = 30.0) -> str | None:
    """What a small tool prints, or None when it is missing, fails or hangs. For asking, not for measuring."""
    try:
        completed = run(Command(tuple(argv), timeout_s=timeout_s))
    except EnvironmentProblem:
        return None
    return completed.stdout if completed.ok else None


def kill_group(group: int) -> None:
    """End every process of a group; it may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into an orderly end: children are killed, `KeyboardInterrupt` unwinds the flow.

    SIGHUP stays ignored where it is, that is under `nohup`.
    """

    def stop(number: int, _frame: object) -> None:
        _stopping.set()
        raise KeyboardInterrupt(signal.Signals(number).name)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stopping.clear()


@contextlib.contextmanager
def _running(
    command: Command, env: Mapping[str, str], stdin: int, on_line: Callable[[str], None] | None
) -> Iterator[Running]:
    if _stopping.is_set():
        raise Interrupted("stopped before the program was started")
    running = Running(command, _start(command, {**inherited(), **env, **command.env}, stdin), on_line)
    try:
        yield running
    finally:
        running.close()


def _start(command: Command, environment: Mapping[str, str], stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command.argv,
            bufsize=0,  # what is told arrives at once
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=command.cwd,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise _no_such_program(command.argv[0]) from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"cannot start {command.argv[0]}: {error}") from error


def _wait(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for the child itself; False when its time is over or the harness is being stopped."""
    pause = 0.0005
    while not _ended(process):
        if _stopping.is_set() or time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _tell(buffer: bytearray, told: int, on_line: Callable[[str], None]) -> int:
    end = buffer.rfind(b"\n") + 1
    if end > told:
        for line in buffer[told:end].decode(errors="replace").splitlines():
            on_line(line)
        return end
    return told


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the child itself ended, without collecting it (its resource usage is still wanted)."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _reap(process: subprocess.Popen[bytes]) -> tuple[float, int | None]:
    """Collect the child.

    Returns:
        CPU seconds, and peak resident memory in bytes (Linux counts `ru_maxrss` in KiB, macOS in bytes). Linux counts
        the moment before `exec` too, when the child still had the harness's own memory: a peak that is not above ours
        is not known.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    scale = 1 if os.uname().sysname == "Darwin" else 1024
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss * scale if usage.ru_maxrss > ours else None
    return usage.ru_utime + usage.ru_stime, peak


def which(program: str, path: Path | None = None) -> Path | None:
    """Where a program is, or None."""
    found = shutil.which(program, path=str(path) if path else None)
    return Path(found) if found else None
