"""Changes that have an alarm already, of another identity."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from harness.core.alarm import Alarm, AlarmStage
from harness.core.change import Change
from harness.watch.store.alarms import AlarmTable


def is_known(change: Change, alarms: AlarmTable, identities: Collection[str]) -> bool:
    """Return whether a change has an alarm of another identity, or closed one under former rules.

    Args:
        change: The change.
        alarms: All alarms.
        identities: Those of all changes that the series shows now. An alarm of none of them was raised by a single
            comparison, or by an earlier harness, which may have detected the same change with another commit.
    """
    if any(_is_believed(alarm) for alarm in map(alarms.find, change.covers) if alarm is not None):
        return True
    if any(_is_closed_with(alarm, change) for alarm in map(alarms.find, change.recovers) if alarm is not None):
        return True
    return any(_alarms_at_same_place(change, alarms, identities))


def alarms_of(change: Change, alarms: AlarmTable, identities: Collection[str]) -> Iterator[str]:
    """Yield the identity of a change, and those of its alarms of another identity.

    Args:
        change: The change.
        alarms: All alarms.
        identities: Those of all changes that the series shows now.
    """
    yield change.identity
    yield from filter(alarms.has, change.covers)
    yield from (alarm.identity for alarm in _alarms_at_same_place(change, alarms, identities))


def _alarms_at_same_place(change: Change, alarms: AlarmTable, identities: Collection[str]) -> Iterator[Alarm]:
    for alarm in alarms.in_stages(*AlarmStage):
        if alarm.identity not in {*identities, *change.covers} and _is_same_place(alarm.change, change):
            yield alarm


def _is_believed(alarm: Alarm) -> bool:
    """Return whether an alarm was verified, or needs no verification any more, and was not refuted."""
    is_refuted = alarm.verification is not None and not alarm.verification.confirmed
    return alarm.stage is not AlarmStage.OPENED and not is_refuted


def _is_closed_with(alarm: Alarm, recovery: Change) -> bool:
    """Return whether an earlier harness closed an alarm with a recovery, which was no alarm of its own then."""
    closed_by = alarm.recovery if alarm.stage is AlarmStage.CLOSED else None
    return closed_by is not None and closed_by.identity == recovery.identity


def _is_same_place(change: Change, other: Change) -> bool:
    """Return whether two changes of a series go the same way at the same place."""
    series = (change.benchmark, change.device, change.metric.name)
    is_same_series = series == (other.benchmark, other.device, other.metric.name)
    overlap = change.before_order < other.after_order and other.before_order < change.after_order
    return is_same_series and overlap and change.is_worse == other.is_worse
