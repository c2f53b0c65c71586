"""Everything that a watcher remembers, in one file that survives whatever becomes of the watcher."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.watch.store.alarms import Alarms
from harness.watch.store.commits import Commits
from harness.watch.store.database import Database
from harness.watch.store.event_log import Notebook
from harness.watch.store.notifications import Letters
from harness.watch.store.points import Points
from harness.watch.store.records import Entry, Progress
from harness.watch.store.state_lock import Holder, claimed

MOST_KILLS: Final = 3
"""A commit with which the harness was killed so often is given up."""


class State:
    """An open state. Used by one thread.

    Attributes:
        commits: Which commits wait, run and are done.
        points: What was measured of them.
        alarms: What was raised.
        letters: What is to be told.
        notebook: Small facts.
        predecessor: Who held the state before and did not let it go.
    """

    def __init__(self, database: Database, predecessor: Holder | None = None) -> None:
        self._database = database
        self.predecessor = predecessor
        self.commits = Commits(database)
        self.points = Points(database)
        self.alarms = Alarms(database)
        self.letters = Letters(database)
        self.notebook = Notebook(database)

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """All changes of the context, or none."""
        return self._database.transaction()

    def recover(self, time: float) -> Sequence[Entry]:
        """Deal with what a killed watcher left: what ran waits again. Nothing of it was counted.

        Returns:
            The commits that are given up, because they may well be what kills it.
        """
        given_up = []
        for entry in self.commits.abandoned():
            with self.transaction():
                if entry.attempts >= MOST_KILLS:
                    given_up.append(entry)
                    why = f"the harness was killed {entry.attempts} times while it measured this commit"
                    self.commits.finish(entry, Progress.FAILED, why, time)
                else:
                    self.commits.release(entry, counts=True)
                    why = "the harness was killed while it measured this commit; it is done again"
                self.notebook.happened(f"{entry.commit.short}: {why}", time)
        return given_up


@contextlib.contextmanager
def open_state(path: Path) -> Iterator[State]:
    """Claim a state for a watcher, and make it when it is not there.

    Raises:
        UsageError: The file is something else.
        EnvironmentProblem: Another watcher has it, or it is damaged, of a newer harness, or cannot be written.
    """
    with claimed(path) as predecessor, Database(path) as database:
        yield State(database, predecessor)


@contextlib.contextmanager
def look_at(path: Path) -> Iterator[State]:
    """Look at a state, also while a watcher has it. Nothing can be changed.

    Raises:
        UsageError: There is none, or the file is something else.
        EnvironmentProblem: It is damaged, or of a newer harness.
    """
    with Database(path, readonly=True) as database:
        yield State(database)
