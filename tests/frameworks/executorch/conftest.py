from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.executorch.runners.choice import python_build
from frameworks.executorch.runners.native import native_build
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.testing.progress import RecordedProgress
from tests.shared_folders import share_cache_of_runners, share_language_models, share_tiny_programs


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_tiny_programs(tmp_path_factory)


@pytest.fixture(scope="session")
def language_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_language_models(tmp_path_factory)


@pytest.fixture(scope="session")
def runner_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_cache_of_runners(tmp_path_factory)


@pytest.fixture(scope="session")
def native(runner_cache: Path) -> Build:
    return native_build(runner_cache, RecordedProgress())


@pytest.fixture(scope="session")
def python(runner_cache: Path) -> Build:
    return python_build(runner_cache)


@pytest.fixture(params=["native", pytest.param("python", marks=pytest.mark.exhaustive)])
def build(request: pytest.FixtureRequest) -> Build:
    """Each of the runners; that of Python, which takes seconds to start, mostly before releases.

    What it measures is tested in each run: `test_runner_measurements.py`.
    """
    build: Build = request.getfixturevalue(request.param)
    return build


@pytest.fixture
def runner(build: Build) -> Path:
    """The program of each of the runners."""
    return build.programs["program"]


@pytest.fixture
def benchmark_of_add() -> Benchmark:
    return Benchmark(
        id=0,
        model=Model(name="add", format="executorch"),
        identifier="add-t1",
        metric="delay",
        framework="executorch",
        origin=SpecificationPlace(file=Path("add.json")),
        digest="0" * 64,
    )
