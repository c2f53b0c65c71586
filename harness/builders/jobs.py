"""Number of compilers that may run at once on this machine, by its cores and its memory."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path
from typing import Final

import psutil

COMPILER_BYTES: Final = 1 << 30
"""Memory for one compiler: the largest files of ExecuTorch and XNNPACK take 0.5 to 1 GiB at -O3."""

_CGROUP: Final = Path("/sys/fs/cgroup")


def parallel_jobs(cpus: float, memory_bytes: int) -> int:
    """Return how many compilers may run at once: as many as there are CPUs and memory for, and at least one."""
    return max(1, min(math.ceil(cpus), memory_bytes // COMPILER_BYTES))


def jobs_of_this_machine(cgroup: Path = _CGROUP) -> int:
    """Return how many compilers may run at once, within the limits of a container.

    Args:
        cgroup: Folder of the control group (cgroup v2, as a container sees its own).
    """
    return parallel_jobs(_cpus(cgroup), _memory_bytes(cgroup))


def _cpus(cgroup: Path) -> float:
    """CPUs that this process may use: its affinity, and the quota of the container."""
    count = float(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else float(os.cpu_count() or 1)
    with contextlib.suppress(OSError, ValueError):
        quota, period = (cgroup / "cpu.max").read_text(encoding="ascii").split()
        count = min(count, int(quota) / int(period))  # `max` is no number: no limit
    return count


def _memory_bytes(cgroup: Path) -> int:
    """Memory that can be used now, with what the container may still take."""
    available = psutil.virtual_memory().available
    with contextlib.suppress(OSError, ValueError):
        limit = int((cgroup / "memory.max").read_text(encoding="ascii"))
        used = int((cgroup / "memory.current").read_text(encoding="ascii"))
        available = min(available, max(limit - used, 0))
    return available
