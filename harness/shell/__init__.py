"""The one place that starts processes: argument lists, a wall clock, the whole process group ended, output captured.

starting    programs, once to their end or to talk with
running     one of them, until its end has been seen
stopping    signals, and waiting that ends with them
"""

from __future__ import annotations

from harness.shell.process import MOST_BYTES, Running
from harness.shell.signals import Interrupted, check_stopping, interruptible, is_stopping, patiently, pause
from harness.shell.starting import dying_with_us, inherited, located, output, run, start, which

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
