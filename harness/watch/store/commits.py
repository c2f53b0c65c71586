"""The commits of a state: which wait, which one runs, and what became of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem
from harness.watch.store.database import Cell, Database
from harness.watch.store.records import Entry, Progress

WITHDRAWN: Final = "no longer in the history that is watched"
"""Why a commit that waited is passed over; should history come back to it, it waits again."""

_COLUMNS: Final = (
    "position, id, source, time, author, subject, progress, why, control, started, finished, attempts, rounds"
)


class Commits:
    """The table of commits. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, commit: Commit, progress: Progress, why: str = "") -> None:
        """Put a commit at the end of the order. One that is known stays as it is, unless it was withdrawn."""
        self._database.change(
            "INSERT INTO commits (position, id, source, time, author, subject, progress, why)"
            " VALUES ((SELECT coalesce(max(position), 0) + 1 FROM commits), ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET position = excluded.position, progress = excluded.progress,"
            " why = excluded.why WHERE commits.progress = ? AND commits.why = ?",
            *(commit.id, commit.source, commit.time, commit.author, commit.subject, progress, why),
            *(Progress.SKIPPED, WITHDRAWN),
        )

    def withdraw(self, after: str | None, keep: Iterable[str]) -> int:
        """Pass over what waits and is not in the history any more.

        Args:
            after: Id of the commit from which history goes on; what came before it stays. None is before all.
            keep: Ids of commits that stay.

        Returns:
            How many were passed over.
        """
        known = self.find(after) if after else None
        kept = set(keep)
        gone = [
            entry
            for entry in self.those(Progress.WAITING)
            if entry.commit.id not in kept and (known is None or entry.position > known.position)
        ]
        for entry in gone:
            self._set(entry, Progress.SKIPPED, WITHDRAWN)
        return len(gone)

    def next(self) -> Entry | None:
        """The first commit that waits."""
        return next(iter(self._entries("WHERE progress = ? ORDER BY position LIMIT 1", Progress.WAITING)), None)

    def begin(self, entry: Entry, control: Commit, time: float) -> Entry:
        """A commit is being compared from now on."""
        statement = (
            "UPDATE commits SET progress = ?, control = ?, started = ?, finished = NULL, attempts = attempts + 1"
            " WHERE id = ? AND progress = ?"
        )
        self._one(
            self._database.change(statement, Progress.RUNNING, control.id, time, entry.commit.id, Progress.WAITING)
        )
        return self._found(entry)

    def release(self, entry: Entry, *, counts: bool) -> None:
        """A commit that ran waits again.

        Args:
            entry: The commit.
            counts: Whether the attempt was in vain, and not only ended by a person.
        """
        statement = "UPDATE commits SET progress = ?, attempts = attempts - ? WHERE id = ? AND progress = ?"
        self._database.change(statement, Progress.WAITING, int(not counts), entry.commit.id, Progress.RUNNING)

    def finish(self, entry: Entry, progress: Progress, why: str, time: float) -> None:
        """A commit that waited or ran is dealt with for good.

        Raises:
            EnvironmentProblem: It is already: nothing is counted twice.
        """
        statement = (
            "UPDATE commits SET progress = ?, why = ?, finished = ?, attempts = 0, rounds = rounds + ?"
            " WHERE id = ? AND progress IN (?, ?)"
        )
        values = (progress, why, time, progress is Progress.DONE, entry.commit.id, Progress.WAITING, Progress.RUNNING)
        self._one(self._database.change(statement, *values))

    def again(self, commit: str, most: int) -> bool:
        """Let a commit that was measured wait once more.

        Args:
            commit: Its id.
            most: So often at most it is measured.

        Returns:
            Whether it does.
        """
        statement = "UPDATE commits SET progress = ? WHERE id = ? AND progress = ? AND rounds < ?"
        return self._database.change(statement, Progress.WAITING, commit, Progress.DONE, most) == 1

    def abandoned(self) -> Sequence[Entry]:
        """The commits that ran when a watcher was killed."""
        return self.those(Progress.RUNNING)

    def those(self, progress: Progress, most: int = -1) -> Sequence[Entry]:
        """Commits by where they are, in order.

        Args:
            progress: Where.
            most: How many; -1 is all.
        """
        return self._entries("WHERE progress = ? ORDER BY position LIMIT ?", progress, most)

    def newest(self, most: int) -> Sequence[Entry]:
        """The last commits of the order, newest first."""
        return self._entries("ORDER BY position DESC LIMIT ?", most)

    def finished(self, most: int) -> Sequence[Entry]:
        """The commits that were compared last, newest first."""
        ends = (Progress.DONE, Progress.BUILD_FAILED, Progress.FAILED)
        return self._entries("WHERE progress IN (?, ?, ?) ORDER BY position DESC LIMIT ?", *ends, most)

    def last_dealt_with(self) -> Entry | None:
        """The newest commit before which none waits or runs: where another watcher would go on."""
        open_ = "(SELECT coalesce(min(position), 1 << 62) FROM commits WHERE progress IN (?, ?))"
        where = f"WHERE position < {open_} ORDER BY position DESC LIMIT 1"
        return next(iter(self._entries(where, Progress.WAITING, Progress.RUNNING)), None)

    def find(self, commit: str) -> Entry | None:
        """The entry of a commit."""
        return next(iter(self._entries("WHERE id = ?", commit)), None)

    def before(self, entry: Entry) -> Entry | None:
        """The entry before another in the order."""
        return next(iter(self._entries("WHERE position < ? ORDER BY position DESC LIMIT 1", entry.position)), None)

    def counts(self) -> Counter[Progress]:
        """How many are where."""
        found = self._database.rows("SELECT progress, count(*) FROM commits GROUP BY progress")
        return Counter({Progress(str(progress)): int(str(count)) for progress, count in found})

    def _set(self, entry: Entry, progress: Progress, why: str) -> None:
        self._database.change("UPDATE commits SET progress = ?, why = ? WHERE id = ?", progress, why, entry.commit.id)

    def _found(self, entry: Entry) -> Entry:
        found = self.find(entry.commit.id)
        self._one(int(found is not None))
        return found or entry

    def _one(self, changed: int) -> None:
        if changed != 1:
            raise EnvironmentProblem(
                f"the state {self._database.path} was changed by somebody else",
                hint="let nothing but one watcher write to it",
            )

    def _entries(self, which: str, *values: Cell) -> Sequence[Entry]:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM commits {which}", *values)  # noqa: S608 - all ours
        return [_entry(row) for row in rows]


def _entry(row: Sequence[Cell]) -> Entry:
    position, identity, source, time, author, subject, *others = row
    commit = {"source": source, "id": identity, "time": time, "author": author, "subject": subject}
    names = ("progress", "why", "control", "started", "finished", "attempts", "rounds")
    return Entry.model_validate({"position": position, "commit": commit, **dict(zip(names, others, strict=True))})
