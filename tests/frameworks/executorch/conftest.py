from __future__ import annotations

import sys
from pathlib import Path

import pytest

from frameworks.executorch.runners.choice import python_build
from frameworks.executorch.runners.native import native_build
from harness import shell
from harness.core.benchmark import Benchmark, Model, Origin
from harness.core.build import Build
from harness.core.command import Command
from harness.testing.progress import RecordedProgress

HERE = Path(__file__).parent


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    command = Command((sys.executable, str(HERE / "tiny_programs.py"), str(folder)), timeout_s=300)
    completed = shell.run(command)
    assert completed.ok, completed.stderr
    return folder


@pytest.fixture(scope="session")
def language_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language_models")
    completed = shell.run(Command((sys.executable, str(HERE / "language_models.py"), str(folder)), timeout_s=300))
    assert completed.ok, completed.stderr
    return folder


@pytest.fixture(scope="session")
def runner_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runners")


@pytest.fixture(scope="session")
def native(runner_cache: Path) -> Build:
    return native_build(runner_cache, RecordedProgress())


@pytest.fixture(scope="session")
def python(runner_cache: Path) -> Build:
    return python_build(runner_cache)


@pytest.fixture(params=["native", "python"])
def build(request: pytest.FixtureRequest) -> Build:
    """Each of the runners."""
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
        origin=Origin(file=Path("add.json")),
        digest="0" * 64,
    )
