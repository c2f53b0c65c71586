"""Waiting ends when it shall, nobody needs to watch, and CPUs that were chosen are the CPUs that there are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.project import Project, command, generic, observe, one_test
from tests.processes import wait_until

pytestmark = pytest.mark.slow

GOOD = observe(1, 2, 3)


def test_an_interruption_ends_the_pause_between_benchmarks(project: Project) -> None:
    tests = (one_test("first", GOOD), one_test("second", GOOD))
    spec = project.write("spec.json", generic(*tests, cooldown=600))
    run = subprocess.Popen(
        command("-b", spec), cwd=project.folder, env=project.environment, stderr=subprocess.PIPE, text=True
    )
    # os.walk, because drafts of results vanish while they are listed.
    wait_until(lambda: any("result.json" in files for _, _, files in os.walk(project.folder / "results")))
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=50)
    assert run.returncode == 130, stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_benchmark_is_measured_when_standard_error_is_full(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", GOOD)))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("-b", spec),
            cwd=project.folder,
            env=project.environment,
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
        )
    assert done.returncode == 0
    assert "m/good" in done.stdout


def test_a_nonexistent_cpu_is_rejected_before_anything_runs(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("good", GOOD)))
    done = project.harness("-b", spec, "--cpus", "4095")
    assert done.code == 2
    assert "CPU 4095 does not exist" in done.stderr
    assert not done.read()


@pytest.mark.skipif(sys.platform != "linux", reason="programs are pinned on Linux only")
def test_two_threads_are_not_measured_on_one_cpu(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("two", GOOD, threads=2), one_test("one", GOOD, threads=1)))
    done = project.harness("-b", spec, "--cpus", str(min(os.sched_getaffinity(0))))
    assert done.outcomes() == {"two": "skipped", "one": "ok"}
    (skipped,) = (result for result in done.read() if result["outcome"] == "skipped")
    assert "needs 2 threads" in skipped["reason"]
