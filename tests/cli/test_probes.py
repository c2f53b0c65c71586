"""`--probe` and `probes` on this machine, with a program that is here, and probes that are not."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.project import Project, generic, observe, one_test

pytestmark = pytest.mark.slow


def test_a_run_keeps_what_probes_found_beside_its_result(project: Project) -> None:
    if shutil.which("perf") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no perf: apt install linux-perf")
    busy = f"{sys.executable} -c 'sum(i for i in range(3_000_000))'"
    spec = project.write("spec.json", generic(one_test("net", busy, observe(5.0), probes=["perf-stat", "simpleperf"])))
    done = project.harness("run", spec, "--probe", "perf-record:frequency=997,call_graph=fp")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    passes = {each["probe"]: each for each in result["probes"]}
    assert list(passes) == ["perf-stat", "simpleperf", "perf-record"]
    assert passes["simpleperf"]["outcome"] == "skipped"
    if passes["perf-stat"]["outcome"] == "skipped":
        reason = passes["perf-stat"]["reason"]  # a container may forbid it
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    assert {metric["name"] for metric in result["metrics"]} >= {"NET latency", "RUN task_clock", "RUN page_faults"}
    assert "RUN task_clock" in done.stdout
    assert passes["perf-record"]["samples"] > 0
    names = {artifact["name"] for each in result["probes"] for artifact in each["artifacts"]}
    found = {file.name for file in Path(project.folder).rglob("artifacts/*")}
    assert found == names == {"perf-stat.csv", "perf-record.data", "perf-record.folded.txt"}


def test_a_probe_that_is_unknown_is_refused_before_anything_runs(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("net", observe(5.0))))
    done = project.harness("run", spec, "--probe", "perf-sta")
    assert done.code == 2
    assert "did you mean `perf-stat`?" in done.stderr
    assert done.read() == []
