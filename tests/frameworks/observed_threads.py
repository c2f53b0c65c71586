"""Launches on several threads, on machines whose CPUs others use too."""

from __future__ import annotations

from collections.abc import Callable

from frameworks.observations.observer import parse_lines
from harness.core.command import Completed

_MOST = 5


def launch_on_threads(launch: Callable[[], Completed], threads: int) -> Completed:
    """Launch until as many threads are observed as are expected, at most five times; return the last launch.

    Where the CPUs are busy, one thread may do all the work before another one has begun.
    """
    for _ in range(_MOST):
        completed = launch()
        assert completed.ok, completed.stderr
        observations, _ = parse_lines(completed.stdout)
        observed = [metric.samples for metric in observations if metric.name == "RUN threads_observed"]
        if observed == [(threads,)]:
            break
    return completed
