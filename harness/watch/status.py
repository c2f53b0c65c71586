"""What a person sees of a watcher: one document, read from the state while the watcher works."""

from __future__ import annotations

from pathlib import Path

from harness.core.values import Value
from harness.watch.store.event_log import Doing, Happening, Polled, Trouble
from harness.watch.store.records import Alarm, Entry, Fate, Letter, Point, Progress, Stage
from harness.watch.store.state import State, look_at
from harness.watch.store.state_lock import Holder, last_holder

_FEW = 10


class Done(Value):
    """A commit that was dealt with, and what was measured of it."""

    entry: Entry
    points: tuple[Point, ...] = ()


class WatchStatus(Value):
    """A watcher, as its state tells.

    Attributes:
        schema_version: Of this document.
        state: The state file.
        holder: The watcher that has the state, or did not let it go; None when none runs.
        alive: Whether it runs; None where that cannot be seen from here.
        doing: What it is at.
        polled: How looking for new commits goes.
        trouble: What keeps the present commit from being measured.
        counts: How many commits are where.
        running: What is being compared.
        waiting: The first commits that wait.
        done: The commits that were compared last, newest first.
        alarms: Alarms in work: everything but `told` and `closed`.
        standing: Changes for the worse that were told and that no later commit made good.
        told: How many alarms were told and not closed, improvements among them.
        letters: How many letters have which fate.
        undelivered: Letters that wait after a failure, or were refused.
        happenings: What happened last, newest first.
    """

    schema_version: str = "1.0"
    state: str
    holder: Holder | None
    alive: bool | None
    doing: Doing | None
    polled: Polled | None
    trouble: Trouble | None
    counts: dict[Progress, int]
    running: Entry | None
    waiting: tuple[Entry, ...]
    done: tuple[Done, ...]
    alarms: tuple[Alarm, ...]
    standing: tuple[Alarm, ...]
    told: int
    letters: dict[Fate, int]
    undelivered: tuple[Letter, ...]
    happenings: tuple[Happening, ...]


def status_of(path: Path) -> WatchStatus:
    """Look at the state of a watcher. Changes nothing, and may be asked at any time.

    Raises:
        UsageError: There is none.
        EnvironmentProblem: It is damaged, or of a newer harness.
    """
    with look_at(path) as state:
        return _status(state, last_holder(path))


def _status(state: State, holder: Holder | None) -> WatchStatus:
    commits, notebook = state.commits, state.notebook
    told = state.alarms.those(Stage.TOLD)
    waiting = [letter for letter in state.letters.those(Fate.WAITING) if letter.attempts]
    return WatchStatus(
        state=str(state.path),
        holder=holder,
        alive=holder.alive if holder is not None else False,
        doing=notebook.read(Doing),
        polled=notebook.read(Polled),
        trouble=notebook.read(Trouble),
        counts=dict(commits.counts()),
        running=next(iter(commits.those(Progress.RUNNING)), None),
        waiting=tuple(commits.those(Progress.WAITING, _FEW)),
        done=tuple(
            Done(entry=entry, points=tuple(state.points.of_commit(entry.commit.id))) for entry in commits.finished(_FEW)
        ),
        alarms=tuple(state.alarms.those(Stage.OPENED, Stage.CONFIRMED, Stage.BISECTED)),
        standing=tuple(alarm for alarm in told if alarm.sign.is_worse),
        told=len(told),
        letters=dict(state.letters.counts()),
        undelivered=(*waiting, *state.letters.those(Fate.REFUSED)),
        happenings=tuple(notebook.lately()),
    )
