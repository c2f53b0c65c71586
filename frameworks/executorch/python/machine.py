"""What the operating system knows: memory, and our parent's death."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
"""From `linux/prctl.h`."""


def die_with_parent(parent: int | None = None) -> None:
    """Linux: be killed as soon as the thread that started this process is gone; now, if it is gone already.

    Args:
        parent: Its process number, as it told us itself. Without it a parent that died before this call is not missed.
    """
    if sys.platform != "linux":
        return
    parent = parent or os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        signal.raise_signal(signal.SIGKILL)


def memory_bytes(name: str) -> int | None:
    """`VmRSS` (resident memory now) or `VmHWM` (its peak) of this process; None where the system does not tell.

    Not `getrusage`: its peak begins with that of the process that started us, whatever its size.
    """
    with contextlib.suppress(OSError):
        found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
        return int(found.group(1)) * 1024 if found else None
    return None
