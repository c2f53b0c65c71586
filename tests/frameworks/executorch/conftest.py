from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.executorch import runners
from harness import shell
from harness.core.benchmark import Benchmark, Model, Origin
from harness.core.build import Build
from harness.core.command import Command
from harness.core.protocols import Progress, Task

HERE = Path(__file__).parent


class Told:
    """Progress that is kept."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:
        self._said.append(text)
        yield self

    def say(self, text: str) -> None:
        self._said.append(text)

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        pass


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def progress(said: list[str]) -> Progress:
    return Told(said)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    command = Command((sys.executable, str(HERE / "tiny_programs.py"), str(folder)), timeout_s=300)
    completed = shell.run(command)
    assert completed.ok, completed.stderr
    return folder


@pytest.fixture(scope="session")
def runner_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runners")


@pytest.fixture(scope="session")
def native(runner_cache: Path) -> Build:
    return runners.native_build(runner_cache, Told([]))


@pytest.fixture(params=["native", "python"])
def runner(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The words that start each of the runners."""
    if request.param == "python":
        build = runners.python_build()
        return build.variables["interpreter"], str(build.programs["program"])
    build = request.getfixturevalue("native")
    return (str(build.programs["program"]),)


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
