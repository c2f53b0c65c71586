"""A clock that tests move, a history in memory, and a laboratory that measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.alarm import Alarm, AlarmStage, Verification
from harness.core.change import Change, ChangeKind, Trend
from harness.core.commit import Commit
from harness.core.culprit import Candidate, Culprit, SearchEnding, SearchResult
from harness.core.effect import Effect
from harness.core.errors import UsageError
from harness.core.metric import MetricInfo
from harness.core.series import Series, SeriesKey, SeriesPoint
from harness.core.verdict import Verdict
from harness.testing.alarm_channels import example_change
from harness.watch.branch_poller import Branch
from harness.watch.controls import ControlPolicy
from harness.watch.fai_pep_files import StopFile
from harness.watch.loop import WatchPlan, WatchSummary, watch
from harness.watch.new_commits import CommitSelection
from harness.watch.store.commits import CommitStatus
from harness.watch.store.database import ColumnValue, StateDatabase
from harness.watch.store.state import MOST_KILLS, State
from harness.watch.tasks import CommitOutcome, ReadTrend, WatchTasks
from harness.watch.timing import Timing

LATENCY_IN_US = MetricInfo(name="NET latency", unit="us")
WEEK_S = 7 * 24 * 3600
MONDAY = 1_767_571_200
"""2026-01-05 00:00 UTC."""


@dataclass
class Clock:
    """Two clocks; waiting moves both, and may have consequences."""

    wall: float = 1_000_000.0
    monotonic: float = 500.0
    waited: list[float] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    def pause(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds
        self.waited.append(seconds)
        self.meanwhile()

    @property
    def timing(self) -> Timing:
        return Timing(lambda: self.wall, lambda: self.monotonic, self.pause, lambda: 0.5)


@dataclass
class Line:
    """A history without branches, in memory: a source that can be rewritten and made unreachable."""

    ids: list[str] = field(default_factory=list)
    times: dict[str, int] = field(default_factory=dict)
    subjects: dict[str, str] = field(default_factory=dict)
    problem: Exception | None = None
    name: str = "line:"
    newest: str = "main"

    def fetch(self) -> None:
        if self.problem is not None:
            raise self.problem

    def resolve(self, name: str) -> Commit:
        base, _, steps = name.partition("~")
        if base == "main" and self.ids:
            base = self.ids[-1]
        if base not in self.ids or self.ids.index(base) < int(steps or 0):
            raise UsageError(f"no {name}")
        return self.commit(self.ids[self.ids.index(base) - int(steps or 0)])

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        if older.id not in self.ids or self.ids.index(older.id) > self.ids.index(newer.id):
            raise UsageError(f"{older.id} is not before {newer.id}")
        return [self.commit(one) for one in self.ids[self.ids.index(older.id) + 1 : self.ids.index(newer.id) + 1]]

    def materialise(self, commit: Commit, folder: Path) -> None:
        raise NotImplementedError

    def commit(self, identity: str) -> Commit:
        subject = self.subjects.get(identity, f"Make {identity}")
        return Commit(source=self.name, id=identity, time=self.times.get(identity), subject=subject)


@dataclass
class Laboratory:
    """Compares nothing, and remembers what it was asked."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, CommitOutcome | Exception] = field(default_factory=dict)

    def compare(self, control: Commit, treatment: Commit) -> CommitOutcome:
        self.asked.append((control.id, treatment.id))
        answer = self.answers.get(treatment.id, CommitOutcome(points=(point(control.id, commit=treatment.id),)))
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def treatments(self) -> list[str]:
        return [treatment for _, treatment in self.asked]


def point(
    control: str, log_ratio: float = 0.0, benchmark: str = "mv2", *, commit: str = "", order: int = 0
) -> SeriesPoint:
    return SeriesPoint(
        benchmark=benchmark,
        title=f"{benchmark}/xnnpack",
        device="board",
        metric=LATENCY_IN_US,
        commit=commit,
        order=order,
        control=control,
        control_order=None,
        verdict=Verdict.NO_CHANGE,
        effect=Effect(log_ratio=log_ratio),
        pairs=10,
        result="/results/1",
    )


