"""Life of an alarm: a change is measured again, its culprit searched, and the alarm reported.

opened --verify--> confirmed --search--> bisected --delivered--> reported
any stage --refuted by verification, its culprit is repaired, or a person closes it--> closed

A person may close an alarm while it is verified or searched: then what was measured is kept, and the alarm stays
closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.change import Change, Trend
from harness.core.commit import Commit, short_id
from harness.core.errors import HarnessError
from harness.core.verdict import Verdict
from harness.shell import Interrupted
from harness.watch.known_changes import alarms_of, is_known
from harness.watch.recoveries import describe_recovery, find_repair
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.retry_when_full import RetryWhenFull
from harness.watch.store.state import State
from harness.watch.tasks import StopRequested, WatchTasks
from harness.watch.timing import Backoff, Timing

MOST_SEARCHES: Final = 5
"""After this many searches that failed an alarm is reported without its culprit."""
_BACKOFF: Final = Backoff(first_s=60.0, most_s=6 * 3600.0)


class AlarmLifecycle:
    """Takes alarms from stage to stage. The result of a stage is recorded with the next stage in one transaction.

    Args:
        state: Contains the alarms.
        tasks: Verify and search.
        channels: Names of the channels that deliver notifications.
        timing: The clocks.
        retry_when_full: Writes to the state.
        say: Shows a line to a person.
    """

    def __init__(
        self,
        state: State,
        tasks: WatchTasks,
        *,
        channels: Sequence[str],
        timing: Timing,
        retry_when_full: RetryWhenFull,
        say: Callable[[str], None],
    ) -> None:
        self._state = state
        self._tasks = tasks
        self._channels = channels
        self._timing = timing
        self._retry_when_full = retry_when_full
        self._say = say
        self._retry_at: dict[str, float] = {}
        self.confirmed: list[str] = []
        """Identities of the alarms that were confirmed, in order."""
        self.undecided: list[str] = []
        """Identities of the alarms that were closed because their verification was undecided to the end, in order."""

    def apply(self, trend: Trend) -> None:
        """Open alarms by what a series shows; a part of the transaction that records its newest point."""
        changes = (*trend.changes, *(() if trend.suspicion is None else (trend.suspicion,)))
        identities = {change.identity for change in changes}
        alarms = self._state.alarms
        for change in changes:
            if not alarms.has(change.identity) and not is_known(change, alarms, identities):
                worse = [other for other in changes if other.identity in change.recovers]
                recovers = tuple(identity for other in worse for identity in alarms_of(other, alarms, identities))
                alarms.open(change.model_copy(update={"recovers": recovers}), self._timing.wall())
                self._state.log.record(f"suspicion: {_describe(change)}", self._timing.wall())
                self._drop_covered(change)

    def _drop_covered(self, change: Change) -> None:
        """Close suspicions that were not verified yet, and that a change explains."""
        for alarm in map(self._state.alarms.find, change.covers):
            if alarm is not None and alarm.stage is AlarmStage.OPENED:
                reason = f"the series shows it too: {change.identity}"
                closed = {"stage": AlarmStage.CLOSED, "reason": reason, "updated": self._timing.wall()}
                self._record(alarm.model_copy(update=closed), None)

    @property
    def next(self) -> float:
        """Return the moment of the monotonic clock when there may be something to do; `inf` when there is nothing."""
        return min((self._retry_at.get(alarm.identity, -math.inf) for alarm in self._due()), default=math.inf)

    @property
    def has_environment_problem(self) -> bool:
        """Return whether verifying or searching failed, and is to be tried again."""
        return any(alarm.identity in self._retry_at for alarm in self._due())

    def step(self, announce: Callable[[str], None]) -> bool:
        """Take one alarm one stage further; return False when none is due.

        Args:
            announce: Called with what is about to be done.

        Raises:
            StopRequested: A person wants an end; the stage is done again later.
        """
        now = self._timing.monotonic()
        due = (alarm for alarm in self._due() if self._retry_at.get(alarm.identity, -math.inf) <= now)
        alarm = next(due, None)
        if alarm is None:
            return self._finish_one()
        try:
            if alarm.stage is AlarmStage.OPENED:
                announce(f"verifying {_describe(alarm.change)}")
                self._verify(alarm)
            else:
                announce(f"searching the culprit of {_describe(alarm.change)}")
                self._search(alarm)
        except (Interrupted, StopRequested):
            raise
        except HarnessError as error:  # also that its benchmark is no longer asked for: commits go on without it
            self._postpone(alarm, error)
        else:
            self._retry_at.pop(alarm.identity, None)
        return True

    def in_progress(self) -> Sequence[Alarm]:
        """Return the alarms that are verified or searched next, without those that failed and wait for long."""
        return [alarm for alarm in self._due() if not alarm.attempts]

    def _due(self) -> Sequence[Alarm]:
        """Return the alarms that await another stage."""
        alarms = self._state.alarms.in_stages(AlarmStage.OPENED, AlarmStage.CONFIRMED)
        return [alarm for alarm in alarms if alarm.stage is AlarmStage.OPENED or self._may_search(alarm)]

    def _may_search(self, alarm: Alarm) -> bool:
        return self._tasks.find_culprits is not None and alarm.attempts < MOST_SEARCHES

    def _verify(self, alarm: Alarm) -> None:
        """Measure a change again; where that is undecided, once more, with more pairs (`harness.watch.tasks.Verify`).

        An alarm that waits for its second verification has the first one already.
        """
        if self._tasks.verify is None:
            self._advance(alarm, AlarmStage.CONFIRMED, {}, event=AlarmEvent.CONFIRMED)
            return
        verification = self._tasks.verify(alarm)
        result = {"verification": verification}
        if verification.confirmed:
            self._advance(alarm, AlarmStage.CONFIRMED, result, event=AlarmEvent.CONFIRMED)
            return
        is_undecided = verification.verdict is Verdict.UNDECIDED
        if is_undecided and alarm.verification is None:
            self._say(f"undecided after {verification.pairs} pairs, and verified again: {_describe(alarm.change)}")
            self._update(alarm, result)
        else:
            reason = f"not confirmed: {verification.verdict.value}: {verification.reason}".rstrip(": ")
            was_confirmed_before = bool(self._state.deliveries.of_alarm(alarm.identity))
            event = AlarmEvent.CLOSED if was_confirmed_before else None  # of others nobody has heard
            self._advance(alarm, AlarmStage.CLOSED, result, reason=reason, event=event)
            if is_undecided:
                self.undecided.append(alarm.identity)
                again = f"harness alarms reopen {alarm.identity} --reason ..."
                self._say(f"  hint: give more --pairs, or `{again}`, to verify it again in a quieter hour")

    def _search(self, alarm: Alarm) -> None:
        if self._tasks.find_culprits is None:
            return
        alarms, identity = self._state.alarms, alarm.identity
        search, candidates = self._tasks.find_culprits(
            alarm,
            alarms.load_search(identity),
            lambda progress: self._retry_when_full.run(lambda: alarms.save_search(identity, progress)),
        )
        result = {"search": search, "candidates": candidates}
        self._advance(alarm, AlarmStage.BISECTED, result, event=AlarmEvent.BISECTED)

    def _advance(
        self,
        alarm: Alarm,
        stage: AlarmStage,
        result: Mapping[str, object],
        *,
        reason: str = "",
        event: AlarmEvent | None = None,
    ) -> None:
        changed = {"stage": stage, "reason": reason, "attempts": 0, "updated": self._timing.wall()}
        advanced = alarm.model_copy(update={**result, **changed})

        def write() -> None:
            with self._state.transaction():
                if self._is_closed(alarm.identity):
                    self._keep_closed(alarm.identity, result)
                    return
                self._record(advanced, event)
                for identity in alarm.change.recovers if event is not None else ():
                    self._recover(identity, alarm.change)
                if event is AlarmEvent.BISECTED and alarm.recovery is not None:  # only now are the culprits known
                    self._recover(alarm.identity, alarm.recovery)

        self._retry_when_full.run(write)
        if self._is_closed(alarm.identity) and stage is not AlarmStage.CLOSED:
            self._say(f"closed meanwhile: {_describe(alarm.change)}")
            return
        if stage is AlarmStage.CONFIRMED:
            self.confirmed.append(alarm.identity)
        self._say(f"{stage}: {_describe(alarm.change)}" + (f" ({reason})" if reason else ""))

    def _is_closed(self, identity: str) -> bool:
        alarm = self._state.alarms.find(identity)
        return alarm is not None and alarm.stage is AlarmStage.CLOSED

    def _keep_closed(self, identity: str, result: Mapping[str, object]) -> None:
        """Store what was measured of an alarm that a person closed meanwhile."""
        alarm = self._state.alarms.find(identity)
        if alarm is not None:
            self._state.alarms.update(alarm.model_copy(update=dict(result)))

    def _record(self, alarm: Alarm, event: AlarmEvent | None) -> None:
        now = self._timing.wall()
        self._state.alarms.update(alarm)
        self._state.log.record(f"{alarm.stage}: {_describe(alarm.change)} {alarm.reason}".rstrip(), now)
        if event is not None:
            self._state.deliveries.queue(alarm, event, self._channels, now)

    def _recover(self, identity: str, recovery: Change) -> None:
        """Record that the level of an alarm is back: it is over where its culprit was repaired, and else goes on.

        Asked when the improvement is verified, and again when it was searched: what a merge brought is known then.
        """
        alarm = self._state.alarms.find(identity)
        if alarm is None or alarm.stage is AlarmStage.CLOSED:
            return
        culprits = self._culprits_of(alarm)
        repair = find_repair(culprits, self._repairing(recovery), self._tasks.read_message)
        changed: dict[str, object] = {"updated": self._timing.wall(), "recovery": recovery}
        if repair is None:
            names = [commit for commit, *_ in culprits]
            changed |= {"reason": describe_recovery(alarm.change, names, recovery)}
        else:
            changed |= {"stage": AlarmStage.CLOSED, "reason": str(repair)}
        recovered = alarm.model_copy(update=changed)
        if repair is None and (alarm.recovery, alarm.reason) == (recovered.recovery, recovered.reason):
            return
        event = AlarmEvent.RECOVERED if repair is None else AlarmEvent.CLOSED
        self._record(recovered, None if alarm.stage is AlarmStage.OPENED else event)

    def _culprits_of(self, alarm: Alarm) -> Sequence[Sequence[Commit]]:
        """Return each culprit of an alarm, with the merges that brought it behind it.

        Where none was searched, it is the only commit in question.
        """
        if not alarm.culprits:
            commits = self._commits_of(alarm.change)
            return [commits] if len(commits) == 1 else ()
        searched = {candidate.commit.id: candidate.commit for candidate in alarm.candidates}
        return [
            [self._commit(commit, searched), *(self._commit(merge, searched) for merge in culprit.merges)]
            for culprit in alarm.culprits
            for commit in culprit.commits
        ]

    def _commit(self, identity: str, searched: Mapping[str, Commit]) -> Commit:
        """Return a commit as the backlog or a search knows it, at least by its id."""
        entry = self._state.commits.find(identity)
        return entry.commit if entry is not None else searched.get(identity) or Commit(source="", id=identity)

    def _repairing(self, recovery: Change) -> Sequence[Commit]:
        """Return the commits that may have brought a level back, with those that merges brought if they are known."""
        watched, improvement = self._commits_of(recovery), self._state.alarms.find(recovery.identity)
        brought = [candidate.commit for candidate in improvement.candidates] if improvement is not None else []
        return list({commit.id: commit for commit in (*watched, *brought)}.values())

    def _commits_of(self, change: Change) -> Sequence[Commit]:
        """Return the commits among which a change surely is, as far as they were watched."""
        ends = [self._state.commits.find(commit) for commit in (change.last_without, change.first_with)]
        first = ends[0].position if ends[0] is not None else 0
        last = ends[1].position if ends[1] is not None else change.after_order
        return [entry.commit for entry in self._state.commits.between(first, last)]

    def _finish_one(self) -> bool:
        """Mark one alarm as reported of which every notification was delivered; return False when there is none."""
        for alarm in self._state.alarms.in_stages(AlarmStage.CONFIRMED, AlarmStage.BISECTED):
            deliveries = self._state.deliveries.of_alarm(alarm.identity)
            is_delivered = all(delivery.status is DeliveryStatus.DELIVERED for delivery in deliveries)
            if is_delivered and alarm not in self._due():
                self._update(alarm, {"stage": AlarmStage.REPORTED})
                return True
        return False

    def _postpone(self, alarm: Alarm, error: HarnessError) -> None:
        attempts = alarm.attempts + 1
        pause_s = _BACKOFF.pause_s(attempts, self._timing.chance())
        self._retry_at[alarm.identity] = self._timing.monotonic() + pause_s
        self._update(alarm, {"attempts": attempts, "reason": error.message})
        self._say(f"{_describe(alarm.change)}: {error}")

    def _update(self, alarm: Alarm, changed: Mapping[str, object]) -> None:
        updated = alarm.model_copy(update={**changed, "updated": self._timing.wall()})

        def write() -> None:
            with self._state.transaction():
                if not self._is_closed(alarm.identity):
                    self._state.alarms.update(updated)

        self._retry_when_full.run(write)


def _describe(change: Change) -> str:
    commits = f"{short_id(change.last_without)}..{short_id(change.first_with)}"
    return f"{change.kind} of {change.title} on {change.device} ({commits})"
