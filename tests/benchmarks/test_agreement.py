"""A/A: two runs of the same benchmark agree, or say that they should not be believed."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from harness.config.settings import default_cache
from tests.benchmarks.figures import claim, spread
from tests.cli.project import Project

PAIRS = 10
MODEL = Path("specifications/models/mv2.json").absolute()
pytestmark = pytest.mark.benchmark


def test_two_runs_of_the_same_benchmark_agree(tmp_path: Path) -> None:
    project = Project(tmp_path, default_cache())
    medians, trusted = [], []
    for _ in range(2 * PAIRS):
        done = project.harness("-b", MODEL, "--only", "*q8-t1")
        assert done.code == 0, done.stderr
        result = done.read()[-1]
        medians.append(next(one for one in result["metrics"] if one["name"] == "NET latency")["summary"]["p50"])
        trusted.append(all(note["trust"] for note in result["notes"]))
    pairs = list(zip(medians[::2], medians[1::2], trusted[::2], trusted[1::2], strict=True))
    differences = [abs(second / first - 1) for first, second, *_ in pairs]
    believed = [difference for difference, (*_, one, two) in zip(differences, pairs, strict=True) if one and two]
    print(f"\nA/A differences of medians: {spread(differences)}; both trusted in {len(believed)} of {PAIRS} pairs")
    claim("A/A difference of two runs", statistics.median(differences), 0.05)
    claim("largest A/A difference that nothing warned of", max(believed, default=0.0), 0.10)
