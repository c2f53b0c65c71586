"""What becomes of measured commits and of alarms when history is rewritten (a forced push).

What was measured stays stored, and counts again should the history return. Nothing is judged across the place where the
histories part: points of commits that vanished are in no series, and alarms about them are closed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage
from harness.core.commit import short_id
from harness.watch.closings import reopen
from harness.watch.store.commits import BacklogEntry
from harness.watch.store.state import State

_REASON: Final = "history was rewritten: "
_RETURNED: Final = "its commits are in the history again"
_REPAIR_VANISHED: Final = "the commit that made it good is no longer in the history"


def retire_vanished(state: State, ancestor: str | None, kept: Collection[str], time: float) -> Sequence[str]:
    """Take the commits that vanished out of the series, and close the alarms about them. Part of a transaction.

    Args:
        state: The state.
        ancestor: Id of the newest commit that both histories share; None where there is none.
        kept: Ids of commits of the new history.
        time: Unix seconds.

    Returns:
        What happened beside the commits that waited, in words.
    """
    vanished = state.commits.retire(ancestor, kept)
    ids = {entry.commit.id for entry in vanished}
    closed = [alarm for alarm in state.alarms.in_stages(*AlarmStage) if _is_open(alarm) and ids & _commits_of(alarm)]
    reopened = [alarm for alarm in state.alarms.in_stages(AlarmStage.CLOSED) if _is_undone(alarm, ids)]
    for alarm in (_close(alarm, ids, time) for alarm in closed):
        state.alarms.update(alarm)
        state.deliveries.queue_follow_up(alarm, AlarmEvent.CLOSED, time)
    for alarm in (reopen(alarm, _REPAIR_VANISHED, time) for alarm in reopened):
        state.alarms.update(alarm)
        state.deliveries.queue_follow_up(alarm, AlarmEvent.REOPENED, time)
    return list(_describe(vanished, closed, reopened))


def restore_alarms(state: State, returned: Collection[str], time: float) -> None:
    """Begin again with the alarms that were closed because their commits had vanished, which returned."""
    for alarm in state.alarms.in_stages(AlarmStage.CLOSED):
        if alarm.reason.startswith(_REASON) and _commits_of(alarm) & set(returned):
            anew = {"stage": AlarmStage.OPENED, "reason": "", "verification": None, "attempts": 0}
            state.alarms.update(reopen(alarm, _RETURNED, time).model_copy(update=anew))


def _is_open(alarm: Alarm) -> bool:
    return alarm.stage is not AlarmStage.CLOSED


def _commits_of(alarm: Alarm) -> set[str]:
    change = alarm.change
    return {change.before, change.after, change.last_without, change.first_with}


def _is_undone(alarm: Alarm, vanished: Collection[str]) -> bool:
    """Return whether an alarm was closed by a commit that vanished, while its own commits are still there."""
    if _commits_of(alarm) & set(vanished):
        return False
    if alarm.closing is not None:
        return alarm.closing.by in vanished
    return alarm.recovery is not None and bool({alarm.recovery.after, alarm.recovery.first_with} & set(vanished))


def _close(alarm: Alarm, vanished: Collection[str], time: float) -> Alarm:
    gone = next(commit for commit in (alarm.change.after, *_commits_of(alarm)) if commit in vanished)
    reason = f"{_REASON}{short_id(gone)} is no longer in it"
    return alarm.model_copy(update={"stage": AlarmStage.CLOSED, "reason": reason, "updated": time})


def _describe(vanished: Sequence[BacklogEntry], closed: Sequence[Alarm], reopened: Sequence[Alarm]) -> Sequence[str]:
    counts = ((len(vanished), "measured commit", "out of the series"), (len(closed), "alarm", "closed"))
    texts = [f"{count} {noun}{'s' if count > 1 else ''} {outcome}" for count, noun, outcome in counts if count]
    if reopened:
        texts.append(f"{len(reopened)} closed alarm{'s' if len(reopened) > 1 else ''} open again")
    return texts
