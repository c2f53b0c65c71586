"""Scenarios from the command line: a phone that throttled, a long run with its curve, and a deadline."""

from __future__ import annotations

import contextlib
import os
import shlex
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.project import Project, generic, one_test

REPLAY = """
import json
def show(type_, metric, unit, values):
    for value in values:
        print("PyTorchObserver " + json.dumps({"type": type_, "metric": metric, "unit": unit, "value": str(value)}))
"""


def _replay(script: str) -> str:
    return shlex.join((sys.executable, "-c", REPLAY + script))


def test_five_observations_of_a_phone_that_throttled_are_marked(project: Project) -> None:
    command = _replay('show("LLM", "decode_rate", "tokens/s", (6.42, 6.21, 3.31, 2.75, 3.38))')
    outcome = project.harness("run", project.write("phone.json", generic(one_test("published", command))))
    (result,) = outcome.read()
    (note,) = (note for note in result["notes"] if note["code"] == "throttled")
    assert not note["trust"]
    assert "became 48 % lower after 2 of 5 samples" in note["message"]
    assert "3.38 tokens/s (throttled)" in outcome.stdout
    assert "1 of them not to be trusted" in outcome.stderr


def test_a_program_that_replays_a_long_run_has_a_curve(project: Project) -> None:
    script = """
latencies = [100.0 + number % 3 + (50 if number >= 400 else 0) for number in range(1000)]
show("NET", "latency", "ms", latencies[:5])
show("SUSTAINED", "latency", "ms", latencies)
show("SUSTAINED", "start_time", "ms", [sum(latencies[:number]) for number in range(1000)])
"""
    outcome = project.harness("run", project.write("long.json", generic(one_test("long", _replay(script)))))
    (result,) = outcome.read()
    assert result["outcome"] == "ok", outcome.stdout
    run = result["long_run"]
    assert (run["metric"], run["count"]) == ("SUSTAINED latency", 1000)
    assert 40 < run["throttled_after_s"] < 41
    medians = {metric["name"]: metric["summary"].get("p50") for metric in result["metrics"]}
    assert medians["NET latency"] == 101
    assert medians["SUSTAINED latency_at_10s"] == 101
    assert medians["SUSTAINED steady_latency"] == 151
    assert medians["SUSTAINED time_to_throttling"] == run["throttled_after_s"]
    assert "Cold, warm and sustained" in outcome.stdout
    assert "throttled" not in {note["code"] for note in result["notes"]}


WORK = """
import json, pathlib, sys, time
def work():
    wall, cpu = time.perf_counter(), time.thread_time()
    while time.thread_time() - cpu < 0.02:
        pass
    return time.perf_counter() - wall, time.thread_time() - cpu
samples, sign = [], pathlib.Path(sys.argv[1])
for number in range(150):
    if number == 60:
        sign.touch()
    samples.append(work())
for wall, cpu in samples:
    for metric, value in (("latency", wall), ("cpu_time", cpu)):
        line = {"type": "NET", "metric": metric, "unit": "s", "value": str(value)}
        print("PyTorchObserver " + json.dumps(line))
"""


@contextlib.contextmanager
def _busy_loops(sign: Path) -> Iterator[None]:
    """Start three loops on each CPU when the sign appears, and end them afterwards."""
    loops: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def watch() -> None:
        while not sign.exists():
            if over.wait(0.01):
                return
        loops.extend(
            subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(3 * (os.cpu_count() or 1))
        )

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.slow
def test_busy_loops_beside_a_real_run_are_not_taken_for_heat(project: Project, tmp_path: Path) -> None:
    sign = tmp_path / "begin"
    command = shlex.join((sys.executable, "-c", WORK, str(sign)))
    with _busy_loops(sign):
        outcome = project.harness("run", project.write("beside.json", generic(one_test("beside", command))))
    (result,) = outcome.read()
    assert result["outcome"] == "ok", outcome.stdout
    notes = {note["code"]: note for note in result["notes"]}
    assert "throttled" not in notes, outcome.stdout
    if "contended" not in notes:  # on a machine that was as busy before the loops began
        waits = _waits(result)
        assert statistics.median(waits[:60]) > 0.5 * statistics.median(waits[60:]) > 0, outcome.stdout
        return
    message = notes["contended"]["message"]
    assert "without a CPU for" in message or "other programs used" in message, "the latter where they were there before"
    assert not notes["contended"]["trust"]


def _waits(result: dict[str, Any]) -> list[float]:
    """Return how long each iteration was without a CPU, in seconds."""
    samples = {metric["metric"]: metric["samples"] for metric in result["metrics"]}
    return [wall - cpu for wall, cpu in zip(samples["latency"], samples["cpu_time"], strict=True)]
