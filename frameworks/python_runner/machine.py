"""This process: its memory, its garbage, and its end with the parent process."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import re
import signal
import sys
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG = 1
"""From `linux/prctl.h`."""
_OBJECTS_BETWEEN_COLLECTIONS: Final = 300_000


def collect_seldom() -> None:
    """Let Python look for garbage after many new objects, and not at its end: importing a runtime makes none.

    It would look through everything that was imported again and again, and once more before it ends: together more
    than a fifth of the time that a process takes for importing torch.
    """
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)


def die_with_parent(parent: int | None = None) -> None:
    """Linux: let the kernel kill this process when the thread that started it ends; now, if it has ended already.

    Args:
        parent: Process number of the parent. Without it, a parent that ended before this call is not noticed.
    """
    if sys.platform != "linux" or not hasattr(signal, "SIGKILL"):
        return
    parent = parent or os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        signal.raise_signal(signal.SIGKILL)


def memory_bytes(name: str) -> int | None:
    """Read `VmRSS` (resident memory) or `VmHWM` (its peak) of this process; None where the system does not report it.

    Not `getrusage`: its peak includes that of the process that started this one.
    """
    with contextlib.suppress(OSError):
        match = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
        return int(match[1]) * 1024 if match else None
    return None


def proportional_bytes() -> int | None:
    """Read the proportional memory of this process: pages that several processes map count by share.

    Returns:
        None where the system does not report it.
    """
    with contextlib.suppress(OSError):
        match = re.search(r"^Pss:\s+(\d+) kB$", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
        return int(match[1]) * 1024 if match else None
    return None


def reset_peak() -> bool:
    """Let `VmHWM` begin anew at the memory in use; False where the system does not let it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak alone (proc_pid_clear_refs(5))
        return True
    return False


def is_mapped(library: str) -> bool:
    """Return whether this process has loaded a library of this name; False where the system does not report it."""
    with contextlib.suppress(OSError):
        return f"/{library}" in Path("/proc/self/maps").read_text()
    return False
