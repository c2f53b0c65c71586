"""`harness status`: what a watcher is doing, read from its state while it works."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from rich.console import Console

from harness.core.alarm import Alarm, AlarmStage
from harness.core.errors import ExitCode
from harness.core.series import SeriesPoint
from harness.core.values import Value
from harness.display.documents import print_document
from harness.display.tables import draw_rows, plain_text, print_output
from harness.flows.inspect.alarms import cause_of
from harness.presentation.numbers import format_change
from harness.presentation.outputs import OUTPUTS_DIFFER
from harness.store.index import find_device_name
from harness.watch.store.commits import BacklogEntry, CommitStatus
from harness.watch.store.event_log import CurrentActivity, Event, LastError, PollStatus
from harness.watch.store.notifications import Delivery, DeliveryStatus
from harness.watch.store.state import State, read_state
from harness.watch.store.state_lock import Owner, last_owner

_FEW = 10
_LONG = 80


class FinishedCommit(Value):
    """A commit that was compared, and the points that it added to series."""

    entry: BacklogEntry
    points: tuple[SeriesPoint, ...] = ()


class WatchStatus(Value):
    """Status of a watcher, read from its state.

    Attributes:
        schema_version: Version of this document.
        state: The state file.
        owner: The watcher that has the state, or did not release it; None when none runs.
        is_alive: Whether it runs; None where that cannot be seen from here.
        activity: What it is doing.
        poll: Result of looking for new commits.
        last_error: What keeps the present commit from being measured.
        counts: Number of commits by status.
        running: The commit that is being compared.
        waiting: The first commits that wait.
        finished: The commits that were compared last, newest first.
        alarms: Alarms in progress: all but the reported and the closed ones.
        unresolved: Changes for the worse that were reported, and that neither a later commit nor a person closed.
        reported: How many alarms were reported and not closed, improvements among them.
        deliveries: Number of deliveries by status.
        undelivered: Deliveries that wait after a failure, or were refused.
        events: The last events, newest first.
    """

    schema_version: str = "2.1"
    state: str
    owner: Owner | None
    is_alive: bool | None
    activity: CurrentActivity | None
    poll: PollStatus | None
    last_error: LastError | None
    counts: dict[CommitStatus, int]
    running: BacklogEntry | None
    waiting: tuple[BacklogEntry, ...]
    finished: tuple[FinishedCommit, ...]
    alarms: tuple[Alarm, ...]
    unresolved: tuple[Alarm, ...]
    reported: int
    deliveries: dict[DeliveryStatus, int]
    undelivered: tuple[Delivery, ...]
    events: tuple[Event, ...]


def status_of(path: Path) -> WatchStatus:
    """Read the status of a watcher from its state. Changes nothing, and may be called at any time.

    Raises:
        UsageError: There is none.
        EnvironmentProblem: It is damaged, or of another harness that cannot be read.
    """
    with read_state(path) as state:
        return _status(state, last_owner(path))


def _status(state: State, owner: Owner | None) -> WatchStatus:
    commits, log, deliveries = state.commits, state.log, state.deliveries
    reported = state.alarms.in_stages(AlarmStage.REPORTED)
    waiting = [delivery for delivery in deliveries.with_status(DeliveryStatus.WAITING) if delivery.attempts]
    return WatchStatus(
        state=str(state.path),
        owner=owner,
        is_alive=owner.is_alive if owner is not None else False,
        activity=log.read(CurrentActivity),
        poll=log.read(PollStatus),
        last_error=log.read(LastError),
        counts=dict(commits.counts()),
        running=next(iter(commits.with_status(CommitStatus.RUNNING)), None),
        waiting=tuple(commits.with_status(CommitStatus.WAITING, _FEW)),
        finished=tuple(
            FinishedCommit(entry=entry, points=tuple(state.points.of_commit(entry.commit.id)))
            for entry in commits.finished(_FEW)
        ),
        alarms=tuple(state.alarms.in_stages(AlarmStage.OPENED, AlarmStage.CONFIRMED, AlarmStage.BISECTED)),
        unresolved=tuple(alarm for alarm in reported if alarm.change.is_worse),
        reported=len(reported),
        deliveries=dict(deliveries.counts()),
        undelivered=(*waiting, *deliveries.with_status(DeliveryStatus.REFUSED)),
        events=tuple(log.latest()),
    )


def show_status(path: Path, console: Console, tree: Path, *, as_json: bool) -> ExitCode:
    """Show the status of a watcher.

    Args:
        path: The state file.
        console: Shows it.
        tree: The tree of results, which knows the names of devices.
        as_json: Show the whole document instead of a summary.

    Raises:
        UsageError: There is no such state.
        EnvironmentProblem: It is damaged, or of another harness that cannot be read.
    """
    status = status_of(path)
    if as_json:
        print_document(status, console)
        return ExitCode.OK
    name_of = cache(partial(_name_device, tree))
    for line in _lines(status):
        print_output(plain_text(line), console)
    if status.finished:
        header = ("commit", "when", "status", "benchmark", "device", "difference", "verdict")
        rows = (row for finished in status.finished for row in _rows(finished.entry, finished.points, name_of))
        print_output(draw_rows(header, rows), console)
    for alarm in (*status.alarms, *status.unresolved):
        print_output(plain_text(f"alarm: {_describe_alarm(alarm, name_of)}"), console)
    for delivery in status.undelivered:
        notification = f"{delivery.notification.event} of {delivery.notification.alarm.identity}"
        attempts = "1 attempt" if delivery.attempts == 1 else f"{delivery.attempts} attempts"
        line = f"not delivered by {delivery.channel} ({attempts}): {notification}: {delivery.reply}"
        print_output(plain_text(line), console)
    return ExitCode.OK


def _lines(status: WatchStatus) -> Iterator[str]:
    if status.owner is None or status.is_alive is False:
        yield "no watcher is running"
    else:
        doubt = "" if status.is_alive else " (cannot be seen from here)"
        yield f"watcher {status.owner.pid} on {status.owner.host}{doubt}"
    if status.activity is not None and status.is_alive is False:
        yield f"last activity: {status.activity.what}, since {_format_time(status.activity.since)}"
    elif status.activity is not None:
        yield f"{status.activity.what}, since {_format_time(status.activity.since)}"
    if status.poll is not None:
        yield f"looked for new commits: {_format_time(status.poll.success)}"
        if status.poll.error:
            times = "once" if status.poll.failures == 1 else f"{status.poll.failures} times"
            yield f"  it has failed {times} since: {status.poll.error}"
    if status.last_error is not None:
        yield f"last error: {status.last_error.error}"
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in status.counts.items() if count)
    yield f"commits: {counts or 'none yet'}"
    if status.waiting:
        yield "next: " + ", ".join(f"{entry.commit.short} {entry.commit.subject}" for entry in status.waiting[:3])
    yield f"alarms: {len(status.alarms)} in progress, {len(status.unresolved)} reported and unresolved"


def _rows(
    entry: BacklogEntry, points: Sequence[SeriesPoint], name_of: Callable[[str], str]
) -> Iterator[tuple[str, ...]]:
    first = (entry.commit.short, _format_time(entry.finished), entry.status.replace("_", " "))
    if not points:
        yield (*first, _first_line(entry.reason), "", "", "")
    for number, point in enumerate(points):
        difference = "" if point.effect is None else format_change(point.effect.relative_change)
        lead = first if number == 0 else ("", "", "")
        yield (*lead, point.title, name_of(point.device), difference, _describe_verdict(point))


def _describe_verdict(point: SeriesPoint) -> str:
    further = ((OUTPUTS_DIFFER, point.has_different_outputs), ("in doubt", bool(point.doubt)))
    return ", ".join((point.verdict.value, *(words for words, holds in further if holds)))


def _describe_alarm(alarm: Alarm, name_of: Callable[[str], str]) -> str:
    change = alarm.change
    reason = f" ({alarm.reason})" if alarm.reason else ""
    where = f"{'culprit ' if alarm.culprits else ''}{cause_of(alarm)}"
    size = format_change(alarm.size.effect.relative_change)
    what = f"{change.kind} of {size} in {change.title} on {name_of(change.device)}, {where}"
    return f"{what}: {alarm.stage}{reason}; alarm {alarm.identity}"


def _name_device(tree: Path, identity: str) -> str:
    """Return the identity of a device, with its name where results know another."""
    name = find_device_name(tree, identity)
    return identity if name in {None, "", identity} else f"{name} ({identity})"


def _first_line(text: str) -> str:
    """Return the first line of a reason; the document (`--json`) has all of it."""
    line = text.partition("\n")[0]
    return line if len(line) <= _LONG else line[: _LONG - 1] + "…"


def _format_time(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC).astimezone()
    return moment.strftime("%Y-%m-%d %H:%M:%S")
