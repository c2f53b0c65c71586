"""`harness import`: what a person sees of figures from elsewhere, in every place that shows results."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from harness.core.device import ELSEWHERE
from harness.core.result import Result
from harness.core.rivals import compute_speeds, group_rivals
from harness.flows.foreign import sources
from harness.presentation.differences import describe_difference
from harness.presentation.folded_remarks import fold_remarks
from harness.presentation.pareto import find_compromises
from harness.presentation.speeds import describe_fastest, find_fastest
from harness.store.canonical_json import load_result
from harness.store.tree import find_results
from harness.testing.results import ok_result, report_of
from reporters.local import LocalReporter

SAMPLES = Path(__file__).parents[1] / "foreign" / "samples"
LEADERBOARD = SAMPLES / "litert_leaderboard.jsonl"
MARK = "measured elsewhere, n = 5, device state unknown"

Import = Callable[..., int]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tmp_path / "tree"


@pytest.fixture
def run(tree: Path) -> Import:
    def start(*words: object, command: str = "import") -> int:
        with pytest.raises(SystemExit) as ended:
            main([command, *map(str, words), "--local-reporter", str(tree)])
        return int(ended.value.code or 0)

    return start


def _results(tree: Path) -> list[Result]:
    return [load_result(file) for file in find_results(tree)]


def test_a_phone_that_throttled_is_shown_as_such(run: Import, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(LEADERBOARD) == 0
    shown, told = capsys.readouterr()
    row = next(line for line in shown.splitlines() if "3.38 tokens/s" in line)
    assert row.startswith("!")
    assert MARK in row
    assert (
        "LLM decode_rate became 48 % lower after 2 of 5 samples and stayed so, as on a device that throttles" in shown
    )
    assert "(6.42, 6.21, 3.31, 2.75, 3.38 tokens/s)" in shown
    assert "publishes 3.34 tokens/s (median without the first, a warm-up); the median of its 5 samples" in shown
    assert "measured elsewhere, n = 140, device state unknown" in shown
    assert "fastest" not in shown
    assert "3 results measured elsewhere, of 1 file; 2 ok, 1 failed, 1 of them not to be trusted" in told


def test_a_file_is_imported_once(run: Import, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run(LEADERBOARD) == 0
    assert "3 stored already" in capsys.readouterr().err
    assert len(_results(tree)) == 3


def test_its_results_are_the_same_in_another_store(run: Import, tree: Path, tmp_path: Path) -> None:
    run(LEADERBOARD)
    first = _results(tree)
    tree.rename(tmp_path / "moved")
    run(LEADERBOARD)
    assert _results(tree) == first
    assert all(result.device and result.device.platform == ELSEWHERE for result in first)


def test_every_report_has_the_mark(run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, text, table = tmp_path / "page.html", tmp_path / "page.md", tmp_path / "table.csv"
    assert run(LEADERBOARD, "--reporter", f"html={page}", f"markdown={text}") == 0
    capsys.readouterr()
    assert MARK in page.read_text(encoding="utf-8")
    assert MARK in text.read_text(encoding="utf-8")
    assert run(command="report") == 0
    assert MARK in capsys.readouterr().out
    assert run("LAST", command="report") == 0
    assert MARK in capsys.readouterr().out
    assert run("--json", command="report") == 0
    listed = json.loads(capsys.readouterr().out)["results"]
    assert [each["origin"][:18] for each in listed] == ["measured elsewhere"] * 3
    for samples in ((), ("--samples",)):
        assert run("--export", table, *samples, command="report") == 0
        with table.open(encoding="utf-8") as file:
            assert {row["origin"][:18] for row in csv.DictReader(file)} == {"measured elsewhere"}


def test_nothing_is_concluded_from_it(run: Import, tree: Path) -> None:
    run(LEADERBOARD)
    foreign = next(result for result in _results(tree) if result.ok and result.origin and result.origin.count == 5)
    twins = [foreign, foreign.model_copy(update={"uid": "other"})]
    assert group_rivals(twins) == []
    assert compute_speeds(twins) == {}
    assert find_fastest(twins) == frozenset()
    assert list(describe_fastest(twins)) == []
    assert find_compromises(twins) == []
    for earlier, now in ((foreign, ok_result()), (ok_result(), foreign), (foreign, foreign)):
        difference = describe_difference(earlier, now)
        assert difference.relative_change is None
        assert any(MARK in words for words in difference.unlike)


def test_each_trend_is_said_with_its_own_numbers(run: Import, tree: Path) -> None:
    run(LEADERBOARD, SAMPLES / "llama_bench.jsonl")
    lines = ["".join(span.text for span in line.spans) for line in fold_remarks(_results(tree))]
    assert sum("its own samples become slower" in line for line in lines) == 1
    assert sum("as on a device that throttles" in line for line in lines) == 1
    assert not any("set `repeat`" in line for line in lines)


def test_ours_beside_it_keeps_its_own(run: Import, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    LocalReporter(tree).report(report_of(ok_result()))
    run(LEADERBOARD)
    capsys.readouterr()
    assert run(tree, command="report") == 0
    ours = next(line for line in capsys.readouterr().out.splitlines() if "mv2-xnnpack_fp32-t1" in line)
    assert "elsewhere" not in ours


def test_entries_that_cannot_be_understood_are_named(
    run: Import, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bench.jsonl"
    file.write_text((SAMPLES / "llama_bench.jsonl").read_text() + '{"n_prompt": 1}\n{"cut off', encoding="utf-8")
    assert run(file) == 4
    told = capsys.readouterr().err
    assert "bench.jsonl, line 3: `n_gen`: Field required" in told
    assert "bench.jsonl, line 4: not JSON" in told
    assert len(_results(tree)) == 2


def test_files_come_compressed_in_archives_and_from_a_pipe(
    run: Import, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (SAMPLES / "minibench.json").read_bytes()
    packed, archive = tmp_path / "results.json.gz", tmp_path / "Customer_Artifacts.zip"
    packed.write_bytes(gzip.compress(content))
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("../../Host/benchmark_results.json", content)
        members.writestr("logcat.txt", "nothing")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(packed, archive, "-") == 0
    assert len(_results(tree)) == 2


def test_names_can_be_given(run: Import, tree: Path) -> None:
    assert run(SAMPLES / "minibench.json", "--device", "Pixel 9", "--backend", "q8", "--model", "mine") == 0
    described = {(each.benchmark.model, each.backend, each.device and each.device.identity) for each in _results(tree)}
    assert described == {("mine", "q8", "elsewhere:Pixel 9")}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is of no known format: it is empty"),
        (b"{}", "llama_bench (JSON list or lines of objects"),
        (b"\x1f\x8bnothing", "is damaged"),
        (b"PK\x03\x04nothing", "cannot be unpacked"),
        (b'{"benchmarkModel": 1, "actualValue": 2}', "no measurement in"),
    ],
)
def test_other_files_are_refused_in_words(
    run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert run(file) == 2
    assert words in capsys.readouterr().err


def test_files_of_several_formats_need_a_name(run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "both.jsonl"
    file.write_text(LEADERBOARD.read_text() + (SAMPLES / "llama_bench.jsonl").read_text(), encoding="utf-8")
    assert run(file) == 2
    assert "litert_leaderboard and llama_bench" in capsys.readouterr().err
    assert run(file, "--format", "llama_bench") == 4


def test_large_files_are_refused(
    run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_FILE_BYTES", 1 << 20)
    bomb, archive = tmp_path / "bomb.gz", tmp_path / "bomb.zip"
    bomb.write_bytes(gzip.compress(b" " * (2 << 20)))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for number in range(3):
            members.writestr(str(number), b" " * (1 << 19))
    for file in (bomb, archive):
        assert run(file) == 2
        assert "is larger than 1 MiB" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "../../x", "a\0b\nc", "\u202eabc", "'; DROP"])
def test_hostile_names_are_text(run: Import, tree: Path, tmp_path: Path, name: str) -> None:
    file, page = tmp_path / "bench.jsonl", tmp_path / "page.html"
    entry = json.loads(LEADERBOARD.read_text().splitlines()[0])
    entry |= {"model": name, "device": name, "accelerator": name, "runtime_version": name}
    file.write_text(json.dumps(entry), encoding="utf-8")
    assert run(file, "--reporter", f"html={page}") == 0
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert len(_results(tree)) == 1
    assert all(tree in place.parents for place in find_results(tree))


@pytest.mark.parametrize(
    ("name", "words"),
    [("x" * 1_000_000, "should have at most 400 characters"), ("\\ud800", "unable to parse raw data as a unicode")],
)
def test_names_that_are_none_are_problems(
    run: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    file = tmp_path / "bench.jsonl"
    file.write_text(LEADERBOARD.read_text().replace("Example Phone 9", name), encoding="utf-8")
    assert run(file) == 2
    told = capsys.readouterr().err
    assert words in told
    assert len(told) < 10_000
