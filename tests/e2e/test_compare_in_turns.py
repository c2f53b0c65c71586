"""Two builds of the native runner, both alive and taking turns, from the command line to the stored result.

`tests/cli/test_compare_interleaved.py` shows the same of other programs: here another runner is compiled.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.decisions.slowed_runner import VARIABLE, compile_slowed_runner
from tests.cli.project import Project, command
from tests.e2e.groups import MEASURING
from tests.processes import wait_until
from tests.shared_folders import share_language_models, share_tiny_programs

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, MEASURING]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_slowed_runner(tmp_path_factory.mktemp("slowed"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_tiny_programs(tmp_path_factory) / "square.pte"


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_language_models(tmp_path_factory) / "dynamic.pte"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "cache")


@pytest.fixture
def spec(project: Project, model: Path) -> Path:
    file = {
        "filename": "square.pte",
        "location": str(model),
        "md5": hashlib.md5(model.read_bytes()).hexdigest(),
    }
    described = {"name": "square", "format": "executorch", "framework": "executorch", "files": {"model": file}}
    test = {"identifier": "t1", "metric": "delay", "threads": 1}
    return project.write("spec.json", {"model": described, "tests": [test]})


def side(project: Project, runner: Path, percent: int, before: str = "") -> str:
    """The runner, slowed by two digits of per cent."""
    path = project.folder / f"slower-{percent:02}"
    path.write_text(f'#!/bin/sh\n{before}\n{VARIABLE}={percent:02} exec {runner} "$@"\n')
    path.chmod(0o755)
    return str(path)


def alive(runner: Path) -> Iterator[int]:
    """The processes that run this program now."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if str(runner) in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"):
                yield int(entry.name)
        except OSError:
            continue


@pytest.mark.parametrize(("interleave", "flags"), [("process", ["--turns"]), ("duet", ["--own-time", "--turns"])])
def test_interleaving_detects_a_real_slowdown(
    project: Project, spec: Path, runner: Path, interleave: str, flags: list[str]
) -> None:
    programs = ("--control-program", side(project, runner, 0), "--treatment-program", side(project, runner, 25))
    done = project.harness("compare", "-b", spec, *programs, "--interleave", interleave, "--seed", "3")
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    comparison = result["comparison"]
    assert comparison["verdict"] == "regression"
    assert 0.2 < comparison["difference"] < 0.3
    assert comparison["parameters"]["interleave"] == interleave
    assert comparison["notes"] == []
    for key in ("launches", "control_launches"):
        assert len(result[key]) == 1 + len(comparison["pairs"])
        assert {launch["outcome"] for launch in result[key]} == {"ok"}
        assert all(launch["commands"][0][-len(flags) :] == flags for launch in result[key])
        assert len({str(launch["cpus"]) for launch in result[key]}) == 1
    assert result["launches"][0]["cpus"] == result["control_launches"][0]["cpus"]
    latency = next(metric for metric in result["metrics"] if metric["name"] == "NET latency")
    assert len(latency["samples"]) == len(latency["control"]["control_values"]) > 0


def test_generations_are_usually_compared_in_duets(project: Project, language_model: Path, runner: Path) -> None:
    file = {"filename": "dynamic.pte", "location": str(language_model)}
    described = {"name": "speaker", "format": "executorch", "framework": "executorch", "files": {"model": file}}
    generation = {"prompt_tokens": 9, "new_tokens": 12}
    test = {"identifier": "t1", "metric": "generation", "threads": 1, "iter": 5, "generation": generation}
    spec = project.write("speaker.json", {"model": described, "tests": [test]})
    programs = ("--control-program", side(project, runner, 0), "--treatment-program", side(project, runner, 50))
    done = project.harness("compare", "-b", spec, *programs, "--seed", "3")
    assert done.code == 1, done.stderr + done.stdout
    results = {result["comparison"]["metric"]: result for result in done.read()}
    assert set(results) == {"LLM decode_rate", "LLM time_to_first_token"}
    decoded = results["LLM decode_rate"]
    assert decoded["comparison"]["verdict"] == "regression"
    assert -0.5 < decoded["comparison"]["difference"] < -0.1
    for result in results.values():
        comparison = result["comparison"]
        assert comparison["parameters"]["interleave"] == "duet"
        assert "launches" not in [note["code"] for note in comparison["notes"]]
    launches = {launch["index"]: launch for launch in decoded["launches"]}
    for pair in decoded["comparison"]["pairs"]:
        launch = launches[pair["treatment_launch"]]
        assert launch["commands"][0][-2:] == ["--own-time", "--turns"]
        assert len(launch["cpus"]) == 1


def test_a_runner_without_interleaving_falls_back_to_launches_and_the_result_notes_it(
    project: Project, spec: Path, runner: Path
) -> None:
    older = 'for word; do [ "$word" = --turns ] && echo "error: unknown argument --turns" >&2 && exit 2; done'
    programs = (
        *("--control-program", side(project, runner, 0, older)),
        *("--treatment-program", side(project, runner, 25)),
    )
    done = project.harness("compare", "-b", spec, *programs, "--interleave", "process", "--seed", "3")
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    comparison = result["comparison"]
    assert comparison["parameters"]["interleave"] == "launch"
    assert [note["code"] for note in comparison["notes"]] == ["launches"]
    assert "unknown argument --turns" in comparison["notes"][0]["message"]
    assert "unknown argument --turns" in " ".join(done.stdout.split())
    assert [launch["outcome"] for launch in result["control_launches"]][:2] == ["failed", "ok"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_running_after_an_interruption(
    project: Project, spec: Path, runner: Path, number: signal.Signals
) -> None:
    programs = ("--control-program", side(project, runner, 0), "--treatment-program", side(project, runner, 25))
    arguments = (
        "compare",
        "-b",
        str(spec),
        *programs,
        "--interleave",
        "process",
        "--pairs",
        "1000000",
        "--precision",
        "1e-9",
    )
    run = subprocess.Popen(
        command(*arguments),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        journals = project.cache / "comparisons"
        wait_until(lambda: any(len(path.read_text().splitlines()) > 2 for path in journals.glob("*.jsonl")), 200)
        wait_until(lambda: len(set(alive(runner))) == 2)
    finally:
        os.kill(run.pid, number)
        _, stderr = run.communicate()
        code = run.returncode
    if number is signal.SIGINT:
        assert re.search(r"interrupted \(SIGINT\): \d+ pairs? (is|are) kept; continue with `--resume`", stderr), stderr
    assert code == (130 if number is signal.SIGINT else -signal.SIGKILL)
    wait_until(lambda: not set(alive(runner)))
