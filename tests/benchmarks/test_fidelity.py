"""The median that `harness` reports is the median of a bare native loop over the same program."""

from __future__ import annotations

import os
import statistics
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.config.settings import default_cache
from harness.core.metric import convert
from tests.benchmarks.figures import claim, in_random_order, spread
from tests.cli.project import Project

ROUNDS = 15
CPU = max(os.sched_getaffinity(0))
MODELS = {
    "mv2-xnnpack_fp32": {"definition": "mv2", "recipe": "xnnpack_fp32"},
    "mv2-xnnpack_q8": {"definition": "mv2", "recipe": "xnnpack_q8"},
    "add-portable": {"definition": "add", "recipe": "portable"},
}
pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def bare_loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = tmp_path_factory.mktemp("bare_loop")
    wheel = next(iter(spec.submodule_search_locations))
    for arguments in (("-S", Path(__file__).parent, "-B", folder, f"-DCMAKE_PREFIX_PATH={wheel}"), ("--build", folder)):
        subprocess.run(("cmake", *map(str, arguments)), check=True, stdout=subprocess.DEVNULL)
    return folder / "bare_loop"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, default_cache())


@pytest.mark.parametrize("name", MODELS)
def test_the_reported_median_is_that_of_a_bare_loop(project: Project, bare_loop: Path, name: str) -> None:
    warmup, iterations = (1000, 20_000) if name.startswith("add") else (20, 200)
    test = {"identifier": name, "metric": "delay", "threads": 1, "warmup": warmup, "iter": iterations, "cpu-list": CPU}
    files = {"model": {"filename": f"{name}.pte", "export": MODELS[name]}}
    model = {"name": name, "format": "executorch", "framework": "executorch", "files": files}
    spec = project.write("spec.json", {"model": model, "tests": [test]})
    first = project.harness("-b", spec)
    assert first.code == 0, first.stderr
    program = next(path for path in (project.cache / "models").rglob(f"{name}.pte"))

    def harness_median() -> float:
        done = project.harness("-b", spec)
        assert done.code == 0, done.stderr
        latency = next(metric for metric in done.read()[-1]["metrics"] if metric["name"] == "NET latency")
        median = convert(latency["summary"]["p50"], latency["unit"], "ns")
        assert median is not None
        return median

    def bare() -> float:
        line = ("taskset", "-c", str(CPU), str(bare_loop), str(program), str(warmup), str(iterations))
        return float(subprocess.run(line, check=True, capture_output=True, text=True).stdout)

    pairs = [in_random_order(harness_median, bare) for _ in range(ROUNDS)]
    ratios = [harness_ns / bare_ns for harness_ns, bare_ns in pairs]
    differences = [harness_ns - bare_ns for harness_ns, bare_ns in pairs]
    print(f"\n{name}: harness / bare {spread(ratios)}; harness - bare in ns {spread(differences)}")
    if name.startswith("add"):
        claim("harness against a bare loop, add", abs(statistics.median(differences)), 1000, " ns")
    else:
        claim(f"harness against a bare loop, {name}", abs(statistics.median(ratios) - 1), 0.01)