def change(
    identity: str = "x",
    kind: ChangeKind = ChangeKind.STEP,
    *,
    benchmark: str = "mv2",
    device: str = "board",
    first: str = "c0",
    last: str = "c1",
    recovers: tuple[str, ...] = (),
) -> Change:
    """A change of 5 % between two commits."""
    effect = Effect(log_ratio=0.05, low_log_ratio=0.04, high_log_ratio=0.06)
    return example_change(
        identity,
        effect,
        title=f"{benchmark}/xnnpack",
        kind=kind,
        benchmark=benchmark,
        device=device,
        before=first,
        after=last,
    ).model_copy(update={"recovers": recovers})


def alarm(stage: AlarmStage = AlarmStage.CONFIRMED, changed: Change | None = None) -> Alarm:
    return Alarm(change=changed or change(), stage=stage, opened=1.0, updated=2.0)


def confirmed(_: Alarm) -> Verification:
    """A verification that finds the change again."""
    return Verification(confirmed=True, verdict=Verdict.REGRESSION, reason="20 pairs", pairs=20)


def found(commit: str) -> tuple[SearchResult, tuple[Candidate, ...]]:
    """A search that finds one culprit."""
    culprit = Culprit(
        commits=(commit,), before="c0", probability=1.0, effect=Effect(log_ratio=0.05), evidence=200.0, confirmed=True
    )
    result = SearchResult(
        ending=SearchEnding.FOUND, culprits=(culprit,), smallest_log_ratio=0.01, reason=f"{commit} changed it"
    )
    return result, (Candidate(commit=Line().commit(commit), builds=True, probability=1.0),)


def orders(
    line: Line,
    *,
    step: int = 1,
    since: str | None = None,
    interval_s: float | None = None,
    switch: Path | None = None,
    commit_file: Path | None = None,
    base: str | None = None,
) -> WatchPlan:
    pinned = line.commit(base) if base else None
    return WatchPlan(
        Branch(line, ("main",), CommitSelection(step), since),
        ControlPolicy(line, pinned),
        interval_s,
        StopFile(switch),
        commit_file,
    )


def once(state: State, line: Line, laboratory: Laboratory, clock: Clock, **others: object) -> WatchSummary:
    """Do what there is to do, once."""
    return watch(orders(line, **others), WatchTasks(laboratory.compare), state, timing=clock.timing)  # type: ignore[arg-type]


def kill_with(state: State, commit: Commit) -> None:
    """Have a watcher killed with a commit until the next one gives the commit up."""
    state.commits.add(commit, CommitStatus.WAITING)
    for _ in range(MOST_KILLS):
        state.recover(1.0)
        entry = state.commits.next()
        assert entry is not None
        state.commits.begin(entry, Commit(source=commit.source, id="c0"), 1.0)


def for_hours(clock: Clock, file: Path, hours: float) -> None:
    """Stop the watcher after some hours of its clock."""
    end = clock.monotonic + 3600 * hours
    before = clock.meanwhile

    def meanwhile() -> None:
        before()
        if clock.monotonic >= end:
            file.write_text("0")

    clock.meanwhile = meanwhile


@dataclass
class _WholeSeries:
    """Reader that looks at a series as a whole after each point."""

    key: SeriesKey
    find_changes: Callable[[Series], Trend]
    points: list[SeriesPoint] = field(default_factory=list)

    @property
    def progress(self) -> str:
        return Series(key=self.key, points=tuple(self.points)).model_dump_json()

    def add(self, point: SeriesPoint) -> None:
        self.points.append(point)

    def trend(self) -> Trend:
        return self.find_changes(Series(key=self.key, points=tuple(self.points)))


def whole_series(find_changes: Callable[[Series], Trend]) -> ReadTrend:
    """Make a reader of series from a function that finds the changes of a whole one."""

    def read(key: SeriesKey, progress: str | None) -> _WholeSeries:
        points = () if progress is None else Series.model_validate_json(progress).points
        return _WholeSeries(key, find_changes, list(points))

    return read


def limit_pages(state: State, pages: int) -> None:
    """Leave the file no room beyond so many pages."""
    database: StateDatabase = state._database
    database.rows(f"PRAGMA max_page_count = {pages}")


def page_count(state: State) -> int:
    cell: ColumnValue = state._database.rows("PRAGMA page_count")[0][0]
    assert isinstance(cell, int)
    return cell
