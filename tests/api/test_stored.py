"""`harness.load`, and tables of what it returns."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.testing.results import failed_result, ok_result
from tests.cli.project import generic, observe, one_test


def test_results_are_read_again_oldest_first(place: Path) -> None:
    spec = generic(one_test("a", observe(1, 2, 3)), one_test("bad", observe(after="raise SystemExit(3)")))
    measured = harness.run(spec)
    loaded = harness.load(place / "results")
    assert loaded.results == measured.results
    assert loaded.exit_code is measured.exit_code
    assert loaded.error is None
    assert repr(loaded.failed).startswith("(<Result ")
    assert repr(loaded.failed).endswith(": failed>,)")
    assert "/a on " in repr(loaded)
    assert str(loaded[0]) == repr(loaded[0])
    table = harness.frame(loaded)
    assert table["identifier"].tolist() == ["a", "bad"]
    assert harness.frame(loaded[0])["median"].tolist() == [2.0]
    assert harness.samples(loaded)["value"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(harness.UsageError, match=r"'LAST' is a place, and no results\n  hint: harness.load\('LAST'\)"):
        harness.samples("LAST")  # type: ignore[arg-type]


def test_a_damaged_file_is_a_message_beside_others_and_an_error_alone(place: Path) -> None:
    harness.run(generic(one_test("a", observe(1, 2, 3))))
    (place / "results" / "damaged").mkdir()
    damaged = place / "results" / "damaged" / "result.json"
    damaged.write_text("{")
    loaded = harness.load(place / "results")
    assert len(loaded) == 1
    assert loaded.exit_code is harness.ExitCode.ENVIRONMENT
    assert isinstance(loaded.error, harness.EnvironmentProblem)
    assert str(damaged) in loaded.messages[0]
    with pytest.raises(harness.EnvironmentProblem, match="is not a result"):
        harness.load(damaged)


def test_where_no_result_is_there_is_a_mistake(place: Path) -> None:
    with pytest.raises(harness.UsageError, match="no result in"):
        harness.load(place / "missing")
    with pytest.raises(harness.UsageError, match="no result in"):
        harness.load(place)


def test_the_words_of_report_name_results(place: Path) -> None:
    earlier = harness.run(generic(one_test("a", observe(1, 2, 3))))
    later = harness.run(generic(one_test("b", observe(1, 2, 3))))
    assert [result.uid for result in harness.load("LAST")] == [result.uid for result in harness.load()]
    assert harness.load("LAST").results == later.results
    folder = harness.load(place / "results")[0]
    assert folder == earlier[0]
    names = sorted(path.name for path in (place / "results").iterdir() if path.is_dir() and path.name[0] != ".")
    assert sum(len(harness.load(name)) for name in names) == 2


def test_any_results_make_a_table() -> None:
    assert len(harness.frame([ok_result(), failed_result()])) == len(harness.frame(ok_result())) + 1
