"""The one place that starts processes: argument lists, a wall clock, the whole process group ended, output captured.

starting    programs, once to their end or to talk with
running     one of them, until its end has been seen
stopping    signals, and waiting that ends with them
"""

from __future__ import annotations

from harness.shell.running import MOST_BYTES, Running
from harness.shell.starting import dying_with_us, inherited, located, output, run, start, which
from harness.shell.stopping import Interrupted, check_stopping, interruptible, is_stopping, patiently, pause

__all__ = [
    "MOST_BYTES",
    "Interrupted",
    "Running",
    "check_stopping",
    "dying_with_us",
    "inherited",
    "interruptible",
    "is_stopping",
    "located",
    "output",
    "patiently",
    "pause",
    "run",
    "start",
    "which",
]
