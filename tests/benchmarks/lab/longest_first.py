"""What is saved by beginning the longest jobs first: one lab, the same jobs twice.

    python -m tests.benchmarks.lab.longest_first --devices 4 --jobs 24

The first run knows nothing, and takes the jobs in the order of the specification, which has the long ones last, as
specifications grow. The second one knows the results of the first. Devices are stand-ins that sleep, in processes of
their own; both makespans are from the first begin of a program to the last end, beside the bound that no order can
beat: the longest job, or all of them divided by the devices. Networks are left out, so that it needs no root.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.lab.rig import Rig, bound, count, makespan, prepare, wait_for

_PORT = "18786"
_ADDRESS = f"127.0.0.1:{_PORT}"


def measure(rig: Rig, spec: Path) -> dict[str, Any]:
    """Run the jobs once, and return the makespan."""
    rig.diary.write_text("")
    words = (sys.executable, "-m", "harness", str(spec), "--lab", _ADDRESS, "--no-screen-reporter")
    client = rig.start("client", words)
    client.wait()
    return {"exit": client.returncode, **makespan(rig)}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--least", type=float, default=1.0, help="seconds of the shortest job")
    parser.add_argument("--most", type=float, default=30.0, help="seconds of the longest job")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    chance = random.Random(given.seed)
    # many short ones and few long ones, as benchmarks are
    durations = sorted(given.least * (given.most / given.least) ** (chance.random() ** 2) for _ in range(given.jobs))
    with tempfile.TemporaryDirectory(prefix="longest-first-") as folder:
        rig = Rig(Path(folder), hosts=1, devices=given.devices, classes=1)
        spec = prepare(rig, durations)
        harness = (sys.executable, "-m", "harness", "lab")
        try:
            rig.start("scheduler", (*harness, "serve", "--port", _PORT))
            wait_for("the lab is at", rig.folder / "scheduler.log")
            (rig.folder / "tmp" / "h1").mkdir(parents=True)
            join = (*harness, "join", _ADDRESS, "--platforms", "sleepers")
            rig.start("h1", join, variables=rig.environment("h1"))
            wait_for("joined as", rig.folder / "h1.log", given.devices)
            unknown, known = measure(rig, spec), measure(rig, spec)
            counts = count(rig, durations)
        finally:
            for name in list(rig.processes):
                rig.kill(name)
    least_s = bound(rig, durations)
    report = {
        "arguments": vars(given),
        "bound_s": least_s,
        "order of the specification": {**unknown, "of_bound": unknown["makespan_s"] / least_s},
        "longest first": {**known, "of_bound": known["makespan_s"] / least_s},
        "ratio": known["makespan_s"] / unknown["makespan_s"],
        "outcomes": counts["outcomes"],
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
