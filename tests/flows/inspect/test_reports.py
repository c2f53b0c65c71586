"""`harness report`: stored results, listed and shown."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from harness.config.settings import Settings
from harness.core.culprit import OF_SEARCH, SearchAnswer, SearchEnding, SearchResult
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import FlushOutcome, Progress
from harness.core.reproduction import Reproduction
from harness.core.result import Report
from harness.flows.compare.journal import journal_folder
from harness.flows.inspect import reports
from harness.flows.inspect.stored_results import EVERYTHING, ResultFilter
from harness.presentation.documents import ReportDocument
from harness.store.search_answers import save_answer
from harness.testing.progress import RecordedProgress
from harness.testing.results import BUILD, DEVICE, failed_result, noisy_result, ok_result, report_of
from reporters.local import LocalReporter
from reporters.simple_local import SimpleLocalReporter
from tests.files.forbidden import forbid
from tests.presentation.comparison_samples import compared, identical, made_pairs


def _keep(folder: Path) -> list[Path]:
    results = (ok_result(identifier="fp32"), noisy_result(), failed_result(identifier="q8[int8]"))
    return [Path(LocalReporter(folder).report(report_of(result))) for result in results]


def _latest(folder: Path, width: int | None = None, code: ExitCode = ExitCode.OK) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=width is not None, color_system=None)
    assert reports.latest(Settings(local_reporter=folder), console) is code
    return stream.getvalue()


def _show(path: Path, folder: Path) -> tuple[ExitCode, str]:
    stream = io.StringIO()
    code = reports.show(path, Settings(local_reporter=folder), Console(file=stream))
    return code, stream.getvalue()


def test_the_list_names_each_result(tmp_path: Path) -> None:
    places = _keep(tmp_path)
    text = _latest(tmp_path)
    assert all(place.relative_to(tmp_path).as_posix() in text for place in places)
    assert "mv2/q8[int8]" in text
    assert "814 µs" in text
    marks = [line.split(" ")[0] for line in text.splitlines() if "2025-10-09" in line]
    assert sorted(marks) == ["", "!", "✗"]


def test_the_list_shows_verdicts_of_comparisons(tmp_path: Path) -> None:
    for result in (compared("slow", made_pairs(0.05, 9)), identical("alike")):
        LocalReporter(tmp_path).report(report_of(result))
    lines_by_title = {line.split()[3]: line for line in _latest(tmp_path).splitlines() if "2025-10-09" in line}
    assert lines_by_title["mv2/slow"].startswith("▼ ")
    assert " regression " in lines_by_title["mv2/slow"]
    assert " +4.98 % " in lines_by_title["mv2/slow"]
    assert lines_by_title["mv2/alike"].startswith("= ")
    assert " no change " in lines_by_title["mv2/alike"]


def test_the_list_fits_a_terminal(tmp_path: Path) -> None:
    _keep(tmp_path)
    rows = [line for line in _latest(tmp_path, width=80).splitlines() if "2025-10-09" in line]
    assert len(rows) == 3
    assert all(len(row) <= 80 and "mv2/" in row for row in rows)
    assert "a wider terminal also shows: " in _latest(tmp_path, width=80)
    assert "wider terminal" not in _latest(tmp_path)


def test_an_empty_folder_is_reported(tmp_path: Path) -> None:
    assert _latest(tmp_path) == f"no results in {tmp_path}\n"


def test_a_result_is_shown_by_folder_file_or_relative_path(tmp_path: Path) -> None:
    place = _keep(tmp_path)[0]
    shown = [_show(path, tmp_path) for path in (place, place / "result.json", place.relative_to(tmp_path))]
    assert {code for code, _ in shown} == {ExitCode.OK}
    assert len({text for _, text in shown}) == 1
    assert "fp32" in shown[0][1]
    assert "814 µs" in shown[0][1]


def test_the_display_names_the_command_that_shows_every_note(tmp_path: Path) -> None:
    place = Path(LocalReporter(tmp_path).report(report_of(noisy_result())))
    shown = _show(place, tmp_path)[1]
    assert shown.endswith(f"`harness report {place} -v` shows every note in full, and how to measure again\n")
    stream = io.StringIO()
    reports.show(place, Settings(local_reporter=tmp_path, verbose=True), Console(file=stream))
    assert "shows every note" not in stream.getvalue()


def test_the_verbose_display_shows_how_to_measure_each_result_again(tmp_path: Path) -> None:
    reproduction = Reproduction(
        command=("harness", "run", "-b", "/a b.json"), benchmark="mv2/new", benchmark_digest="d" * 64, device="x"
    )
    scripted = ok_result(identifier="scripted").benchmark.model_copy(update={"specification": "<specification 2>"})
    for result in (
        ok_result(identifier="old"),
        ok_result(identifier="new").model_copy(update={"reproduction": reproduction}),
        ok_result(identifier="scripted").model_copy(update={"benchmark": scripted, "reproduction": reproduction}),
    ):
        LocalReporter(tmp_path).report(report_of(result))
    stream = io.StringIO()
    settings = Settings(local_reporter=tmp_path, verbose=True)
    reports.show(tmp_path, settings, Console(file=stream, width=40))
    shown = stream.getvalue()
    assert shown.count(reproduction.line) == 1
    assert f"\n{reproduction.line}\n" in shown
    assert "unknown: its specification was a dictionary" in shown
    assert "unknown: nothing names its runner" in shown


def test_the_last_run_tells_of_a_comparison_that_was_interrupted_after_it(tmp_path: Path) -> None:
    result = compared("slow", made_pairs(0.05, 9))
    LocalReporter(tmp_path / "results").report(report_of(result))
    settings = Settings(local_reporter=tmp_path / "results", cache_dir=tmp_path / "cache")
    journal = journal_folder(settings.cache_dir) / "a.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("")
    for later, is_told in ((3600.0, True), (-3600.0, False)):
        os.utime(journal, (0.0, result.finished + later))
        stream = io.StringIO()
        assert reports.show(None, settings, Console(file=stream), ResultFilter(last_run=True)) is ExitCode.OK
        assert ("a comparison was measured that has not ended" in stream.getvalue()) == is_told


def test_a_line_of_the_simple_reporter_is_shown(tmp_path: Path) -> None:
    file = Path(SimpleLocalReporter(tmp_path).report(report_of(ok_result())))
    assert "814 µs" in _show(file, tmp_path)[1]


def test_a_folder_shows_every_result_below_it(tmp_path: Path) -> None:
    _keep(tmp_path)
    code, text = _show(tmp_path, tmp_path)
    assert code is ExitCode.OK
    assert "✗ mv2/q8[int8]: crashed" in text
    assert text.count("814 µs") == 1


def test_a_damaged_result_is_named_and_fails_the_command(tmp_path: Path) -> None:
    damaged = _keep(tmp_path)[0] / "result.json"
    damaged.write_text("{")
    code, text = _show(tmp_path, tmp_path)
    assert code is ExitCode.ENVIRONMENT
    assert str(damaged) in text
    with pytest.raises(EnvironmentProblem, match="not a result"):
        _show(damaged, tmp_path)


def test_a_damaged_result_is_named_when_the_index_is_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = _keep(tmp_path)[0] / "result.json"
    damaged.write_text("{")
    (tmp_path / "index.jsonl").unlink()
    assert "mv2/q8[int8]" in _latest(tmp_path, code=ExitCode.ENVIRONMENT)
    assert f"{damaged} is damaged" in capsys.readouterr().err.replace("\n", "")


def test_a_damaged_result_is_named_instead_of_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = _keep(tmp_path)[0] / "result.json"
    damaged.write_text("{")
    text = _latest(tmp_path, code=ExitCode.ENVIRONMENT)
    assert "mv2/q8[int8]" in text
    assert "mv2/fp32" not in text
    assert "shown;" not in text
    assert f"✗ {damaged} is not a result" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("selection", [EVERYTHING, ResultFilter(only=("mv2/fp32",))])
def test_a_tree_of_damaged_results_is_not_an_empty_one(tmp_path: Path, selection: ResultFilter) -> None:
    damaged = Path(LocalReporter(tmp_path).report(report_of(ok_result(identifier="fp32")))) / "result.json"
    damaged.write_text("{")
    settings = Settings(local_reporter=tmp_path)
    assert reports.latest(settings, Console(file=io.StringIO()), selection) is ExitCode.ENVIRONMENT


def test_the_last_run_names_its_damaged_results(tmp_path: Path) -> None:
    place = Path(LocalReporter(tmp_path).report(report_of(ok_result(identifier="fp32"))))
    (place / "result.json").write_text("{")
    settings = Settings(local_reporter=tmp_path)
    with pytest.raises(EnvironmentProblem, match=f"{place}/result.json is not a result"):
        reports.show(None, settings, Console(file=io.StringIO()), ResultFilter(last_run=True))


@pytest.mark.parametrize(
    ("selection", "asked", "hint"),
    [
        (ResultFilter(devices=("phone",)), "--device phone", f"devices there: {DEVICE.name}"),
        (ResultFilter(commit="zzz"), "--commit zzz", f"commits there: {BUILD.commit}"),
        (
            ResultFilter(only=("x y",), devices=(DEVICE.identity,)),
            "--only 'x y', --device ",
            "benchmarks there: mv2/fp32",
        ),
        (ResultFilter(commit="z", devices=("p",)), "", f"devices there: {DEVICE.name}; commits there: {BUILD.commit}"),
    ],
)
def test_who_asks_for_what_is_not_there_is_told_what_is(
    tmp_path: Path, selection: ResultFilter, asked: str, hint: str
) -> None:
    LocalReporter(tmp_path).report(report_of(ok_result(identifier="fp32")))
    settings, console = Settings(local_reporter=tmp_path), Console(file=io.StringIO())
    with pytest.raises(UsageError) as listed:
        reports.latest(settings, console, selection)
    assert listed.value.hint == hint
    with pytest.raises(UsageError, match=f"no such result: {asked}.* in the last run") as shown:
        reports.show(None, settings, console, replace(selection, last_run=True))
    assert shown.value.hint == hint


def test_a_path_without_a_result_is_a_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("vm/none")):
        with pytest.raises(UsageError, match="no result in"):
            _show(path, tmp_path)


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = _keep(tmp_path)[0]
    with monkeypatch.context() as patch:
        forbid(place, patch)
        code, text = _show(tmp_path, tmp_path)
        assert code is ExitCode.ENVIRONMENT
        assert f"{place} cannot be read: permission denied" in text
        assert "mv2/q8[int8]" in text
    forbid(tmp_path, monkeypatch)
    with pytest.raises(EnvironmentProblem, match=f"{tmp_path} cannot be read: permission denied"):
        _show(tmp_path, tmp_path)


class _Spooling:
    """Reporter that sends one result of three."""

    name = "spooling"

    def report(self, _report: Report) -> None:
        raise AssertionError("nothing is reported")

    def close(self) -> None:
        raise AssertionError("nothing was reported")

    def flush(self, _progress: Progress) -> FlushOutcome:
        return FlushOutcome(sent=1, waiting=2, reasons=("the server is down",))


def test_flush_flushes_every_spooling_reporter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("harness.plugins.reporters", lambda _settings: (LocalReporter(tmp_path), _Spooling()))
    progress = RecordedProgress()
    assert reports.flush(Settings(), progress) is ExitCode.ENVIRONMENT
    assert progress.lines == ["1 sent, 2 waiting, 0 refused", "  the server is down"]


def test_flush_without_a_server_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no server"):
        reports.flush(Settings(local_reporter=tmp_path), RecordedProgress())


def _render(
    folder: Path, reporters: dict[str, str], selection: ResultFilter = EVERYTHING
) -> tuple[ExitCode, list[str]]:
    progress = RecordedProgress()
    settings = Settings(local_reporter=folder, reporters=reporters)
    return reports.render(None, settings, selection, progress), progress.lines


def test_stored_results_are_rendered_by_any_reporter(tmp_path: Path) -> None:
    _keep(tmp_path / "tree")
    files = {name: tmp_path / f"page.{name}" for name in ("html", "markdown")}
    code, lines = _render(tmp_path / "tree", {name: str(file) for name, file in files.items()})
    assert code is ExitCode.OK
    assert lines == [f"3 results: {file}" for file in files.values()]
    for file in files.values():
        text = file.read_text(encoding="utf-8")
        assert "fp32" in text
        assert "q8[int8]" in text.replace("\\", "")
        assert "Not finished" not in text


def test_only_selected_results_are_rendered(tmp_path: Path) -> None:
    _keep(tmp_path / "tree")
    page = tmp_path / "page.html"
    assert _render(tmp_path / "tree", {"html": str(page)}, ResultFilter(only=("*fp32",)))[1] == [f"1 result: {page}"]
    assert "q8[int8]" not in page.read_text(encoding="utf-8")


def test_a_page_of_stored_results_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(tmp_path / "tree")
    written: list[Path] = []
    monkeypatch.setattr("reporters.report_file.write_atomically", lambda file, _text: written.append(file))
    _render(tmp_path / "tree", {"html": str(tmp_path / "page.html")})
    assert written == [tmp_path / "page.html"]


def test_a_damaged_result_is_named_when_the_others_are_rendered(tmp_path: Path) -> None:
    damaged = _keep(tmp_path / "tree")[0] / "result.json"
    damaged.write_text("{")
    code, lines = _render(tmp_path / "tree", {"html": str(tmp_path / "page.html")})
    assert code is ExitCode.ENVIRONMENT
    assert str(damaged) in lines[0]
    assert lines[1].startswith("2 results: ")


@pytest.mark.parametrize(
    ("reporters", "message"),
    [
        ({"local": ""}, "stores results"),
        ({"simple_screen": ""}, "asks for nothing"),
        ({"html": ""}, "names no file"),
        ({"nothing": ""}, "no reporter"),
    ],
)
def test_a_reporter_that_renders_nothing_is_refused(reporters: dict[str, str], message: str, tmp_path: Path) -> None:
    _keep(tmp_path / "tree")
    with pytest.raises(UsageError, match=message):
        _render(tmp_path / "tree", reporters)


def test_a_selection_without_results_writes_nothing(tmp_path: Path) -> None:
    _keep(tmp_path / "tree")
    page = tmp_path / "page.html"
    with pytest.raises(UsageError, match="no such result"):
        _render(tmp_path / "tree", {"html": str(page)}, ResultFilter(only=("nothing",)))
    assert not page.exists()


def _show_last(folder: Path) -> str:
    stream = io.StringIO()
    reports.show(None, Settings(local_reporter=folder), Console(file=stream), ResultFilter(last_run=True))
    return stream.getvalue()


def _keep_steps(folder: Path, run: str) -> None:
    for result in (compared("slow", made_pairs(0.05, 9)), identical("alike")):
        step = result.model_copy(update={"run": run, "run_type": OF_SEARCH})
        LocalReporter(folder).report(report_of(step))


def test_the_last_run_shows_the_answer_of_a_bisection_before_its_comparisons(tmp_path: Path) -> None:
    _keep_steps(tmp_path, "ab12")
    found = SearchResult(ending=SearchEnding.NOTHING, smallest_log_ratio=0.01, reason="nothing above 1 %")
    save_answer(tmp_path, SearchAnswer(run="ab12", benchmark="mv2/slow", good="v1", bad="v2", result=found))
    lines = _show_last(tmp_path).splitlines()
    assert lines[:2] == ["mv2/slow: bisected from v1 to v2", "nothing above 1 %"]
    assert lines[2].startswith(f"NET latency (lower is better) · {DEVICE.name} · 2025-10-09 ")
    assert ["0", "the", "same", "bytes"] in [line.split()[-4:] for line in lines]


def test_the_list_has_one_row_for_the_steps_of_a_bisection(tmp_path: Path) -> None:
    _keep_steps(tmp_path, "ab12")
    LocalReporter(tmp_path).report(report_of(ok_result()))
    rows = [line for line in _latest(tmp_path).splitlines() if "2025-10-09" in line]
    assert len(rows) == 3, "a search without an answer"
    found = SearchResult(ending=SearchEnding.NOTHING, smallest_log_ratio=0.01, reason="nothing above 1 %")
    save_answer(tmp_path, SearchAnswer(run="ab12", benchmark="mv2/slow", good="v1", bad="v2", result=found))
    lines = _latest(tmp_path).splitlines()
    rows = [line for line in lines if "2025-10-09" in line]
    assert len(rows) == 2
    assert sum(" bisected, 2 steps " in row for row in rows) == 1
    assert not any("regression" in row for row in rows)
    assert "`harness report --only '*'` lists all, with the steps of bisections" in lines
    stream = io.StringIO()
    reports.latest(Settings(local_reporter=tmp_path), Console(file=stream), ResultFilter(only=("*",)))
    assert stream.getvalue().count("2025-10-09") >= 3


def test_the_verbose_display_of_a_bisection_has_the_command_that_searches_again(tmp_path: Path) -> None:
    _keep_steps(tmp_path, "ab12")
    found = SearchResult(ending=SearchEnding.NOTHING, smallest_log_ratio=0.01, reason="nothing above 1 %")
    command = "harness bisect -b /m.json --good v1 --bad v2"
    answer = SearchAnswer(run="ab12", benchmark="mv2/slow", good="v1", bad="v2", result=found, command=command)
    save_answer(tmp_path, answer)
    stream = io.StringIO()
    settings = Settings(local_reporter=tmp_path, verbose=True)
    reports.show(None, settings, Console(file=stream), ResultFilter(last_run=True))
    assert f"to search again\n{command}\nto measure single steps again" in stream.getvalue()


def _describe_last(folder: Path) -> ReportDocument:
    stream = io.StringIO()
    reports.describe(None, Settings(local_reporter=folder), ResultFilter(last_run=True), Console(file=stream))
    return ReportDocument.model_validate_json(stream.getvalue())


def test_a_document_of_a_bisection_has_its_answer(tmp_path: Path) -> None:
    _keep_steps(tmp_path, "ab12")
    assert _describe_last(tmp_path).search is None
    found = SearchResult(ending=SearchEnding.NOTHING, smallest_log_ratio=0.01, reason="nothing above 1 %")
    answer = SearchAnswer(run="ab12", benchmark="mv2/slow", good="v1", bad="v2", result=found)
    save_answer(tmp_path, answer)
    document = _describe_last(tmp_path)
    assert document.search == answer
    assert len(document.results) == 2


def test_comparisons_of_a_search_without_an_answer_are_no_answer(tmp_path: Path) -> None:
    _keep_steps(tmp_path, "ab12")
    text = _show_last(tmp_path)
    assert text.startswith("mv2/slow: comparisons of a search that gave no answer")
    assert "--resume" in text
    assert "regression" not in text
