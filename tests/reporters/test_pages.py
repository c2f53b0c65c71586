"""Reporter that writes one file about a run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from harness.core.errors import ReporterFailed
from harness.core.result import Report
from harness.presentation.commands import format_rerun_command
from harness.testing.results import ok_result, report_of
from reporters.pages import PageReporter, ReportedRun
from tests.presentation.comparison_samples import compared, made_pairs


def _render(run: ReportedRun) -> str:
    names = ",".join(result.benchmark.identifier for result in run.results)
    return f"{names} {run.tree} {'finished' if run.finished else 'running'}\n"


def _page(file: Path) -> PageReporter:
    return PageReporter("page", file, Path("tree"), _render)


def test_the_page_is_complete_after_every_result_and_marks_the_end_of_the_run(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "run.txt"
    page = _page(file)
    texts = []
    for name in ("x", "y"):
        assert page.report(report_of(ok_result(identifier=name))) == str(file)
        texts.append(file.read_text())
    page.close()
    assert [*texts, file.read_text()] == ["x tree running\n", "x,y tree running\n", "x,y tree finished\n"]
    assert list(file.parent.iterdir()) == [file]


def test_the_page_marks_a_stopped_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[ReportedRun] = []

    def render(run: ReportedRun) -> str:
        runs.append(run)
        return ""

    page = PageReporter("page", tmp_path / "x", tmp_path, render)
    monkeypatch.setattr("reporters.pages.is_stopping", lambda: True)
    page.report(report_of(ok_result()))
    page.close()
    assert [(run.notice or ("",))[0] for run in runs] == ["Not finished.", "Interrupted."]


def test_commands_name_the_result_folder_and_work_from_any_directory(tmp_path: Path) -> None:
    runs: list[ReportedRun] = []

    def render(run: ReportedRun) -> str:
        runs.append(run)
        return ""

    kept = compared("a", made_pairs(0.0, 9))
    page = PageReporter("page", tmp_path / "x", tmp_path / "tree", render)
    page.report(Report(result=kept, place=str(tmp_path / "tree" / "3")))
    (run,) = runs
    assert run.place(kept) == tmp_path / "tree" / "3"
    assert run.place(compared("b", ())).is_relative_to(tmp_path / "tree")
    assert shlex.split(format_rerun_command(kept, run.working_folder))[3] == str(
        Path.cwd() / kept.benchmark.specification
    )


def test_a_run_without_results_does_not_leave_the_page_of_an_earlier_one(tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_text("an earlier run")
    _page(file).close()
    assert file.read_text() == " tree finished\n"


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "latest.txt").symlink_to(tmp_path / "run.txt")
    _page(tmp_path / "latest.txt").close()
    assert (tmp_path / "latest.txt").is_symlink()
    assert (tmp_path / "run.txt").read_text() == " tree finished\n"


def test_only_regular_files_are_replaced(tmp_path: Path) -> None:
    with pytest.raises(ReporterFailed, match="not a regular file") as raised:
        _page(tmp_path).close()
    assert "--reporter page=FILE" in (raised.value.hint or "")


def test_a_pipe_is_written_into_once_and_stays_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReporterFailed, match="cannot write"):  # nobody reads it
        _page(tmp_path / "pipe").close()
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    page = _page(tmp_path / "pipe")
    page.prepare()
    page.report(Report(result=compared("a", ())))
    page.close()
    assert os.read(reader, 1000).count(b"finished") == 1
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_samples_are_not_kept_in_memory(tmp_path: Path) -> None:
    runs: list[ReportedRun] = []

    def render(run: ReportedRun) -> str:
        runs.append(run)
        return ""

    page = PageReporter("page", tmp_path / "x", tmp_path, render)
    result = compared("a", made_pairs(0.0, 9))
    page.report(Report(result=result))
    (kept,) = runs[0].results
    assert all(not metric.samples for metric in kept.metrics)
    assert kept.comparison == result.comparison


def test_results_that_are_not_on_the_page_are_counted(tmp_path: Path) -> None:
    page = _page(tmp_path / "page" / "run.txt")
    (tmp_path / "page").write_text("in the way")
    for count in (1, 2):
        with pytest.raises(ReporterFailed):
            page.report(report_of(ok_result()))
        assert page.unreported == count
    (tmp_path / "page").unlink()
    page.close()
    assert page.unreported == 0
