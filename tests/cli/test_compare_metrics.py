"""`harness compare` by several metrics, and of generations without being asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.project import Outcome, Project, generic, one_test

pytestmark = pytest.mark.slow

GENERATOR = """#!{python} -S
import json, os, random
chance = random.Random(os.urandom(8))
for _ in range(6):
    first = {first} * (1 + chance.gauss(0, 0.002))
    gap = 1e6 * (1 + chance.gauss(0, 0.002))
    times = [round(first + number * gap) for number in range(33)]
    generation = dict(prompt_tokens=16, prefill_ns=times[0], token_times_ns=times, tokens=[7] * 33)
    print("PyTorchObserver", json.dumps(dict(generation=generation)))
"""
"""A program that reports generations as if it had timed them: what is tested here is what is made of them."""


def generator(project: Project, name: str, *, first: float) -> Path:
    path = project.folder / name
    path.write_text(GENERATOR.format(python=sys.executable, first=first) + f"# {name}\n")
    path.chmod(0o755)
    return path


def compare(project: Project, *flags: str, generation: bool = True) -> Outcome:
    fields = {"metric": "generation", "generation": {"prompt_tokens": 16, "new_tokens": 33}} if generation else {}
    test = one_test("a", "{program}", **fields)
    old, new = generator(project, "old", first=20e6), generator(project, "new", first=21e6)
    sides = ("--control-program", str(old), "--treatment-program", str(new))
    return project.harness("compare", project.write("spec.json", generic(test)), *sides, "--pairs", "200", *flags)


def test_generations_are_compared_by_rate_and_first_token(project: Project) -> None:
    done = compare(project)
    assert done.code == 1, done.stderr
    verdicts = {result["comparison"]["metric"]: result["comparison"]["verdict"] for result in done.read()}
    assert verdicts == {"LLM decode_rate": "no change", "LLM time_to_first_token": "regression"}
    assert "LLM time_to_first_token" in done.stdout
    assert "1 regression" in done.stderr


def test_a_metric_that_is_asked_for_is_the_only_one(project: Project) -> None:
    done = compare(project, "--metric", "LLM decode_rate")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert result["comparison"]["metric"] == "LLM decode_rate"


def test_metrics_are_asked_for_one_by_one(project: Project) -> None:
    done = compare(project, "--metric", "LLM prefill_rate", "--metric", "LLM decode_rate", generation=False)
    assert done.code == 1, done.stderr
    verdicts = {result["comparison"]["metric"]: result["comparison"]["verdict"] for result in done.read()}
    assert verdicts == {"LLM prefill_rate": "regression", "LLM decode_rate": "no change"}
    words = done.read()[0]["reproduction"]["command"]
    assert words.count("--metric") == 2
    again = project.harness("compare", "--from", str(done.results))
    assert again.code == 1
    assert "1 regression, 1 no change" in again.stdout


@pytest.mark.parametrize("command", ["bisect", "watch"])
def test_searches_and_watchers_follow_one_metric(project: Project, command: str) -> None:
    ends = ("--good", "a", "--bad", "b") if command == "bisect" else ()
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    metrics = ("--metric", "NET latency", "--metric", "NET load_time")
    done = project.harness(command, spec, *ends, "--source", "git:.", *metrics)
    assert done.code == 2
    assert "follows one metric, not `NET latency`, `NET load_time`" in done.stderr
    assert "`harness compare` takes several" in done.stderr
