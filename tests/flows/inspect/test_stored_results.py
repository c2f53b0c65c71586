"""Stored results, selected by time, device, commit and name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.core.errors import UsageError
from harness.core.result import Result
from harness.flows.inspect.stored_results import ResultFilter, StoredResults, parse_since
from harness.testing.results import BUILD, DEVICE, STARTED, ok_result, report_of
from reporters.local import LocalReporter

PHONE = DEVICE.model_copy(update={"identity": "1A2B+sm8650", "name": "Pixel 8", "platform": "android"})
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def _keep(tree: Path, uid: str, *, run: str = "", place: int = 0, **changes: object) -> Result:
    result = ok_result(uid=uid, identifier=f"b-{uid}", started=STARTED + place).model_copy(
        update={"run": run, **changes}
    )
    LocalReporter(tree).report(report_of(result))
    return result


def _selected(tree: Path, selection: ResultFilter, path: Path | None = None) -> list[str]:
    return [stored.result.uid for stored in StoredResults(path, tree, selection)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    _keep(tmp_path, "newest", run="second", place=30, device=PHONE)
    _keep(tmp_path, "old", run="first", place=10)
    other = ok_result().benchmark.model_copy(
        update={"model": "resnet", "identifier": "r", "axes": {"backend": "xnnpack q8", "threads": 2}}
    )
    tagged = BUILD.model_copy(update={"commit": "abcdef012345", "commit_name": "v1.0"})
    _keep(tmp_path, "middle", run="second", place=20, benchmark=other, build=tagged)
    return tmp_path


@pytest.mark.parametrize("by_path", [False, True])
@pytest.mark.parametrize(
    ("selection", "uids"),
    [
        (ResultFilter(), ["old", "middle", "newest"]),
        (ResultFilter(last_run=True), ["middle", "newest"]),
        (ResultFilter(since=STARTED + 20), ["middle", "newest"]),
        (ResultFilter(devices=("Pixel 8",)), ["newest"]),
        (ResultFilter(devices=("1A2B", "nothing")), ["newest"]),
        (ResultFilter(commit="abcdef"), ["middle"]),
        (ResultFilter(commit="v1.0"), ["middle"]),
        (ResultFilter(only=("*b-*",)), ["old", "newest"]),
        (ResultFilter(only=("model:res*", "mv2/b-old")), ["old", "middle"]),
        (ResultFilter(only=("backend:xnnpack q8",)), ["middle"]),
        (ResultFilter(only=("threads:2",), devices=("Pixel 8",)), []),
        (ResultFilter(last_run=True, only=("*old",)), []),
    ],
    ids=str,
)
def test_every_condition_selects(selection: ResultFilter, uids: list[str], tree: Path, by_path: bool) -> None:
    assert _selected(tree, selection, tree if by_path else None) == uids


def test_results_of_a_harness_that_stored_no_run_are_runs_of_their_own(tmp_path: Path) -> None:
    _keep(tmp_path, "one", place=1)
    _keep(tmp_path, "two", place=2)
    assert _selected(tmp_path, ResultFilter(last_run=True)) == ["two"]


def test_a_damaged_result_is_remembered(tree: Path) -> None:
    stored = StoredResults(None, tree)
    next(iter(tree.rglob("result.json"))).write_text("{")
    assert len(list(stored)) == 2
    assert "not a result" in stored.unreadable[0].message


@pytest.mark.parametrize(
    ("only", "uids"), [((), ["middle", "newest"]), (("*old",), ["old"]), (("*newest",), ["newest"]), (("none",), [])]
)
def test_the_last_run_with_selected_results_is_read_from_the_end(
    tree: Path, only: tuple[str, ...], uids: list[str]
) -> None:
    stored = StoredResults(None, tree, ResultFilter(only=only))
    assert [each.result.uid for each in stored.load_last_run()] == uids


def test_one_damaged_result_does_not_hide_that_nothing_is_called_so(tree: Path) -> None:
    stored = StoredResults(None, tree, ResultFilter(only=("none",)))
    next(iter(tree.rglob("result.json"))).write_text("{")
    assert list(stored) == []
    error = stored.explain_none()
    assert error.message == "no such result: --only none"
    assert "benchmarks there: " in str(error.hint)
    assert "not a result" in str(error.hint)


def test_tags_are_refused_because_no_result_has_them() -> None:
    with pytest.raises(UsageError, match="no tags"):
        ResultFilter(only=("tag:nightly",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2d", NOW - timedelta(days=2)),
        ("1.5h", NOW - timedelta(minutes=90)),
        ("90m", NOW - timedelta(minutes=90)),
        ("1w", NOW - timedelta(days=7)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
        ("04:00", NOW.replace(hour=4, minute=0, second=0, microsecond=0)),
        ("04:00:30", NOW.replace(hour=4, minute=0, second=30, microsecond=0)),
        ("2026-11-20 14:30", datetime(2026, 11, 20, 14, 30, tzinfo=UTC)),
        ("2026-11-20T14:30+02:00", datetime(2026, 11, 20, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_or_an_age(text: str, expected: datetime) -> None:
    assert parse_since(text, NOW) == (expected.timestamp(), False)


def test_the_last_run_is_a_time_too() -> None:
    assert parse_since("LAST", NOW) == (None, True)


@pytest.mark.parametrize("text", ["", "yesterday", "2 days", "-1d", "25:00"])
def test_anything_else_is_a_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        parse_since(text, NOW)
