"""The only place that starts processes: argument lists, time limits, process groups, captured output.

pip         wheels of a package index, by pip
starting    starting a program, to run until it exits or to interact with
process     a running program
background  a program whose last output is kept while something else is done
guardian    ending programs with their children when the harness is killed
signals     stopping the harness by a signal, and waiting that ends then
calls       calls that end in an orderly way where signals belong to somebody else
"""

from __future__ import annotations

from harness.shell.background import BackgroundProcess, run_in_background
from harness.shell.children import PYTHON_SUFFIX, STARTS_SCRIPTS
from harness.shell.process import MAX_OUTPUT_BYTES, RunningProcess
from harness.shell.signals import (
    Interrupted,
    check_stopping,
    defer_signals,
    handle_signals,
    is_stopping,
    pause,
    poll_until,
)
from harness.shell.starting import (
    inherited_environment,
    kill_with_harness,
    locate_program,
    read_output,
    run,
    start,
    which,
)

__all__ = [
    "MAX_OUTPUT_BYTES",
    "PYTHON_SUFFIX",
    "STARTS_SCRIPTS",
    "BackgroundProcess",
    "Interrupted",
    "RunningProcess",
    "check_stopping",
    "defer_signals",
    "handle_signals",
    "inherited_environment",
    "is_stopping",
    "kill_with_harness",
    "locate_program",
    "pause",
    "poll_until",
    "read_output",
    "run",
    "run_in_background",
    "start",
    "which",
]
