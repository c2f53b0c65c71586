"""Programs that disturb a measurement on purpose."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator

BURSTS = """
import os, random, sys, time
if len(sys.argv) > 1:
    os.sched_setaffinity(0, {int(sys.argv[1])})
chance = random.Random(1)
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(chance.expovariate(1 / 0.3))
    end = time.monotonic() + chance.expovariate(1 / 0.15)
    while time.monotonic() < end:
        pass
"""
"""Works for 150 ms and rests for 300 ms on average, exponentially distributed; on the CPU that is named, if any."""


@contextlib.contextmanager
def bursts(cpus: Iterable[int | None]) -> Iterator[None]:
    """Run one such program for each CPU; None allows any CPU."""
    with contextlib.ExitStack() as stack:
        for cpu in cpus:
            where = () if cpu is None else (str(cpu),)
            neighbour = stack.enter_context(subprocess.Popen((sys.executable, "-c", BURSTS, *where)))
            stack.callback(neighbour.kill)
        yield
