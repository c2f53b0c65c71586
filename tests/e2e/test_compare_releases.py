"""Two released versions of ExecuTorch, each with our native runner compiled against it, on the same programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.project import Project
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need

pytestmark = [pytest.mark.slow, MEASURING]
MODELS = Path("specifications/models").absolute()
CONTROL, TREATMENT = "1.4.1", "1.5.1"


@pytest.mark.exhaustive
def test_two_releases_are_compared(tmp_path: Path) -> None:
    need("cmake", "g++")
    project = Project(tmp_path, tmp_path / "cache")
    sides = ("--source", "releases:executorch", "--control", CONTROL, "--treatment", TREATMENT)
    files = (MODELS / "add.json", MODELS / "mlp.json")
    chosen = ("--only", "add/*", "mlp/*xnnpack_fp32*")
    done = project.harness("compare", "-b", *files, *chosen, *sides, "--pairs", "8", "--seed", "3", timeout_s=900)
    assert done.code in {0, 1, 5}, done.stderr
    results = done.read()
    assert len({result["benchmark"]["model"] for result in results}) == 2
    for result in results:
        comparison = result["comparison"]
        assert result["outcome"] == "ok", result["reason"]
        assert (comparison["control"]["commit"], result["build"]["commit"]) == (CONTROL, TREATMENT)
        assert 5 <= len(comparison["pairs"]) <= 8
        assert not comparison["identical"]
        for launches, version in ((result["control_launches"], CONTROL), (result["launches"], TREATMENT)):
            assert all(launch["outcome"] == "ok" for launch in launches), version
    runtimes = {metric["info"] for result in results for metric in result["metrics"] if metric["name"] == "RUN runtime"}
    assert runtimes == {f"executorch {TREATMENT} native"}
    assert shutil.which("taskset") is None or all(launch["cpus"] for launch in results[0]["launches"])
