"""The loop of the continuous mode, with everything real but what is measured."""

from __future__ import annotations

from pathlib import Path

from harness.core.change import Outlier, Trend
from harness.core.commit import Commit
from harness.core.errors import DeviceLost
from harness.core.series import Series
from harness.core.verdict import OutputVerdict
from harness.watch.commit_processor import MOST_ROUNDS
from harness.watch.loop import WatchSummary, watch
from harness.watch.store.commits import CommitStatus
from harness.watch.store.event_log import CurrentActivity
from harness.watch.store.state import State
from harness.watch.tasks import CommitOutcome, WatchTasks
from tests.watch.watching import Clock, Laboratory, Line, for_hours, once, orders, point, whole_series


def test_the_first_start_measures_the_newest_commit(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    summary = once(state, line, laboratory, clock, base="c0")
    assert laboratory.asked == [("c0", "c2")]
    assert summary == WatchSummary({CommitStatus.DONE: 1}, (), is_unreachable=False, has_environment_problem=False)  # type: ignore[arg-type]


def test_new_commits_are_measured_in_order_the_newest_too_and_never_twice(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    once(state, line, laboratory, clock, base="c0")
    for more in (["c3"], [], ["c4", "c5"]):
        line.ids += more
        once(state, line, laboratory, clock, base="c0")
    assert laboratory.treatments == ["c2", "c3", "c4", "c5"]


def test_who_looks_only_once_measures_the_newest_although_the_step_is_not_complete(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = [f"c{number}" for number in range(9)]
    once(state, line, laboratory, clock, base="c0", since="c0", step=3)
    assert laboratory.treatments == ["c3", "c6", "c8"]
    once(state, line, laboratory, clock, base="c0", since="c0", step=3)
    assert laboratory.treatments == ["c3", "c6", "c8"], "nothing came since"


def test_a_commit_is_never_compared_with_itself(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> None:
    summary = once(state, line, laboratory, clock, base="c2")
    assert not laboratory.asked
    assert summary.commits == {CommitStatus.SKIPPED: 1}


def test_the_commit_file_is_where_the_first_start_begins_and_says_what_is_safe(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "commit"
    file.write_text("c0\n")
    laboratory.answers["c2"] = DeviceLost("unplugged")
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    assert laboratory.treatments == ["c1", "c2"]
    assert file.read_text().strip() == "c1"


def test_the_state_knows_better_than_the_commit_file(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "commit"
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    file.write_text("c0\n")
    once(state, line, laboratory, clock, base="c0", commit_file=file)
    assert laboratory.treatments == ["c2"]
    assert file.read_text().strip() == "c2"


def test_a_growing_repository_is_followed_for_days(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"

    def grow() -> None:
        if len(clock.waited) % 500 == 0:
            line.ids.append(f"c{len(line.ids)}")

    clock.meanwhile = grow
    for_hours(clock, status, 4)
    once(state, line, laboratory, clock, base="c0", interval_s=3600.0, switch=status)
    assert laboratory.treatments == line.ids[2 : 2 + len(laboratory.treatments)]
    assert 0 <= len(line.ids) - 2 - len(laboratory.treatments) <= 8, "those of the last hour"


def test_a_rewritten_history_is_reported_and_waiting_commits_that_are_gone_are_passed_over(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    said: list[str] = []
    once(state, line, laboratory, clock, base="c0")
    line.ids += ["old3", "old4"]
    laboratory.answers["old3"] = DeviceLost("away")
    once(state, line, laboratory, clock, base="c0")
    line.ids[3:] = ["new3"]
    watch(orders(line, base="c0"), WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    assert laboratory.treatments == ["c2", "old3", "new3"]
    assert any("history was rewritten" in text and "2 waiting commits" in text for text in said)


def test_a_zero_in_the_status_file_stops_after_the_commit_and_loses_nothing(
    state: State, line: Line, laboratory: Laboratory, clock: Clock, tmp_path: Path
) -> None:
    status = tmp_path / "status"

    def compare(control: Commit, treatment: Commit) -> CommitOutcome:
        status.write_text("0")
        return laboratory.compare(control, treatment)

    plan = orders(line, base="c0", since="c0", interval_s=60.0, switch=status)
    watch(plan, WatchTasks(compare), state, timing=clock.timing)
    assert laboratory.treatments == ["c1"]
    doing = state.log.read(CurrentActivity)
    assert doing is not None
    assert doing.what == "stopped"
    assert state.commits.counts() == {CommitStatus.DONE: 1, CommitStatus.WAITING: 1}


def test_a_commit_that_stands_out_is_measured_again_but_not_for_ever(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    @whole_series
    def doubts(series: Series) -> Trend:
        return Trend(outlier=Outlier(commit=series.points[-1].commit, log_ratio=0.05, score=6.0))

    watch(orders(line, base="c0"), WatchTasks(laboratory.compare, doubts), state, timing=clock.timing)
    assert laboratory.treatments == ["c2"] * MOST_ROUNDS
    (series,) = state.points.every_series()
    assert len(series.points) == MOST_ROUNDS


def test_a_machine_on_another_processor_begins_its_series_anew_and_says_so(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    line.ids = [f"c{number}" for number in range(6)]
    devices = {"c1": "board", "c2": "board+11111111", "c3": "board+11111111", "c4": "board+22222222", "c5": "boards+3"}
    for commit, device in devices.items():
        measured = point("c0", commit=commit).model_copy(update={"device": device})
        laboratory.answers[commit] = CommitOutcome(points=(measured,))
    said: list[str] = []
    plan = orders(line, base="c0", since="c0")
    watch(plan, WatchTasks(laboratory.compare), state, timing=clock.timing, say=said.append)
    anew = [line.partition(":")[0] for line in said if "begin anew" in line]
    assert anew == ["board+11111111", "board+22222222"]
    assert {series.key.device: len(series.points) for series in state.points.every_series()} == {
        "board": 1,
        "board+11111111": 2,
        "board+22222222": 1,
        "boards+3": 1,
    }


def test_a_commit_that_computes_other_outputs_is_news(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    different = point("c0", commit="c2").model_copy(update={"outputs": OutputVerdict.DIFFERENT})
    laboratory.answers["c2"] = CommitOutcome(points=(different,))
    once(state, line, laboratory, clock, base="c0")
    texts = [event.text for event in state.log.latest()]
    assert any("c2 computes other outputs than its control: mv2/xnnpack" in text for text in texts)
    (series,) = state.points.every_series()
    assert [stored.has_different_outputs for stored in series.points] == [True]
