"""Cost of the harness itself: starting, one further benchmark, one further launch, many observer lines."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from frameworks.observations.observer import parse_lines
from harness.analysis.quality import assess_quality
from harness.analysis.summary import collect
from harness.config.settings import default_cache
from tests.benchmarks.figures import children_cpu_s, claim, spread
from tests.cli.project import Project, generic, one_test

ROUNDS = 9
FURTHER = 40
LINE = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "%d"}'
LIBRARIES = "import cyclopts, pydantic.main, pydantic.type_adapter, rich.console"
"""What the command line, specifications and tables cannot do without."""
PROGRAM = ("/bin/echo", LINE % 7)
pytestmark = pytest.mark.benchmark


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, default_cache())


def cpu_of(action: Callable[[], object]) -> float:
    before = children_cpu_s()
    action()
    spent = children_cpu_s() - before
    assert spent > 0, "a process that is not a child of this one is not counted"
    return spent


def test_help_starts_fast(project: Project) -> None:
    bare = [cpu_of(lambda: subprocess.run((sys.executable, "-c", "pass"), check=True)) for _ in range(ROUNDS)]
    harness_cpu_s = [cpu_of(lambda: project.started_harness("--help")) for _ in range(ROUNDS)]
    print(f"\nCPU s of --help {spread(harness_cpu_s)}; of bare Python {spread(bare)}")
    claim("CPU of `harness --help`", statistics.median(harness_cpu_s), 0.15, " s")


def test_short_commands_cost_little_beside_their_libraries(project: Project) -> None:
    """Ratios, measured in turns: on a shared machine the seconds of all of them vary by a factor of 1.6 together.

    The limits keep what was reached (docs/decisions/0047).
    """
    line = f"/bin/echo '{LINE % 7}'"
    spec = project.write("spec.json", generic(one_test("t0", line), repeat=1))
    commands: dict[str, tuple[tuple[str | Path, ...], float]] = {
        "harness validate mv2": (("validate", "mv2"), 2.3),
        "harness mv2 --dry-run": (("mv2", "--dry-run"), 2.5),
        "a run of one ready program": (("-b", spec), 2.7),
    }
    libraries: list[float] = []
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        libraries.append(cpu_of(lambda: subprocess.run((sys.executable, "-c", LIBRARIES), check=True)))
        for name, (words, _) in commands.items():
            spent[name].append(cpu_of(partial(project.started_harness, *words)))
    own = statistics.median(
        cpu_of(lambda: subprocess.run(PROGRAM, check=True, stdout=subprocess.DEVNULL)) for _ in range(ROUNDS)
    )
    print(f"\nCPU s of the libraries {spread(libraries)}")
    for name, (_, limit) in commands.items():
        print(f"CPU s of {name} {spread(spent[name])}")
        beyond = own if "program" in name else 0.0
        ratios = [(cpu_s - beyond) / library for cpu_s, library in zip(spent[name], libraries, strict=True)]
        claim(f"CPU of {name}, in imports of its libraries", statistics.median(ratios), limit)


def test_a_further_benchmark_is_cheap(project: Project) -> None:
    line = f"/bin/echo '{LINE % 7}'"
    one = project.write("one.json", generic(one_test("t0", line)))
    many = project.write("many.json", generic(*(one_test(f"t{number}", line) for number in range(1 + FURTHER))))
    own = [cpu_of(lambda: subprocess.run(PROGRAM, check=True, stdout=subprocess.DEVNULL)) for _ in range(FURTHER)]
    costs = []
    for _ in range(ROUNDS):
        single = cpu_of(lambda: project.started_harness("-b", one))
        costs.append((cpu_of(lambda: project.started_harness("-b", many)) - single) / FURTHER - statistics.median(own))
    print(f"\nCPU s of a further benchmark beyond its program {spread(costs)}")
    claim("CPU of a further benchmark", statistics.median(costs) * 1000, 20, " ms")


def test_a_launch_of_the_native_runner_is_cheap(project: Project) -> None:
    files = {"model": {"filename": "add.pte", "export": {"definition": "add", "recipe": "portable"}}}
    test = {"identifier": "add", "metric": "delay", "threads": 1, "warmup": 1, "iter": 1}
    model = {"name": "add", "format": "executorch", "framework": "executorch", "files": files, "repeat": FURTHER}
    spec = project.write("spec.json", {"model": model, "tests": [test]})
    assert project.harness("-b", spec).code == 0
    outside, around = [], []
    for _ in range(ROUNDS):
        done = project.harness("-b", spec, "--runner", "native")
        assert done.code == 0, done.stderr
        result = done.read()[-1]
        metrics = {metric["name"]: metric["summary"]["p50"] for metric in result["metrics"] if metric["summary"]}
        launches = result["launches"]
        load_s = metrics["RUN load_time"] / 1e9
        outside.append(statistics.median(launch["cpu_s"] for launch in launches) - load_s)
        total = launches[-1]["started"] - launches[0]["started"]
        around.append((total - sum(launch["wall_s"] for launch in launches[:-1])) / (len(launches) - 1))
    print(f"\nCPU s of a launch beyond loading {spread(outside)}; s of driver time around it {spread(around)}")
    claim("CPU of a native launch beyond loading", statistics.median(outside) * 1000, 15, " ms")
    claim("driver time around a launch", statistics.median(around) * 1000, 20, " ms")


def test_a_second_run_is_measuring_soon(project: Project) -> None:
    spec = Path("specifications/models/mv2.json").absolute()
    assert project.harness("-b", spec, "--only", "*q8-t1").code == 0
    waited = []
    for _ in range(ROUNDS):
        begin = time.time()
        done = project.started_harness("-b", spec, "--only", "*q8-t1")
        assert "exporting" not in done.stderr
        waited.append(done.read()[-1]["launches"][0]["started"] - begin)
    print(f"\ns until the first launch of a second run {spread(waited)}")
    claim("time until a second run measures", statistics.median(waited), 2, " s")


def test_many_observer_lines_are_read_fast() -> None:
    text = "\n".join(LINE % (1000 + number % 97) for number in range(100_000))
    spent = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        observations, notes = parse_lines(text)
        metrics, _ = collect([observations])
        assess_quality(metrics, (), 2)
        spent.append(time.process_time() - begin)
        assert len(metrics[0].samples) == 100_000
        assert not notes
    print(f"\nCPU s of 100,000 lines {spread(spent)}")
    claim("CPU of 100,000 observer lines", statistics.median(spent), 0.5, " s")
