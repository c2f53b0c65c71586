"""Alarms that a person closes, or opens again, while a watcher works or none does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.alarm import Alarm, AlarmEvent, AlarmStage, Closing
from harness.core.commit import short_id
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.verdict import Verdict
from harness.watch.notify.channels import sends_messages
from harness.watch.store.database import StateDatabase, is_current
from harness.watch.store.state import State

_LEAST_DIGITS: Final = 4
"""Fewest characters of an abbreviated identity or commit."""
_SHOWN_DIGITS: Final = 8
"""Fewest characters of an identity that are shown: the same beginning names the alarm when there are more."""
ANEW: Final = {"stage": AlarmStage.OPENED, "attempts": 0, "verification": None, "search": None, "candidates": ()}
"""What an alarm becomes that is verified and searched as if it were new."""


class ClosedAlarms(Struct, frozen=True):
    """Alarms that were closed, or opened again, by one command.

    Attributes:
        alarms: The alarms as they are now.
        receivers: Names of the hooks and commands that get a message about them; nobody else is told.
        has_reports: Whether there are reports of them, such as pages, which the watcher writes anew.
    """

    alarms: tuple[Alarm, ...]
    receivers: tuple[str, ...] = ()
    has_reports: bool = False


def reopen(alarm: Alarm, reason: str, time: float) -> Alarm:
    """Return a closed alarm as it is when it is open again."""
    changed = {"stage": AlarmStage.REPORTED, "reason": reason, "recovery": None, "closing": None, "updated": time}
    return alarm.model_copy(update={**changed, "reopened": (*alarm.reopened, reason)})


def close_alarms(path: Path, name: str, closing: Closing) -> ClosedAlarms:
    """Close alarms, and queue a message for each channel that was told about them.

    Args:
        path: The state file.
        name: Identity of an alarm, or the commit that caused alarms; each may be abbreviated.
        closing: The person's decision; its commit is a name that the backlog knows.

    Raises:
        UsageError: There is no such alarm or commit, or it is ambiguous, or all of them are closed.
        EnvironmentProblem: The state cannot be written, or is of an earlier harness.
    """

    def change(state: State) -> Iterator[Alarm]:
        by = _find_commit(state, closing.by) if closing.by else ""
        decision = closing.model_copy(update={"by": by})
        changed = {"stage": AlarmStage.CLOSED, "reason": describe_closing(decision), "closing": decision}
        for alarm in _find_alarms(state, name, are_open=True):
            yield alarm.model_copy(update={**changed, "updated": closing.time})

    return _change_alarms(path, change, AlarmEvent.CLOSED, closing.time)


def reopen_alarms(path: Path, name: str, person: str, reason: str, time: float) -> ClosedAlarms:
    """Open closed alarms again, and queue a message for each channel that was told about them.

    Raises:
        UsageError: There is no such alarm, or it is ambiguous, or all of them are open.
        EnvironmentProblem: The state cannot be written.
    """

    def change(state: State) -> Iterator[Alarm]:
        for alarm in _find_alarms(state, name, are_open=False):
            if _is_undecided(alarm):
                yield reopen(alarm, f"verified again for {person}: {reason}", time).model_copy(update=ANEW)
                continue
            if alarm.verification is not None and not alarm.verification.confirmed:
                raise UsageError(
                    f"{alarm.identity} was not confirmed by its verification: {alarm.reason}",
                    hint="`harness watch --again COMMIT` measures its commit again",
                )
            reopened = reopen(alarm, f"opened again by {person}: {reason}", time)
            yield reopened.model_copy(update={"stage": _stage_of(alarm, state)})

    return _change_alarms(path, change, AlarmEvent.REOPENED, time)


def _is_undecided(alarm: Alarm) -> bool:
    verification = alarm.verification
    return verification is not None and not verification.confirmed and verification.verdict is Verdict.UNDECIDED


def _stage_of(alarm: Alarm, state: State) -> AlarmStage:
    """Return the stage in which an alarm goes on that was closed by a person, perhaps before it was searched."""
    if alarm.search is not None:
        return AlarmStage.REPORTED
    is_confirmed = alarm.verification is not None or bool(state.deliveries.of_alarm(alarm.identity))
    return AlarmStage.CONFIRMED if is_confirmed else AlarmStage.OPENED


def describe_closing(closing: Closing) -> str:
    """Describe a decision: `repaired by 1a2b3c4d5e6f, closed by ada: faster loop`."""
    repaired = f"repaired by {short_id(closing.by)}, " if closing.by else ""
    return f"{repaired}closed by {closing.person}: {closing.reason}"


def _change_alarms(
    path: Path, change: Callable[[State], Iterator[Alarm]], event: AlarmEvent, time: float
) -> ClosedAlarms:
    """Change alarms in one transaction, also while a watcher has the state."""
    if not path.is_file():
        raise UsageError(f"there is no state {path}", hint="`harness watch` makes it; name the same file")
    if not is_current(path):  # its watcher may be running, and would not understand a migrated state
        raise EnvironmentProblem(
            f"the state {path} is of an earlier harness, or of something else",
            hint="the next start of `harness watch` migrates it",
        )
    with StateDatabase(path) as database:
        state = State(database)
        with state.transaction():
            alarms = tuple(change(state))
            channels: dict[str, None] = {}
            for alarm in alarms:
                state.alarms.update(alarm)
                channels |= dict.fromkeys(state.deliveries.queue_follow_up(alarm, event, time))
                state.log.record(f"{event}: {alarm.change.title} on {alarm.change.device}: {alarm.reason}", time)
    receivers = tuple(filter(sends_messages, channels))
    return ClosedAlarms(alarms, receivers, has_reports=len(channels) > len(receivers))


def _find_alarms(state: State, name: str, *, are_open: bool) -> Sequence[Alarm]:
    """Return the open or the closed alarms that a name means: one by its identity, or all with one culprit."""
    every = state.alarms.in_stages(*AlarmStage) if len(name) >= _LEAST_DIGITS else ()
    named = [alarm for alarm in every if alarm.identity.startswith(name)]
    named = [alarm for alarm in named if alarm.identity == name] or named
    if len({alarm.identity for alarm in named}) > 1:
        listed = ", ".join(alarm.identity for alarm in named[:5])
        raise UsageError(f"{name} could be {len(named)} alarms", hint=f"one of: {listed}")
    named = named or [alarm for alarm in every if _is_caused_by(alarm, name)]
    causes = {alarm.cause for alarm in named}
    if len(causes) > 1:
        raise UsageError(
            f"{name} could be {len(causes)} commits",
            hint=f"one of: {', '.join(sorted(short_id(cause) for cause in causes))}",
        )
    if not named:
        raise UsageError(f"there is no alarm {name}", hint="`harness alarms --closed` lists all of them")
    wanted = [alarm for alarm in named if (alarm.stage is not AlarmStage.CLOSED) is are_open]
    if not wanted:
        state_now = "closed" if are_open else "open"
        raise UsageError(f"{name} is {state_now} already: {named[0].reason or named[0].stage}")
    return wanted


def abbreviate(identities: Collection[str]) -> dict[str, str]:
    """Return the beginning of each identity by which `close_alarms` finds this alarm and no other of them."""
    ordered = sorted(set(identities))
    shared = [_count_shared(*pair) for pair in pairwise(ordered)]
    longest = map(max, [0, *shared], [*shared, 0]) if ordered else ()
    return {
        identity: identity[: max(length + 1, _SHOWN_DIGITS)] for identity, length in zip(ordered, longest, strict=True)
    }


def _count_shared(first: str, second: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    return next(
        (place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), len(first)
    )


def _is_caused_by(alarm: Alarm, name: str) -> bool:
    return any(commit.startswith(name.lower()) for commit in alarm.cause.split("+"))


def _find_commit(state: State, name: str) -> str:
    """Return the id of a commit of the backlog."""
    ids = state.commits.with_prefix(name) if len(name) >= _LEAST_DIGITS else ()
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise UsageError(f"{name} could be {len(ids)} commits", hint=f"one of: {', '.join(map(short_id, ids[:5]))}")
    raise UsageError(
        f"--by {name}: the watcher knows no such commit",
        hint="give the hash or version of a commit that it has seen, or name the repair in --reason",
    )
