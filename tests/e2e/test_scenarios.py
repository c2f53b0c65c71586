"""Paced executions and long runs, from a specification to stored results: on this machine and on a stand-in phone."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from frameworks.executorch.runners.native import native_build
from frameworks.executorch.runners.wheel import wheel_with_sdk
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.cli.project import Project, generic, observe, one_test
from tests.e2e.desk import Desk
from tests.e2e.groups import MEASURING
from tests.shared_folders import share_cache_of_runners

pytestmark = [pytest.mark.slow, MEASURING]

ADD = Path(__file__).parents[2] / "specifications" / "models" / "add.json"
INTERVAL_NS = 20e6

PROGRAM = """
import json, sys, time
pace, seconds = sys.argv[1], float(sys.argv[2])
def observe(metric, value):
    line = {"type": "NET", "metric": metric, "unit": "ns", "value": value}
    print("PyTorchObserver " + json.dumps(line))
begin = time.monotonic_ns()
number = 0
while number < 3 or time.monotonic_ns() < begin + seconds * 1e9:
    due = begin + number * round(float(pace.split(":")[1]) * 1e9)
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    observe("start_time", time.monotonic_ns() - begin)
    observe("latency", 5)
    observe("response_time", time.monotonic_ns() - due)
    number += 1
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "cache")


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Build:
    try:
        return native_build(share_cache_of_runners(tmp_path_factory), RecordedProgress())
    except BuildFailed as reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(reason))


def samples(result: Mapping[str, Any]) -> dict[str, list[float]]:
    return {metric["name"]: metric["samples"] for metric in result["metrics"]}


def check_pace(starts: list[float]) -> None:
    """Check that no execution began before it was due; when it did depends on the machine."""
    assert starts[0] >= 0
    assert all(later > earlier for earlier, later in pairwise(starts))
    assert all(start >= number * INTERVAL_NS for number, start in enumerate(starts))


def write_paced(project: Project, *, sustained_s: float | None = None) -> Path:
    specification = json.loads(ADD.read_text())
    (test,) = specification["tests"]
    del specification["$schema"], test["time_limit_s"]
    test |= {"metric": ["delay", "load_time"], "arrival": {"every_ms": 20, "deadline_ms": 15}}
    test |= {} if sustained_s is None else {"sustained": {"seconds": sustained_s}}
    return project.write("paced.json", specification)


def check_figures(result: Mapping[str, Any]) -> None:
    """Check a result of `write_paced` with ten seconds of a long run: figures cold, steady and sustained."""
    assert result["outcome"] == "ok", result["reason"]
    figures, notes = samples(result), {note["code"] for note in result["notes"]}
    assert len(result["launches"]) == 5
    assert len(figures["NET latency"]) == len(figures["NET response_time"]) == 150
    for number in range(3):
        check_pace(figures["NET start_time"][50 * number : 50 * (number + 1)])
    assert all(
        latency <= response
        for latency, response in zip(figures["NET latency"], figures["NET response_time"], strict=True)
    )
    long_run = figures["SUSTAINED start_time"]
    check_pace(long_run)
    assert long_run[-1] >= 9.9e9
    assert len(long_run) == len(figures["SUSTAINED latency"]) == len(figures["SUSTAINED response_time"]) <= 501
    assert "RUN cold_load_time" in figures or "cold_load_unavailable" in notes


def test_a_program_of_ones_own_is_paced_by_its_commands(project: Project) -> None:
    program = f"{shlex.join((sys.executable, str(project.write('program.py', PROGRAM))))} {{arrival}} {{sustained_s}}"
    asked = {"arrival": {"every_ms": 20}, "sustained": {"seconds": 10}}
    done = project.harness("-b", project.write("spec.json", generic(one_test("paced", program, **asked))))
    assert done.code == 0, done.stderr
    (result,) = done.read()
    figures = samples(result)
    assert figures["NET latency"] == [5.0] * 3
    check_pace(figures["NET start_time"])
    check_pace(figures["SUSTAINED start_time"])
    assert figures["SUSTAINED start_time"][-1] >= 9.9e9
    assert [launch["commands"][0][-2:] for launch in result["launches"]] == [
        ["periodic:0.020000000", "0"],
        ["periodic:0.020000000", "10"],
    ]


def test_a_program_that_ignores_the_long_run_has_none(project: Project) -> None:
    test = one_test("short", f"{observe(5)} {{sustained_s}}", sustained={"seconds": 10})
    done = project.harness("-b", project.write("spec.json", generic(test)))
    assert done.code == 4, done.stderr
    (result,) = done.read()
    assert "the pass for `sustained` failed" in result["reason"]
    assert "SUSTAINED latency" not in samples(result)


def test_cold_steady_and_sustained_figures_come_from_one_test(project: Project, runner: Build) -> None:
    spec = write_paced(project, sustained_s=10)
    done = project.harness("-b", spec, "--precision", "none", "--program", runner.programs["program"])
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    check_figures(result)


@pytest.mark.exhaustive
def test_a_phone_is_paced_by_the_same_runner(desk: Desk, runner: Build) -> None:
    libraries = sorted((wheel_with_sdk().package / "lib").glob("libexecutorch*.so"))
    given = (str(runner.programs["program"]), *(f"{library.name}={library}" for library in libraries))
    spec = write_paced(desk.project, sustained_s=10)
    done = desk.harness("-b", spec, "--precision", "none", "--program", *given, on=desk.phones[0].serial)
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    check_figures(result)


@pytest.mark.exhaustive
def test_paced_builds_are_compared_in_pairs_of_launches(project: Project, runner: Build) -> None:
    spec, program = write_paced(project, sustained_s=10), runner.programs["program"]
    other = project.write("other", f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
    other.chmod(0o755)
    programs = ("--control-program", program, "--treatment-program", other)
    done = project.harness("compare", "-b", spec, *programs, "--pairs", "4", "--interleave", "process")
    assert done.code == 5, "so few pairs decide nothing: " + done.stderr + done.stdout
    (result,) = done.read()
    assert "executions arrive as the benchmark's `arrival` says" in done.stdout
    assert "not run for long" in done.stdout
    assert "--arrival" in result["launches"][0]["commands"][0]
    assert all("--sustained" not in launch["commands"][0] for launch in result["launches"])
