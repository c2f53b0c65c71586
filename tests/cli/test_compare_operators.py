"""Which operator made it slower: two builds of a program whose operators do real work, one of them more of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.project import Project, command, generic, one_test
from tests.processes import wait_until

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "layers.c"
SEED = ("--seed", "5")
SURE = (*SEED, "--pairs", "40", "--precision", "0.0000001", "--alpha", "0.0001", "--fdr", "0.0001")
"""Machines are noisy: one test in 10,000 may tell of an operator that did not change."""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Control, and a treatment whose `scan` does twice as much: on a busy machine a quarter more stayed undecided."""
    if shutil.which("cc") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("no cc: apt install gcc")
    folder = tmp_path_factory.mktemp("layers")
    for name, rounds in (("control", 30000), ("treatment", 60000)):
        subprocess.run(["cc", "-O1", f"-DROUNDS={rounds}", str(SOURCE), "-o", str(folder / name)], check=True)
    return ("--control-program", str(folder / "control"), "--treatment-program", str(folder / "treatment"))


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("a", "{program}")))


def compared(project: Project, *words: str | Path) -> dict[str, Any]:
    done = project.harness("compare", *words)
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    found: dict[str, Any] = result
    return found


def operators(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in result["comparison"]["operators"]}


def test_the_operator_with_more_work_is_detected_and_shown(
    project: Project, spec: Path, programs: tuple[str, ...]
) -> None:
    markdown = ("--reporter", f"markdown={project.folder / 'run.md'}")
    done = project.harness("compare", "-b", spec, *programs, *SURE, "--operators", *markdown)
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    changed = operators(result)
    assert list(changed) == ["resize", "scan", "sort"]
    assert changed["scan"]["verdict"] == "regression"
    assert changed["scan"]["discovered"]
    assert 0.6 < changed["scan"]["difference"] < 1.6
    assert not any(changed[name]["discovered"] for name in ("resize", "sort"))
    assert [metric["type"] for metric in result["metrics"]][:3] == ["resize", "scan", "sort"]
    assert result["comparison"]["metric"] == "NET latency"
    screen = " ".join(done.stdout.split())
    assert "Changed operators" in screen
    assert "slower scan" in screen
    assert "slower resize" not in screen
    assert "| slower | scan |" in (project.folder / "run.md").read_text()
    assert f"{len(changed['scan']['pairs'])}" == f"{len(result['comparison']['pairs'])}"


def test_stored_operators_are_reevaluated(project: Project, spec: Path, programs: tuple[str, ...]) -> None:
    compared(project, "-b", spec, *programs, *SURE, "--operators")
    again = project.harness("compare", "--from", project.folder / "results")
    assert "slower scan" in " ".join(again.stdout.split())
    strict = project.harness("compare", "--from", project.folder / "results", "--fdr", "1e-12")
    assert "slower scan" not in " ".join(strict.stdout.split())


def test_operators_are_reported_only_on_request(project: Project, spec: Path, programs: tuple[str, ...]) -> None:
    result = compared(project, "-b", spec, *programs, *SEED)
    assert result["comparison"]["operators"] == []
    assert "resize latency" in [metric["name"] for metric in result["metrics"]], "as any metric of a program"


def test_a_resumed_comparison_keeps_its_operators(project: Project, spec: Path, programs: tuple[str, ...]) -> None:
    words = ("-b", str(spec), *programs, *SEED, "--operators")
    endless = ("--pairs", "1000000", "--precision", "1e-9")
    run = subprocess.Popen(
        command("compare", *words, *endless),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        journals = project.cache / "comparisons"
        wait_until(lambda: any(len(path.read_text().splitlines()) > 6 for path in journals.glob("*.jsonl")), 100)
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    result = compared(project, *words, "--resume", "--pairs", "30", "--precision", "0.005")
    earlier = [pair for pair in result["comparison"]["pairs"] if pair["control_launch"] is None]
    assert len(earlier) >= 5
    assert operators(result)["scan"]["pairs"] == [pair["index"] for pair in result["comparison"]["pairs"]]
