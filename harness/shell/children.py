"""Child processes as the system has them: how one is started, whether it ended, its end with its descendants, its cost.

Linux and macOS have process groups, which a signal reaches as a whole, and processes that have ended stay until they
are waited for. Where something of that is missing, psutil does what can be done: the processes of a tree are ended one
by one, and the cost of a process that has ended is unknown.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from harness.core.command import SIGKILL

LEADS_GROUP: Final = 0 if hasattr(os, "killpg") else None
"""`process_group` of `subprocess.Popen`: a group of its own, where there are groups."""
PYTHON_SUFFIX: Final = ".py"
STARTS_SCRIPTS: Final = hasattr(os, "killpg")
"""Whether a script is started by the interpreter that its first line names. Windows starts programs only."""
CREATION_FLAGS: Final[int] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""Windows: Ctrl-C ends the harness, which ends its programs, and not both at once."""
_BREAK: Final[Mapping[int, int]] = {int(signal.SIGINT): getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)}
"""Windows sends no signal but this one to programs with a group of their own; any other ends them at once."""

_CLOCK_S: Final = 2.0
"""By which the time at which a process was made may lie before that of our clock: some systems count whole seconds."""


class ChildProcess(subprocess.Popen[bytes]):
    """Process that was started here.

    Attributes:
        started: Moment before its start, in seconds since 1970: older processes are none of its descendants.
    """

    started: float = 0.0


def program_words(argv: Sequence[str]) -> Sequence[str]:
    """Return the words that start a program: its own, or Python and them, where the system starts no scripts.

    A batch file would need no interpreter; but `cmd` has rules of its own for quotes and `%` in arguments, and stays as
    a process between, which neither a choice of CPUs nor an end reaches at once.
    """
    is_script = not STARTS_SCRIPTS and argv[0].lower().endswith(PYTHON_SUFFIX)
    return (sys.executable, *argv) if is_script else argv


def has_ended(process: ChildProcess) -> bool:
    """Return whether the child itself exited, without reaping it where its cost is still to be read.

    Raises:
        ChildProcessError: It was reaped by another thread.
    """
    if sys.platform != "win32" and hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    if hasattr(os, "wait4") and process.returncode is None:  # macOS: Python 3.13 is the first that has `waitid` there
        return _is_zombie(process.pid)
    return process.poll() is not None


def kill_group(process: ChildProcess) -> None:
    """Kill a process that was not reaped, with its group, or its descendants where there are no groups.

    It is killed by its own id too: one that moved to another group would be waited for without end.
    """
    if not hasattr(os, "killpg"):
        _kill_descendants(process)
        with contextlib.suppress(OSError):
            process.kill()
        return
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process.pid, SIGKILL)


def signal_group(process: ChildProcess, number: int) -> None:
    """Send a signal to the group of a process that was not reaped; no error if it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(_BREAK.get(number, number))


def reap(process: ChildProcess) -> tuple[float | None, int | None]:
    """Reap a child that was ended, and wait for that.

    Returns:
        CPU seconds, and peak resident memory in bytes (`ru_maxrss` is in KiB on Linux, in bytes on macOS). Linux counts
        the moment before `exec` too, when the child still had the harness's own memory: a peak that is not above the
        harness's is unknown. None where the system does not report them.
    """
    if sys.platform == "win32" or not hasattr(os, "wait4"):
        process.wait()
        return None, None
    import resource  # noqa: PLC0415 - not on Windows, which has no `wait4` either

    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    scale = 1 if sys.platform == "darwin" else 1024
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss * scale if usage.ru_maxrss > ours else None
    return usage.ru_utime + usage.ru_stime, peak


def _is_zombie(pid: int) -> bool:
    import psutil  # noqa: PLC0415 - only systems without `waitid` need it here

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _kill_descendants(process: ChildProcess) -> None:
    """Kill the descendants of a process; on Windows those too whose parent has ended, for they keep its number."""
    import psutil  # noqa: PLC0415 - only systems without process groups need it here

    family = {process.pid}
    with contextlib.suppress(psutil.Error):
        candidates = [each for each in psutil.process_iter(["ppid", "create_time"]) if each.info["create_time"]]
        for each in sorted(candidates, key=lambda each: float(each.info["create_time"])):
            if each.info["ppid"] in family and each.info["create_time"] >= process.started - _CLOCK_S:
                family.add(each.pid)
                with contextlib.suppress(psutil.Error):
                    each.kill()
