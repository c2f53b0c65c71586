"""Files, streams and values that nobody expects end in words and an exit code, in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.result import Report
from reporters.local import LocalReporter
from tests.cli.project import Project, generic, observe, one_test
from tests.presentation.comparison_samples import compared, made_pairs

pytestmark = pytest.mark.slow

GOOD = observe(5, 6, 7)


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("a", GOOD)))


def test_every_table_can_be_written_in_an_encoding_without_our_marks(project: Project, spec: Path) -> None:
    for words in (("-b", spec), ("report",), ("report", project.folder / "results"), ("validate", spec)):
        done = project.harness(*words, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
        assert done.code == 0, done.stderr
        assert done.stdout
        assert "bug" not in done.stderr


def test_pairs_that_cannot_have_been_measured_are_refused(project: Project) -> None:
    place = (
        Path(LocalReporter(project.folder / "results").report(Report(result=compared("a", made_pairs(0.0, 9)))))
        / "result.json"
    )
    stored = json.loads(place.read_text())
    for statistics in ([0.0] * 5, [1.0] * 4 + [-1.0], [1.0] * 4):
        stored["comparison"]["pairs"][0]["control"] = statistics
        place.write_text(json.dumps(stored))
        done = project.harness("compare", "--from", place)
        assert done.code == 3
        assert f"{place} cannot be evaluated" in done.stderr


@pytest.mark.parametrize("words", [("run",), ("compare", "--self-check")])
@pytest.mark.parametrize("flag", ["--local-reporter=in-the-way/results", "--reporter=html=in-the-way/page.html"])
def test_results_that_cannot_be_written_are_noticed_before_the_first_measurement(
    words: tuple[str, ...], flag: str, project: Project
) -> None:
    project.write("in-the-way", "a file")
    spec = project.write("spec.json", generic(one_test("a", f"touch {project.folder / 'started'}")))
    done = project.harness(*words, "-b", spec, flag)
    assert done.code == 3
    assert "in-the-way" in done.stderr
    assert "hint: free disk space or fix permissions there, or name another" in done.stderr
    assert not (project.folder / "started").exists()
