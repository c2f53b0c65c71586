"""The specifications that ship with the harness are what they say, and run."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.core.benchmark import ModelFile
from harness.specification.load import load
from tests.cli.project import Project
from tests.docs.pages import ROOT, blocks

MODELS = ROOT / "specifications" / "models"
PROGRAMS = ROOT / "specifications" / "programs"
TOKENIZERS = ROOT / "specifications" / "tokenizers"
SHIPPED = sorted(MODELS.glob("*.json"))


def local_files(file: Path) -> Sequence[ModelFile]:
    """The files of a specification that lie in this repository."""
    return [file for benchmark in load([file]).benchmarks for file in benchmark.required_files() if file.export is None]


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_a_file_is_named_after_its_model(file: Path) -> None:
    assert {benchmark.model.name for benchmark in load([file]).benchmarks} == {file.stem}


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_checksums_match_the_files(file: Path) -> None:
    for one in local_files(file):
        assert one.location is not None
        assert one.md5 == hashlib.md5(Path(one.location).read_bytes()).hexdigest()


def test_every_program_and_tokenizer_is_used_by_a_specification() -> None:
    used = {Path(one.location or "") for file in SHIPPED for one in local_files(file)}
    assert used == {file for folder in (PROGRAMS, TOKENIZERS) for file in folder.iterdir() if file.is_file()}


def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, str(PROGRAMS / program), *map(str, arguments))
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


def test_golden_outputs_are_those_of_unrounded_weights(tmp_path: Path) -> None:
    golden = PROGRAMS / "quantised_linear_golden.txt"
    assert run("quantised_linear.py", "--output", tmp_path / "outputs").returncode == 0
    assert (tmp_path / "outputs").read_text() == golden.read_text()


def observed(text: str) -> dict[str, float]:
    lines = [json.loads(line.removeprefix("PyTorchObserver ")) for line in text.splitlines()]
    return {line["metric"]: float(line["value"]) for line in lines}


def test_comparing_outputs_prints_the_noise_in_decibels(tmp_path: Path) -> None:
    (tmp_path / "golden").write_text("3\n4\n")
    (tmp_path / "output").write_text("3\n4.5\n")
    observations = observed(run("compare.py", "--golden", tmp_path / "golden", "--output", tmp_path / "output").stdout)
    assert observations["sqnr"] == pytest.approx(10 * math.log10(25 / 0.25))
    assert observations["max_abs_error"] == 0.5
    assert observations["top1_agreement"] == 1


def test_comparing_outputs_rejects_files_of_different_lengths(tmp_path: Path) -> None:
    (tmp_path / "golden").write_text("3\n4\n")
    (tmp_path / "output").write_text("3\n")
    done = run("compare.py", "--golden", tmp_path / "golden", "--output", tmp_path / "output")
    assert done.returncode == 1
    assert "has 1 numbers" in done.stderr


@pytest.mark.slow
def test_the_sorting_example_runs(project: Project) -> None:
    done = project.harness("-b", MODELS / "sort.json", "--only", "*/sort-1000")
    assert done.code == 0, done.stderr
    (result,) = done.read()
    launches = len(result["launches"])
    assert launches >= 5, "until the interval is narrow, or the time is spent"
    assert len(result["metrics"][0]["samples"]) == launches * 20


@pytest.mark.slow
def test_the_accuracy_example_reports_the_accuracy_of_each_bit_width(project: Project) -> None:
    done = project.harness("-b", MODELS / "quantised_linear.json")
    assert done.code == 0, done.stderr
    sqnr = {
        result["benchmark"]["axes"]["bits"]: metric["summary"]["p50"]
        for result in done.read()
        for metric in result["metrics"]
        if metric["name"] == "NET sqnr"
    }
    assert list(sqnr) == [4, 8, 16]
    assert all(metric["direction"] == "higher" for metric in done.read()[0]["metrics"] if metric["metric"] == "sqnr")
    for fewer, more in ((4, 8), (8, 16)):
        assert (sqnr[more] - sqnr[fewer]) / (more - fewer) == pytest.approx(6.02, abs=1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variants"), [("add", 1), pytest.param("mlp", 3, marks=pytest.mark.exhaustive)])
def test_the_smallest_models_are_exported_and_run(project: Project, name: str, variants: int) -> None:
    done = project.harness("-b", MODELS / f"{name}.json")
    assert done.code == 0, done.stderr
    assert list(done.outcomes().values()) == ["ok"] * variants


@pytest.mark.slow
def test_the_smallest_specification_of_the_documentation_runs(project: Project) -> None:
    smallest = blocks("specifications.md", "json")[0]
    done = project.harness("-b", project.write("smallest.json", smallest.text))
    assert done.outcomes() == {"mlp": "ok"}, done.stderr
