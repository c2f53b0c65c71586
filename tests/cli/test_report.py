"""`harness report` on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.cli import main
from harness.testing.results import DEVICE, STARTED, failed_result, ok_result, report_of
from reporters.local import LocalReporter
from tests.presentation.comparison_samples import compared, made_pairs


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    for result in (ok_result(identifier="a"), failed_result(identifier="b", started=1_760_000_100.0)):
        LocalReporter(tree).report(report_of(result))
    return tree


def _report(tree: Path, *words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["report", *map(str, words), "--local-reporter", str(tree)])
    return int(ended.value.code or 0)


def test_the_list_is_filtered(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(tree, "--only", "*/b") == 0
    shown = capsys.readouterr().out
    assert "mv2/b" in shown
    assert "mv2/a" not in shown
    assert _report(tree, "--only", "b") == 0, "tables show the identifier alone"
    assert capsys.readouterr().out == shown


def test_a_list_without_results_names_benchmarks_that_there_are(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(tree, "--only", "x", "--since", "2025-01-01") == 0
    assert "hint: benchmarks there: mv2/b, mv2/a" in capsys.readouterr().out


def test_names_that_nothing_has_are_a_mistake_as_in_every_command(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report(tree, "--only", "x") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no such results" in shown.err
    assert "hint: benchmarks there: mv2/b, mv2/a" in shown.err
    assert _report(tree, "--device", "nothing") == 2
    assert _report(tree, "LAST", "--only", "x") == 2


@pytest.mark.parametrize("name", ["Pixel 8", "Intel Xeon, 2.1 GHz", "Ann's iPhone"])
def test_a_device_is_selected_by_its_whole_name(tree: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    device = DEVICE.model_copy(update={"identity": "4711", "name": name})
    LocalReporter(tree).report(report_of(ok_result(identifier="named", device=device)))
    assert _report(tree, "--device", name) == 0
    shown = capsys.readouterr().out
    assert "mv2/named" in shown
    assert "mv2/a" not in shown


def test_an_empty_device_selects_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(tree, "--device", "") == 2
    assert "--device is empty" in capsys.readouterr().err


def test_the_last_run_is_shown_whole(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("LAST",), ("--since", "LAST")):
        assert _report(tree, *words) == 0
        shown = capsys.readouterr().out
        assert "SIGSEGV" in shown
        assert "mv2/a" not in shown


def test_a_list_without_results_says_so(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _report(tree, "--since", "1d") == 0
    assert "no such results" in capsys.readouterr().out


def test_the_list_of_everything_says_what_it_leaves_out_and_a_selection_leaves_out_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    for number in range(27):
        made = ok_result(uid=f"{number}", identifier=f"b{number:02}", started=1_760_000_000.0 + number)
        LocalReporter(tree).report(report_of(made))
    assert _report(tree) == 0
    shown = capsys.readouterr().out
    assert shown.count("mv2/b") == 25
    assert "mv2/b02" in shown
    assert "mv2/b01" not in shown
    assert "25 of 27 shown; `harness report --only '*'` lists all" in shown
    for selection in (("--only", "*"), ("--since", "2025-01-01")):
        assert _report(tree, *selection) == 0
        shown = capsys.readouterr().out
        assert shown.count("mv2/b") == 27
        assert " shown; " not in shown
        assert _report(tree, *selection, "--json") == 0
        assert len(json.loads(capsys.readouterr().out)["results"]) == 27
    assert _report(tree, "--json") == 0
    assert [result["uid"] for result in json.loads(capsys.readouterr().out)["results"]] == [str(n) for n in range(27)]


def test_reporters_and_exports_work_together(tree: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    assert _report(tree, tree, "--reporter", f"html={page}", "--export", table) == 0
    assert page.is_file()
    assert table.is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--samples",), "--samples without --export"),
        (("--flush", "--only", "x"), "--flush sends everything"),
        (("--since", "soon"), "not a time"),
        (("--commit", ""), "--commit is empty"),
        (("--export", "table.doc"), "unknown ending"),
        (("nowhere",), "no result in nowhere"),
    ],
)
def test_mistakes_are_explained(
    words: tuple[str, ...], message: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _report(tree, *words) == 2
    assert message in capsys.readouterr().err


def test_comparisons_that_are_evaluated_again_go_to_reporters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, page = tmp_path / "tree", tmp_path / "page.html"
    LocalReporter(tree).report(report_of(compared("slow", made_pairs(0.05, 40))))
    with pytest.raises(SystemExit) as ended:
        main(["compare", "--from", str(tree), "--reporter", f"html={page}"])
    assert ended.value.code == 1
    assert f"1 result: {page}" in capsys.readouterr().out
    assert "mv2/slow" in page.read_text(encoding="utf-8").replace("<wbr>", "")


def test_a_place_without_comparisons_names_the_latest_comparison(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def explain() -> str:
        with pytest.raises(SystemExit) as ended:
            main(["compare", "--from", "LAST"])
        assert ended.value.code == 2
        return capsys.readouterr().err

    monkeypatch.setenv("HARNESS_LOCAL_REPORTER", str(tree))
    assert f"there is none in {tree} either: `harness compare` measures one" in explain()
    LocalReporter(tree).report(report_of(compared("slow", made_pairs(0.05, 40))))
    LocalReporter(tree).report(report_of(ok_result(identifier="later", started=STARTED + 1e6)))
    command = explain().partition("hint: the latest one: ")[2]
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert ended.value.code == 1
    assert capsys.readouterr().out.endswith("\n1 regression\n")
