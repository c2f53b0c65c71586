"""Both runners keep the contract of interleavable runners, which comparisons rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks import executorch
from harness.config.settings import Settings
from harness.testing import frameworks as contract
from harness.testing.frameworks import FrameworkCase, benchmark_of
from tests.frameworks.executorch.mostly_native import build

__all__ = ["build"]

pytestmark = pytest.mark.slow


def test_the_runners_can_be_interleaved(runner: Path, programs: Path, tmp_path: Path) -> None:
    model = {"files.model": str(programs / "linear.pte")}
    case = FrameworkCase(
        create=lambda: executorch.create(Settings(program={"program": runner}, cache_dir=tmp_path)),
        benchmark=benchmark_of("executorch", model, threads=1, warmup=1, iterations=4),
        output="",
        observed={"NET latency": 4, "RUN load_time": 1},
        runs=True,
    )
    contract.running.interleaved_command_starts_the_same_runner(case)
    contract.running.runner_can_be_interleaved(case)
