"""Records launches of a real runner, for decisions to be tried on.

    python -m tests.benchmarks.decisions.record_traces --model mv2-xnnpack_q8.pte --out FOLDER --seconds 100 --slower 0

Pairs of launches of one binary, back to back, the treatment slowed by a share of its own execution time (0 records
A/A), in an order that a seeded coin decides. What is kept of a launch: whose it was, its five statistics in ns, and its
seconds. `--bursts` adds a bursty neighbour on the same CPU.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from frameworks.observations.observer import parse_lines
from harness.analysis.compare.statistics import launch_statistics
from harness.core.metric import LATENCY
from tests.analysis.compare.recorded_launches import RecordedLaunch, Trace
from tests.benchmarks.decisions.neighbours import bursts
from tests.benchmarks.decisions.slowed_runner import VARIABLE, compile_slowed_runner

WARMUP, ITERATIONS = 10, 20


def launch(runner: Path, model: Path, cpu: int, slower_percent: float, *, treatment: bool) -> RecordedLaunch:
    """Start the pinned runner once."""
    begin = time.monotonic()
    completed = subprocess.run(
        (
            *("taskset", "-c", str(cpu), str(runner), "--model", str(model), "--threads", "1"),
            *("--warmup", str(WARMUP), "--iter", str(ITERATIONS)),
        ),
        env={**os.environ, VARIABLE: str(slower_percent if treatment else 0.0)},
        check=True,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - begin
    observations, _ = parse_lines(completed.stdout)
    latency = next(observation for observation in observations if observation.name == LATENCY)
    assert latency.unit == "ns"
    figures = tuple(round(figure) for figure in launch_statistics(latency.samples))
    return RecordedLaunch(treatment=treatment, statistics_ns=figures, seconds=round(seconds, 4))


def record(runner: Path, model: Path, *, seconds: float, slower_percent: float, seed: int, beside: str) -> Trace:
    """Record pairs until the time is over."""
    chance, cpu = random.Random(seed), max(os.sched_getaffinity(0))
    launches: list[RecordedLaunch] = []
    for treatment in (False, True):  # one launch of each that does not count
        launch(runner, model, cpu, slower_percent, treatment=treatment)
    before, end = os.getloadavg()[0], time.monotonic() + seconds
    while time.monotonic() < end:
        first = chance.random() < 0.5
        launches += [launch(runner, model, cpu, slower_percent, treatment=side) for side in (first, not first)]
    return Trace(
        made_by="tests.benchmarks.decisions.record_traces",
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, virtual, pinned to CPU {cpu}",
        load_before_and_after=(round(before, 2), round(os.getloadavg()[0], 2)),
        beside=beside,
        model=model.stem,
        warmup=WARMUP,
        iterations=ITERATIONS,
        seed=seed,
        slower_percent=slower_percent,
        launches=tuple(launches),
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=100.0, help="of each trace")
    parser.add_argument("--slower", type=float, nargs="+", default=[0.0], help="percent, one trace each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beside", default="", help="what else the machine does")
    parser.add_argument("--bursts", action="store_true", help="disturb it by a program that works every now and then")
    given = parser.parse_args(arguments)
    neighbours = [max(os.sched_getaffinity(0))] if given.bursts else []
    with tempfile.TemporaryDirectory() as folder, bursts(neighbours):
        runner = compile_slowed_runner(Path(folder))
        for percent in given.slower:
            trace = record(
                runner,
                given.model,
                seconds=given.seconds,
                slower_percent=percent,
                seed=given.seed,
                beside=given.beside,
            )
            place = given.out / f"{trace.model}-slower-{percent:g}.json"
            place.write_text(trace.model_dump_json() + "\n")
            print(f"{place}: {len(trace.launches)} launches")


if __name__ == "__main__":
    main(sys.argv[1:])
