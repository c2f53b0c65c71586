"""Points of devices whose health was bad afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage, Closing, Verification
from harness.core.culprit import Candidate, SearchResult
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem
from harness.core.series import Series, SeriesKey, SeriesPoint
from harness.watch.closings import close_alarms, reopen_alarms
from harness.watch.loop import watch
from harness.watch.store.state import State
from harness.watch.tasks import CommitOutcome, WatchTasks
from tests.watch.test_watch_alarms import RecordingChannel, slow_commit, step_or_recovery
from tests.watch.watching import Clock, Laboratory, Line, confirmed, found, orders, point, whole_series

KEY = SeriesKey(benchmark="mv2", device="board", metric="NET latency")
DOUBT = DeviceDoubt(
    identity="phone 2",
    name="phone 2",
    device_class="pixel",
    since=200.0,
    until=300.0,
    reason="the reference changed by +12.0 % from its usual figure",
)


@dataclass
class Doubts:
    """Doubts that a lab knows, or why they cannot be read."""

    doubts: Sequence[DeviceDoubt] = ()
    problem: EnvironmentProblem | None = None

    def find(self) -> Sequence[DeviceDoubt]:
        if self.problem is not None:
            raise self.problem
        return self.doubts


@pytest.fixture
def line() -> Line:
    return Line([f"c{number}" for number in range(4)])


def measured(commit: str, *, at: float, device: str = "phone 2") -> SeriesPoint:
    checks = {"phone 1": (150.0,), device: (at,)}
    return point("c0", commit=commit).model_copy(update={"last_good_checks": checks})


def commits_in_series(state: State) -> list[str]:
    return [each.commit for each in state.points.series(KEY).points]


def run(state: State, line: Line, laboratory: Laboratory, clock: Clock, doubts: Doubts) -> list[str]:
    said: list[str] = []
    tasks = WatchTasks(laboratory.compare, find_doubts=doubts.find)
    watch(orders(line, base="c0", since="c0"), tasks, state, timing=clock.timing, say=said.append)
    return said


@pytest.fixture
def measured_once(state: State, line: Line, laboratory: Laboratory, clock: Clock) -> Doubts:
    """Doubts about none of three commits that were measured, the second of them after the check of the doubt."""
    points = (measured("c1", at=100.0), measured("c2", at=200.0), measured("c3", at=400.0))
    laboratory.answers = {each.commit: CommitOutcome(points=(each,)) for each in points}
    doubts = Doubts()
    run(state, line, laboratory, clock, doubts)
    assert commits_in_series(state) == ["c1", "c2", "c3"]
    laboratory.asked.clear()
    return doubts


def test_a_point_in_doubt_is_left_out_and_its_commit_measured_again(
    measured_once: Doubts, state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    measured_once.doubts = [DOUBT]
    laboratory.answers["c2"] = CommitOutcome(points=(measured("c2", at=500.0),))
    said = run(state, line, laboratory, clock, measured_once)
    assert laboratory.treatments == ["c2"]
    assert [each.last_good_checks["phone 2"] for each in state.points.series(KEY).points] == [
        (100.0,),
        (500.0,),
        (400.0,),
    ]
    assert f"c2 is measured again: {DOUBT.note.message}" in said
    assert [each.doubt for each in state.points.of_commit("c2")] == [DOUBT.note.message, ""]
    laboratory.asked.clear()
    assert run(state, line, laboratory, clock, measured_once) == []
    assert laboratory.asked == [], "once for each doubt"


def test_a_point_counts_again_whose_doubt_was_resolved(
    measured_once: Doubts, state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    measured_once.doubts = [DOUBT]
    laboratory.answers["c2"] = CommitOutcome(points=(measured("c2", at=500.0),))
    run(state, line, laboratory, clock, measured_once)
    measured_once.doubts = [DOUBT.model_copy(update={"resolved": True})]
    said = run(state, line, laboratory, clock, measured_once)
    assert commits_in_series(state) == ["c1", "c2", "c2", "c3"]
    assert said == ["c2 counts again: its devices are in doubt no more"]


def test_a_series_is_read_anew_without_its_points_in_doubt(
    measured_once: Doubts, state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    read: list[list[tuple[float, ...]]] = []

    def find_changes(series: Series) -> object:
        read.append([each.last_good_checks["phone 2"] for each in series.points])
        raise _Enough

    measured_once.doubts = [DOUBT]
    laboratory.answers["c2"] = CommitOutcome(points=(measured("c2", at=500.0),))
    tasks = WatchTasks(laboratory.compare, whole_series(find_changes), find_doubts=measured_once.find)  # type: ignore[arg-type]
    with pytest.raises(_Enough):
        watch(orders(line, base="c0"), tasks, state, timing=clock.timing)
    assert read == [[(100.0,), (500.0,), (400.0,)]]


class _Enough(Exception):
    pass


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_an_alarm_whose_verification_is_in_doubt_is_verified_again(
    state: State,
    line: Line,
    laboratory: Laboratory,
    clock: Clock,
    is_confirmed: bool,
) -> None:
    channel, doubts = RecordingChannel(), Doubts()
    slow_commit(laboratory, *line.ids[1:])
    searched: list[str | None] = []

    def search(
        _: Alarm, progress: str | None, save: Callable[[str], None]
    ) -> tuple[SearchResult, tuple[Candidate, ...]]:
        searched.append(progress)
        save("half of it")
        return found("c1")

    def verify(again: Alarm) -> Verification:
        is_first = not again.reopened
        update = {
            "last_good_checks": {"phone 2": (200.0 if is_first else 400.0,)},
            "confirmed": is_first or is_confirmed,
        }
        return confirmed(again).model_copy(update=update)

    tasks = WatchTasks(laboratory.compare, step_or_recovery, verify, search, find_doubts=doubts.find)
    watch(orders(line, base="c0", since="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert [event for _, event in channel.events] == [AlarmEvent.CONFIRMED, AlarmEvent.BISECTED]
    channel.events.clear()
    doubts.doubts = [DOUBT]
    for _ in range(2):
        watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    ends = (AlarmEvent.CONFIRMED, AlarmEvent.BISECTED) if is_confirmed else (AlarmEvent.CLOSED,)
    assert [event for _, event in channel.events] == [AlarmEvent.REOPENED, *ends]
    (after,) = state.alarms.in_stages(*AlarmStage)
    assert after.stage is (AlarmStage.REPORTED if is_confirmed else AlarmStage.CLOSED)
    assert after.reopened == (f"its verification is in doubt: {DOUBT.note.message}",)
    assert searched == [None, None][: 1 + is_confirmed], "the pairs of the first search may be wrong, too"


def test_a_suspicion_that_a_person_opened_again_and_that_is_refuted_is_told_to_nobody(
    state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    channel = RecordingChannel()
    slow_commit(laboratory, *line.ids[1:])
    watch(orders(line, base="c0", since="c0"), WatchTasks(laboratory.compare, step_or_recovery, _fail), state)
    close_alarms(state.path, "step of mv2", Closing(person="ada", time=9.0, reason="wanted"))
    reopen_alarms(state.path, "step of mv2", "bob", "still slow", 10.0)

    def refute(alarm: Alarm) -> Verification:
        return confirmed(alarm).model_copy(update={"confirmed": False})

    tasks = WatchTasks(laboratory.compare, step_or_recovery, refute)
    watch(orders(line, base="c0"), tasks, state, channels=(channel,), timing=clock.timing)
    assert channel.events == []
    (after,) = state.alarms.in_stages(*AlarmStage)
    assert after.stage is AlarmStage.CLOSED


def _fail(_: Alarm) -> Verification:
    raise EnvironmentProblem("no phone", hint="plug one in")


def test_doubts_that_cannot_be_read_change_nothing_and_are_said_once(
    measured_once: Doubts, state: State, line: Line, laboratory: Laboratory, clock: Clock
) -> None:
    measured_once.problem = EnvironmentProblem("doubts.json is damaged", hint="restore it")
    line.ids += ["c4", "c5"]
    said = run(state, line, laboratory, clock, measured_once)
    assert [text for text in said if "damaged" in text] == ["doubts.json is damaged\n  hint: restore it"]
    assert laboratory.treatments == ["c4", "c5"]
    assert commits_in_series(state) == ["c1", "c2", "c3", "c4", "c5"]
