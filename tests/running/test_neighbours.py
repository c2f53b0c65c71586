"""Other processes of this machine."""

from __future__ import annotations

import os
import subprocess
import sys

from harness.running.neighbours import NeighbourWatch


def test_our_own_processes_are_no_neighbours() -> None:
    watch = NeighbourWatch()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        sum(number * number for number in range(300_000))
        neighbours = watch.read()
        child.kill()
    pids = {neighbour.pid for neighbour in neighbours.processes}
    assert not pids & {os.getpid(), os.getppid(), child.pid}


def test_shares_are_those_of_a_machine() -> None:
    neighbours = NeighbourWatch().read()
    assert all(0 <= neighbour.share <= (os.cpu_count() or 1) * 1.01 for neighbour in neighbours.processes)
    assert neighbours.steal is None or 0 <= neighbours.steal <= 1
