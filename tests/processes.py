"""What tests need to know about other processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process still runs; one that ended and was not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], within_s: float = 120.0) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def written(path: Path) -> bool:
    """Whether a file is there with something in it."""
    return path.exists() and path.read_text().strip() != ""
