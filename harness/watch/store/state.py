"""State of a watcher: everything that it remembers, in one file that survives whatever becomes of the watcher."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.watch.store.alarms import AlarmTable
from harness.watch.store.commits import BacklogEntry, CommitStatus, CommitTable
from harness.watch.store.database import StateDatabase
from harness.watch.store.event_log import EventLog
from harness.watch.store.notifications import DeliveryTable
from harness.watch.store.points import PointTable
from harness.watch.store.state_lock import Owner, lock_state

MOST_KILLS: Final = 3
"""A commit with which the harness was killed this often is given up."""


class State:
    """An open state. Used by one thread.

    Attributes:
        commits: Backlog of commits.
        points: Points of series.
        alarms: Alarms and searches.
        deliveries: Notifications about alarms.
        log: Events and facts.
        predecessor: Watcher that owned the state before and did not release it.
    """

    def __init__(self, database: StateDatabase, predecessor: Owner | None = None) -> None:
        self._database = database
        self.predecessor = predecessor
        self.commits = CommitTable(database)
        self.points = PointTable(database)
        self.alarms = AlarmTable(database)
        self.deliveries = DeliveryTable(database)
        self.log = EventLog(database)

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self._database.path

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """Make all changes of the context, or none."""
        return self._database.transaction()

    def recover(self, time: float) -> Sequence[BacklogEntry]:
        """Let commits wait again that ran when a watcher was killed. Nothing of them was counted.

        Returns:
            The commits that are given up, because they may well be what kills it.
        """
        given_up = []
        for entry in self.commits.interrupted():
            with self.transaction():
                if entry.attempts >= MOST_KILLS:
                    given_up.append(entry)
                    reason = f"the harness was killed {entry.attempts} times while it measured this commit"
                    self.commits.finish(entry, CommitStatus.FAILED, reason, time)
                else:
                    self.commits.release(entry, counts=True)
                    reason = "the harness was killed while it measured this commit; it is done again"
                self.log.record(f"{entry.commit.short}: {reason}", time)
        return given_up


@contextlib.contextmanager
def open_state(path: Path) -> Iterator[State]:
    """Open and lock a state for a watcher; make it when it is not there.

    Raises:
        UsageError: The file is something else.
        EnvironmentProblem: Another watcher has it, or it is damaged, written by another harness in a way that cannot
            be read, or cannot be written.
    """
    with lock_state(path) as predecessor, StateDatabase(path) as database:
        yield State(database, predecessor)


@contextlib.contextmanager
def read_state(path: Path) -> Iterator[State]:
    """Open a state for reading, also while a watcher has it.

    Raises:
        UsageError: There is none, or the file is something else.
        EnvironmentProblem: It is damaged, or of another harness that cannot be read.
    """
    with StateDatabase(path, readonly=True) as database:
        yield State(database)
