"""`harness alarms`: lists the alarms of a watcher, and closes or reopens them for a person, while it works or not."""

from __future__ import annotations

import getpass
import time
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.core.alarm import Alarm, AlarmStage, Closing
from harness.core.commit import short_id
from harness.core.errors import ExitCode
from harness.display.documents import print_document
from harness.display.tables import draw_rows, plain_text, print_output
from harness.presentation.documents import AlarmsDocument
from harness.presentation.numbers import format_change
from harness.watch.closings import ClosedAlarms, abbreviate, close_alarms, reopen_alarms
from harness.watch.store.state import read_state

_WHEN: Final = "after its next poll at the latest, or when it is started"


def list_alarms(path: Path, console: Console, *, with_closed: bool, as_json: bool = False) -> ExitCode:
    """List the alarms of a state, oldest first.

    Raises:
        UsageError: There is no such state.
        EnvironmentProblem: It is damaged, or of another harness that cannot be read.
    """
    with read_state(path) as state:
        every = state.alarms.in_stages(*AlarmStage)
    listed = [alarm for alarm in every if with_closed or alarm.stage is not AlarmStage.CLOSED]
    if as_json:
        print_document(AlarmsDocument(alarms=tuple(listed)), console)
        return ExitCode.OK
    header = ("alarm", "change", "benchmark", "device", "commit", "stage", "reason")
    if listed:
        names = abbreviate([alarm.identity for alarm in every])
        rows = [_row(alarm, names[alarm.identity]) for alarm in listed]
        print_output(draw_rows(header, rows, whole=("alarm",)), console)
    else:
        print_output(plain_text("there is no alarm" if with_closed else "no alarm is open"), console)
    return ExitCode.OK


def close(path: Path, name: str, reason: str, by: str, console: Console, *, as_json: bool = False) -> ExitCode:
    """Close alarms for the person who runs this process.

    Raises:
        UsageError: There is no such alarm or commit, it is ambiguous, or it is closed.
        EnvironmentProblem: The state cannot be written.
    """
    closing = Closing(person=_person(), time=time.time(), reason=" ".join(reason.split()), by=by)
    _show(close_alarms(path, name, closing), "closed", console, as_json=as_json)
    return ExitCode.OK


def reopen(path: Path, name: str, reason: str, console: Console, *, as_json: bool = False) -> ExitCode:
    """Open alarms again for the person who runs this process.

    Raises:
        UsageError: There is no such alarm, it is ambiguous, it is open, or its verification refuted it.
        EnvironmentProblem: The state cannot be written.
    """
    reopened = reopen_alarms(path, name, _person(), " ".join(reason.split()), time.time())
    _show(reopened, "open again", console, as_json=as_json)
    return ExitCode.OK


def cause_of(alarm: Alarm) -> str:
    """Name the culprits of an alarm, or the commits between which they are."""
    culprits = ", ".join(short_id(commit) for culprit in alarm.culprits for commit in culprit.commits)
    return culprits or f"{short_id(alarm.change.last_without)}..{short_id(alarm.change.first_with)}"


def _row(alarm: Alarm, name: str) -> tuple[str, ...]:
    size = format_change(alarm.size.effect.relative_change)
    change = alarm.change
    return (name, size, change.title, change.device, cause_of(alarm), alarm.stage, alarm.reason)


def _show(changed: ClosedAlarms, state: str, console: Console, *, as_json: bool) -> None:
    if as_json:
        print_document(AlarmsDocument(alarms=tuple(changed.alarms)), console)
        return
    for alarm in changed.alarms:
        line = f"{state}: {alarm.identity}: {alarm.change.title} on {alarm.change.device} ({cause_of(alarm)})"
        print_output(plain_text(line), console)
    if changed.receivers:
        verb = "gets" if len(changed.receivers) == 1 else "get"
        print_output(
            plain_text(f"{', '.join(changed.receivers)} {verb} a message: the watcher sends it {_WHEN}"), console
        )
    elif changed.has_reports:
        silence = "nobody gets a message, because no --hook or --on-alarm was told about it"
        print_output(plain_text(f"{silence}; the watcher writes its reports anew {_WHEN}"), console)


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "an unknown person"
