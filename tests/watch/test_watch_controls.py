"""What a commit is held against."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.builders.sources.git import GitSource
from harness.core.commit import Commit
from harness.watch.controls import ControlPolicy, _monday
from harness.watch.new_commits import resolve_newest
from tests.e2e.repositories import need, run
from tests.watch.watching import MONDAY, WEEK_S, Line

DAY_S = 24 * 3600


def history(*times: int) -> Line:
    ids = [f"c{number}" for number in range(len(times))]
    return Line(ids, dict(zip(ids, times, strict=True)))


def control(line: Line, treatment: str, *unusable: str) -> str | None:
    found = ControlPolicy(line).choose_control(line.commit(treatment), None, frozenset(unusable))
    return found.id if found else None


def test_the_control_is_the_first_commit_of_the_week() -> None:
    line = history(MONDAY - 1, MONDAY, MONDAY + DAY_S, MONDAY + 6 * DAY_S)
    assert [control(line, one) for one in ("c1", "c2", "c3")] == ["c0", "c1", "c1"]


def test_the_first_commit_of_a_week_is_held_against_the_first_of_the_week_before() -> None:
    line = history(MONDAY - WEEK_S, MONDAY - DAY_S, MONDAY)
    assert control(line, "c2") == "c0"


def test_weeks_without_commits_are_skipped() -> None:
    line = history(MONDAY - 20 * WEEK_S, MONDAY)
    assert control(line, "c1") == "c0"


def test_the_first_commit_of_all_has_no_control() -> None:
    assert control(history(MONDAY), "c0") is None


def test_a_control_that_cannot_be_built_gives_way_to_the_next_of_the_week() -> None:
    line = history(MONDAY, MONDAY + 1, MONDAY + 2)
    assert control(line, "c2", "c0") == "c1"


def test_a_week_that_cannot_be_built_gives_way_to_the_one_before() -> None:
    line = history(MONDAY - 2, MONDAY - 1, MONDAY, MONDAY + 1, MONDAY + 2)
    assert control(line, "c4", "c2", "c3") == "c0"
    assert control(line, "c4", "c2", "c3", "c0") == "c1"


def test_a_pinned_control_is_never_held_against_itself(line: Line) -> None:
    controls = ControlPolicy(line, line.commit("c0"))
    assert controls.choose_control(line.commit("c2"), None, frozenset()) == line.commit("c0")
    assert controls.choose_control(line.commit("c0"), None, frozenset()) is None


def test_sources_without_times_are_compared_with_the_commit_before(line: Line) -> None:
    controls = ControlPolicy(line)
    assert controls.choose_control(line.commit("c2"), line.commit("c1"), frozenset()) == line.commit("c1")
    assert controls.choose_control(line.commit("c0"), None, frozenset()) is None


def test_the_first_commit_of_a_source_without_times_is_held_against_where_watching_began(line: Line) -> None:
    def control_of(treatment: str, since: str, *unusable: str) -> Commit | None:
        return ControlPolicy(line, since=since).choose_control(line.commit(treatment), None, frozenset(unusable))

    assert control_of("c1", "c0") == line.commit("c0")
    assert control_of("c1", "c1") is None, "never itself"
    assert control_of("c1", "c2") is None, "never a later one"
    assert control_of("c1", "c9") is None, "it is gone"
    assert control_of("c1", "c0", "c0") is None, "it does not build"


@given(st.lists(st.integers(1, 3 * DAY_S), min_size=1, max_size=60), st.data())
def test_a_control_is_always_earlier_and_never_itself(gaps: list[int], data: st.DataObject) -> None:
    times = [MONDAY + sum(gaps[:number]) for number in range(len(gaps))]
    line = history(*times)
    number = data.draw(st.integers(0, len(times) - 1))
    found = control(line, f"c{number}")
    if number == 0:
        assert found is None
        return
    assert found is not None
    assert int(found[1:]) < number
    week = [one for one in range(number) if _monday(times[one]) == _monday(times[number])]
    if week:
        assert int(found[1:]) == week[0]


@given(st.integers(0, 4_000_000_000))
def test_weeks_begin_on_monday_in_utc(time: int) -> None:
    monday = _monday(time)
    begin = datetime.fromtimestamp(monday, UTC)
    assert begin.isocalendar()[:2] == datetime.fromtimestamp(time, UTC).isocalendar()[:2]
    assert (begin.weekday(), begin.hour, begin.minute, begin.second) == (0, 0, 0, 0)
    assert 0 <= time - monday < WEEK_S


@pytest.mark.slow
def test_weeks_are_found_in_a_real_history_that_grows_at_its_remote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    upstream, user = tmp_path / "upstream", tmp_path / "user"
    upstream.mkdir()
    run(upstream, "git", "init", "--quiet", "--initial-branch=main")

    def commit(time: int) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{time} +0900")
        run(upstream, "git", "commit", "--quiet", "--allow-empty", "-m", f"at {time}")
        return run(upstream, "git", "rev-parse", "HEAD")

    commit(MONDAY - DAY_S)
    first = commit(MONDAY + 60)
    run(tmp_path, "git", "clone", "--quiet", str(upstream), str(user))
    newer = [commit(MONDAY + number * DAY_S) for number in range(1, 6)]
    source = GitSource(user, cache_dir=tmp_path / "cache")
    source.fetch()
    tip = resolve_newest(source, ("origin/main", "main"))
    assert tip.id == newer[-1]
    found = ControlPolicy(source).choose_control(tip, None, frozenset())
    assert found is not None
    assert found.id == first
    other = ControlPolicy(source).choose_control(tip, None, frozenset({first}))
    assert other is not None
    assert other.id == newer[0]
