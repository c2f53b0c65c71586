"""Processor of commits: each is compared with its control, and its outcome recorded with what its series show."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Set
from pathlib import Path
from typing import Final

from harness.core.change import Trend
from harness.core.commit import Commit, short_id
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem
from harness.core.series import SeriesPoint
from harness.shell import Interrupted
from harness.watch.alarm_lifecycle import AlarmLifecycle
from harness.watch.control_troubles import ControlTroubles
from harness.watch.controls import ControlPolicy
from harness.watch.doubted_measurements import DoubtedMeasurements
from harness.watch.fai_pep_files import write_commit
from harness.watch.store.commits import BacklogEntry, CommitStatus
from harness.watch.store.database import StateFull
from harness.watch.store.event_log import LastError
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import CommitOutcome, StopRequested, WatchTasks
from harness.watch.timing import Backoff, Timing
from harness.watch.trends import SeriesTrends

MOST_ROUNDS: Final = 3
"""Times that a commit is measured at most, however much it stands out."""
MOST_FAILURES: Final = 10
"""After this many failures of device, tool or disk a commit is given up, so that others get their turn."""
_BACKOFF: Final = Backoff(first_s=60.0, most_s=3600.0)


class CommitProcessor:
    """Processes the commits of the backlog, one after the other.

    Args:
        controls: Chooses controls.
        commit_file: File to write the last finished commit to.
        tasks: Compare commits and find changes.
        state: Contains the backlog.
        alarms: Opens and closes alarms.
        timing: The clocks.
        retry_when_full: Writes to the state.
        say: Shows a line to a person.
    """

    def __init__(
        self,
        controls: ControlPolicy,
        commit_file: Path | None,
        *,
        tasks: WatchTasks,
        state: State,
        alarms: AlarmLifecycle,
        timing: Timing,
        retry_when_full: RetryWhenFull,
        say: Callable[[str], None],
    ) -> None:
        self._controls, self._commit_file = controls, commit_file
        self._tasks, self._state, self._alarms = tasks, state, alarms
        self._timing, self._retry_when_full, self._say = timing, retry_when_full, say
        self._control_troubles = ControlTroubles(state, is_pinned=controls.pinned is not None)
        self._trends = SeriesTrends(state.points, tasks.read_trend)
        self._doubted = DoubtedMeasurements(
            state,
            tasks.find_doubts,
            timing=timing,
            retry_when_full=retry_when_full,
            say=say,
            on_changed=self.forget_trends,
        )
        self.finished: Counter[CommitStatus] = Counter()
        """Number of finished commits by status."""
        self.has_unusable_control = False
        """Whether a commit was passed over because nothing that it can be compared with could be built or measured."""
        self._unjudged: tuple[SeriesPoint, ...] = ()
        self._failures = 0
        self._retry_at = -math.inf
        """Moment of the monotonic clock before which no commit is processed."""

    def forget_trends(self) -> None:
        """Read every series anew: its history is another one."""
        self._trends.forget()

    @property
    def has_environment_problem(self) -> bool:
        """Return whether a commit waits because of device, tool or disk."""
        return self._failures > 0

    @property
    def next(self) -> float:
        """Return the moment of the monotonic clock when a commit may be processed; `inf` when none waits."""
        return self._retry_at if self._state.commits.next() is not None else math.inf

    def step(self, announce: Callable[[str], None]) -> bool:
        """Process one commit; return False when there is none to be processed now.

        Args:
            announce: Called with what is about to be done.

        Raises:
            StopRequested: A person wants an end; the commit waits again.
            UsageError: It can never work.
            Interrupted: The harness is being stopped; the commit waits again.
        """
        if self._doubted.update():  # alarms come first
            return True
        entry = self._state.commits.next()
        if entry is None or self._timing.monotonic() < self._retry_at:
            return False
        self._process(entry, announce)
        return True

    def count_given_up(self, entry: BacklogEntry) -> None:
        """Count and announce a commit that the state gave up, because the harness was killed with it too often."""
        self.finished[CommitStatus.FAILED] += 1
        self._say(f"{entry.commit.short}: given up, because the harness was killed {entry.attempts} times with it")

    def _process(self, entry: BacklogEntry, announce: Callable[[str], None]) -> None:
        try:
            control = self._choose_control(entry, self._control_troubles.unusable)
            unusable = self._choose_control(entry, frozenset()) if control is None else None
        except EnvironmentProblem as error:
            self._postpone(entry, error)
            return
        if control is None:
            reason = "there is no other commit to compare it with"
            if unusable is not None:
                self.has_unusable_control = True
                reason = f"{unusable.short} and every other commit to compare it with could not be built or measured"
            self._record(entry, CommitOutcome(status=CommitStatus.SKIPPED, reason=reason))
            return
        announce(f"comparing {entry.commit.short} with {control.short}")
        running = self._state.commits.begin(entry, control, self._timing.wall())
        try:
            outcome = self._compare(control, running.commit)
        except (Interrupted, StopRequested, KeyboardInterrupt):
            with contextlib.suppress(StateFull):  # the next start does the same
                self._state.commits.release(running, counts=False)
            raise
        except EnvironmentProblem as error:
            self._postpone(running, error)
            return
        if outcome.control_failed or outcome.control_unmeasured:
            self._wait_for_control(running, control, outcome)
            return
        self._failures = 0
        self._record(running, outcome)

    def _compare(self, control: Commit, treatment: Commit) -> CommitOutcome:
        try:
            return self._tasks.compare(control, treatment)
        except BuildFailed as error:
            return CommitOutcome(status=CommitStatus.BUILD_FAILED, reason=error.message)
        except BenchmarkFailed as error:
            return CommitOutcome(status=CommitStatus.FAILED, reason=error.message)

    def _choose_control(self, entry: BacklogEntry, broken: Set[str]) -> Commit | None:
        before = self._state.commits.before(entry)
        while before is not None and before.commit.id in broken:
            before = self._state.commits.before(before)
        return self._controls.choose_control(entry.commit, before.commit if before else None, broken)

    def _record(self, entry: BacklogEntry, outcome: CommitOutcome) -> None:
        """Record everything about one commit in one transaction, and the changes that its series show with it."""
        moved = sorted({point.device for point in outcome.points if self._state.points.has_moved(point.device)})

        different = sorted({point.title for point in outcome.points if point.has_different_outputs})
        news = f"{entry.commit.short} computes other outputs than its control: {', '.join(different)}"
        news = news if different else ""

        def write() -> None:
            with self._trends.forget_on_failure(), self._state.transaction():
                for point in outcome.points:
                    self._state.points.add(entry, point)
                self._state.commits.finish(entry, outcome.status, outcome.reason, self._timing.wall())
                if outcome.status is CommitStatus.BUILD_FAILED:
                    self._control_troubles.exclude(entry.commit)
                if outcome.points:
                    self._control_troubles.forget()
                self._state.log.forget(LastError)
                if news:
                    self._state.log.record(news, self._timing.wall())
                # points in earlier places have their series read anew: once for all commits that are measured again
                is_judged[:] = [not self._state.commits.has_waiting_before_measured()]
                for trend in self._trends.update(points) if is_judged[0] else ():
                    self._apply(trend)

        points = (*self._unjudged, *outcome.points)
        is_judged: list[bool] = []
        self._retry_when_full.run(write)
        self._unjudged = () if is_judged[0] else points
        self.finished[outcome.status] += 1
        first_line, *_ = outcome.reason.splitlines() or [""]
        reason = f" ({first_line})" if first_line else ""
        self._say(f"{entry.commit.short}: {outcome.status.replace('_', ' ')}{reason}")
        if news:
            self._say(news)
        for device in moved:
            self._say(
                f"{device}: its series begin anew: earlier points of this machine have another processor, or none"
            )
        self.write_commit_file()

    def _apply(self, trend: Trend) -> None:
        self._alarms.apply(trend)
        outlier = trend.outlier
        if outlier is not None and self._state.commits.measure_again(outlier.commit, MOST_ROUNDS):
            self._say(f"{short_id(outlier.commit)} stands out, and is measured again")

    def _wait_for_control(self, entry: BacklogEntry, control: Commit, outcome: CommitOutcome) -> None:
        """Let a commit wait for its control, or for another one. Nothing is said of the commit itself."""
        is_built = not outcome.control_failed
        replaced: list[bool] = []

        def write() -> None:
            with self._state.transaction():
                replaced[:] = [self._control_troubles.record(control, is_built=is_built)]
                if replaced[0]:
                    self._state.commits.release(entry, counts=False)
                    text = str(self._control_troubles.error(control, outcome.reason, is_built=is_built).message)
                    self._state.log.record(f"{text}; another commit takes its place", self._timing.wall())

        self._retry_when_full.run(write)
        error = self._control_troubles.error(control, outcome.reason, is_built=is_built)
        if not replaced[0]:
            self._postpone(entry, error, gives_up=False)
            return
        self._failures = 0
        self._say(f"{error.message}; another commit takes its place")

    def _postpone(self, entry: BacklogEntry, error: EnvironmentProblem, *, gives_up: bool = True) -> None:
        """Try a commit again later that failed without a fault of its own, for long but not for ever.

        Args:
            entry: The commit.
            error: What keeps it from being measured.
            gives_up: Whether it is given up after many failures, because others may be measured then.
        """
        self._failures += 1
        if gives_up and self._failures >= MOST_FAILURES:
            self._failures = 0
            self._record(entry, CommitOutcome(status=CommitStatus.FAILED, reason=error.message))
            return
        pause_s = _BACKOFF.pause_s(self._failures, self._timing.chance())
        self._retry_at = self._timing.monotonic() + pause_s

        def write() -> None:
            with self._state.transaction():
                self._state.commits.release(entry, counts=False)
                self._state.log.write(LastError(error=str(error), time=self._timing.wall()))

        self._retry_when_full.run(write)
        self._say(f"{entry.commit.short} is tried again in {pause_s:.0f} s: {error}")

    def write_commit_file(self) -> None:
        """Write the last finished commit into the commit file; it costs nothing where that fails, the state has it."""
        last = self._state.commits.last_finished()
        if self._commit_file is None or last is None:
            return
        try:
            write_commit(self._commit_file, last.commit.id)
        except EnvironmentProblem as error:
            self._say(str(error))
