"""A/A: two runs of the same benchmark agree, or warn of unreliable figures."""

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
        outcome = project.harness("-b", MODEL, "--only", "*q8-t1")
        assert outcome.code == 0, outcome.stderr
        result = outcome.read()[-1]
        medians.append(
            next(metric for metric in result["metrics"] if metric["name"] == "NET latency")["summary"]["p50"]
        )
        trusted.append(all(note["trust"] for note in result["notes"]))
    pairs = list(zip(medians[::2], medians[1::2], trusted[::2], trusted[1::2], strict=True))
    differences = [abs(second / first - 1) for first, second, *_ in pairs]
    trusted_differences = [
        difference
        for difference, (*_, is_first_trusted, is_second_trusted) in zip(differences, pairs, strict=True)
        if is_first_trusted and is_second_trusted
    ]
    print(
        f"\nA/A differences of medians: {spread(differences)}; "
        f"both trusted in {len(trusted_differences)} of {PAIRS} pairs"
    )
    claim("A/A difference of two runs", statistics.median(differences), 0.05)
    claim("largest A/A difference that nothing warned of", max(trusted_differences, default=0.0), 0.10)
