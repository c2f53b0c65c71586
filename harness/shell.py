"""The one place that starts processes: argument lists, a wall clock, the whole process group ended, output captured."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem, HarnessError

_LOOK_S = 0.2
"""How often a waiting thread looks whether the harness is being stopped."""

_SECRET = frozenset({"HARNESS_REMOTE_TOKEN", "HARNESS_REMOTE_TOKEN_FILE"})

_stopping = threading.Event()
"""Set by a signal; the only state of this module, because a signal concerns the whole process."""


class Interrupted(HarnessError):
    """Ctrl-C or SIGTERM arrived; children were ended."""


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
    if _stopping.is_set():
        raise Interrupted("stopped before the program was started")
    started = time.monotonic()
    deadline = started + command.timeout_s
    process = _start(command, {**inherited(), **(env or {}), **command.env})
    try:
        stdout, stderr = _capture(process, deadline, on_line)
        timed_out = not _wait(process, deadline)
    finally:
        kill_group(process.pid)
        cpu_s, peak_memory_bytes = _reap(process)
    if _stopping.is_set():
        raise Interrupted("stopped while the program was running")
    code = process.returncode
    return Completed(
        command=command,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        timed_out=timed_out,
        stdout=stdout,
        stderr=stderr,
        wall_s=time.monotonic() - started,
        cpu_s=cpu_s,
        peak_memory_bytes=peak_memory_bytes,
    )


def check_stopping() -> None:
    """For long work that starts no process: give up when the harness is being stopped.

    Raises:
        Interrupted: It is.
    """
    if _stopping.is_set():
        raise Interrupted("stopped while it was working")


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
    """Turn SIGINT and SIGTERM into an orderly end: every child is killed, and `KeyboardInterrupt` unwinds the flow."""

    def stop(number: int, _frame: object) -> None:
        _stopping.set()
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stopping.clear()


def _start(command: Command, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=command.cwd,
            process_group=0,
        )
    except FileNotFoundError as error:
        raise EnvironmentProblem(
            f"cannot start {command.argv[0]}: no such program", hint="check the path, or install it"
        ) from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"cannot start {command.argv[0]}: {error}") from error


def _capture(
    process: subprocess.Popen[bytes], deadline: float, on_line: Callable[[str], None] | None
) -> tuple[str, str]:
    """Read both pipes until they close, the child ends or its time is over.

    A grandchild that keeps a pipe open does not hold us.
    """
    out, err = bytearray(), bytearray()
    told = 0
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in ((process.stdout, out), (process.stderr, err)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, buffer)
        while selector.get_map() and not _stopping.is_set() and time.monotonic() < deadline:
            ready = selector.select(min(_LOOK_S, max(0.0, deadline - time.monotonic())))
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    key.data.extend(chunk)
                else:
                    selector.unregister(key.fileobj)
            if on_line is not None:
                told = _tell(err, told, on_line)
            if not ready and _ended(process):
                break
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return out.decode(errors="replace"), err.decode(errors="replace")


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
    import shutil  # noqa: PLC0415 - only `doctor` and builds ask

    found = shutil.which(program, path=str(path) if path else None)
    return Path(found) if found else None
