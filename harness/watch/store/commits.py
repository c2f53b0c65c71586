"""Backlog of a state: which commits wait, which one runs, and what became of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.watch.store.database import ColumnValue, StateDatabase

WITHDRAWN: Final = "no longer in the history that is watched"
"""Reason why a commit that waited is passed over; should history come back to it, it waits again."""

_COLUMNS: Final = (
    "position, id, source, time, author, subject, status, reason, control, started, finished, attempts, rounds"
)


class CommitStatus(StrEnum):
    """Status of a commit in the backlog. `VANISHED` was done, and is no longer in the history that is watched."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    BUILD_FAILED = "build_failed"
    SKIPPED = "skipped"
    FAILED = "failed"
    VANISHED = "vanished"


class BacklogEntry(Value):
    """A commit of the backlog.

    Attributes:
        position: Its number in the order in which commits are taken.
        commit: The commit.
        status: Its status.
        reason: Why it was skipped or failed.
        control: Id of the commit that it is or was compared with.
        started: Unix seconds of the last start.
        finished: Unix seconds.
        attempts: How often it was started without an end.
        rounds: How often it was measured to the end.
    """

    position: int
    commit: Commit
    status: CommitStatus
    reason: str = ""
    control: str | None = None
    started: float | None = None
    finished: float | None = None
    attempts: int = 0
    rounds: int = 0

    @property
    def is_out_of_history(self) -> bool:
        """Return whether history was rewritten without the commit."""
        return self.status is CommitStatus.VANISHED or (
            self.status is CommitStatus.SKIPPED and self.reason == WITHDRAWN
        )


class _CommitCount(Value):
    status: CommitStatus
    count: int


class CommitTable:
    """Table of commits. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def add(self, commit: Commit, status: CommitStatus, reason: str = "") -> None:
        """Append a commit to the backlog. One that is known stays as it is, unless it was withdrawn or had vanished.

        One that had vanished was measured: it is done, at its new place.
        """
        self._database.change(
            "UPDATE commits SET status = ?, position = (SELECT max(position) + 1 FROM commits)"
            " WHERE id = ? AND status = ?",
            *(CommitStatus.DONE, commit.id, CommitStatus.VANISHED),
        )
        self._database.change(
            "INSERT INTO commits (position, id, source, time, author, subject, status, reason)"
            " VALUES ((SELECT coalesce(max(position), 0) + 1 FROM commits), ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET position = excluded.position, status = excluded.status,"
            " reason = excluded.reason WHERE commits.status = ? AND commits.reason = ?",
            *(commit.id, commit.source, commit.time, commit.author, commit.subject, status, reason),
            *(CommitStatus.SKIPPED, WITHDRAWN),
        )

    def withdraw(self, after: str | None, keep: Iterable[str]) -> int:
        """Pass over commits that wait and are not in the history any more.

        Args:
            after: Id of the commit from which history goes on; what came before it stays. None is before all.
            keep: Ids of commits that stay.

        Returns:
            How many commits were passed over.
        """
        gone = self._missing(CommitStatus.WAITING, after, keep)
        for entry in gone:
            statement = "UPDATE commits SET status = ?, reason = ? WHERE id = ?"
            self._database.change(statement, CommitStatus.SKIPPED, WITHDRAWN, entry.commit.id)
        return len(gone)

    def retire(self, after: str | None, keep: Iterable[str]) -> Sequence[BacklogEntry]:
        """Mark measured commits as vanished that are not in the history any more.

        Args:
            after: Id of the commit from which history goes on; what came before it stays. None is before all.
            keep: Ids of commits that stay.

        Returns:
            The commits as they were.
        """
        gone = self._missing(CommitStatus.DONE, after, keep)
        for entry in gone:
            statement = "UPDATE commits SET status = ? WHERE id = ?"
            self._database.change(statement, CommitStatus.VANISHED, entry.commit.id)
        return gone

    def _missing(self, status: CommitStatus, after: str | None, keep: Iterable[str]) -> list[BacklogEntry]:
        """Return the commits with a status behind one that are not among those that stay."""
        known, kept = self.find(after) if after else None, set(keep)
        return [
            entry
            for entry in self.with_status(status)
            if entry.commit.id not in kept and (known is None or entry.position > known.position)
        ]

    def next(self) -> BacklogEntry | None:
        """Return the first commit that waits."""
        return next(iter(self._entries("WHERE status = ? ORDER BY position LIMIT 1", CommitStatus.WAITING)), None)

    def begin(self, entry: BacklogEntry, control: Commit, time: float) -> BacklogEntry:
        """Mark a commit as running: it is being compared from now on."""
        statement = (
            "UPDATE commits SET status = ?, control = ?, started = ?, finished = NULL, attempts = attempts + 1"
            " WHERE id = ? AND status = ?"
        )
        values = (CommitStatus.RUNNING, control.id, time, entry.commit.id, CommitStatus.WAITING)
        self._require_one(self._database.change(statement, *values))
        return self.get(entry.commit.id)

    def release(self, entry: BacklogEntry, *, counts: bool) -> None:
        """Let a commit that ran wait again.

        Args:
            entry: The commit.
            counts: Whether the attempt was in vain, and not only ended by a person.
        """
        statement = "UPDATE commits SET status = ?, attempts = attempts - ? WHERE id = ? AND status = ?"
        self._database.change(statement, CommitStatus.WAITING, int(not counts), entry.commit.id, CommitStatus.RUNNING)

    def finish(self, entry: BacklogEntry, status: CommitStatus, reason: str, time: float) -> None:
        """Mark a commit that waited or ran as finished for good.

        Raises:
            EnvironmentProblem: It was finished before: nothing is counted twice.
        """
        statement = (
            "UPDATE commits SET status = ?, reason = ?, finished = ?, attempts = 0, rounds = rounds + ?"
            " WHERE id = ? AND status IN (?, ?)"
        )
        open_ = (CommitStatus.WAITING, CommitStatus.RUNNING)
        values = (status, reason, time, status is CommitStatus.DONE, entry.commit.id, *open_)
        self._require_one(self._database.change(statement, *values))

    def measure_again(self, commit: str, most: int) -> bool:
        """Let a commit that was measured wait once more.

        Args:
            commit: Its id.
            most: How often it is measured at most.

        Returns:
            Whether it waits again.
        """
        statement = "UPDATE commits SET status = ? WHERE id = ? AND status = ? AND rounds < ?"
        return self._database.change(statement, CommitStatus.WAITING, commit, CommitStatus.DONE, most) == 1

    def queue_again(self, commits: Iterable[str]) -> int:
        """Let commits wait once more that were finished, in whatever way; return how many.

        Those that are not in the history any more stay as they are.
        """
        finished = (CommitStatus.DONE, CommitStatus.BUILD_FAILED, CommitStatus.SKIPPED, CommitStatus.FAILED)
        marks = ", ".join("?" * len(finished))
        statement = (
            "UPDATE commits SET status = ?, reason = '', finished = NULL, attempts = 0"  # noqa: S608 - marks only
            f" WHERE id = ? AND status IN ({marks}) AND reason <> ?"
        )
        return sum(
            self._database.change(statement, CommitStatus.WAITING, commit, *finished, WITHDRAWN) for commit in commits
        )

    def has_waiting_before_measured(self) -> bool:
        """Return whether a commit waits that is before one that was measured: it is to be measured again."""
        last = "(SELECT max(position) FROM commits WHERE status = ?)"
        query = f"SELECT EXISTS (SELECT 1 FROM commits WHERE status = ? AND position < {last})"  # noqa: S608 - all ours
        return bool(self._database.rows(query, CommitStatus.WAITING, CommitStatus.DONE)[0][0])

    def interrupted(self) -> Sequence[BacklogEntry]:
        """Return the commits that ran when a watcher was killed."""
        return self.with_status(CommitStatus.RUNNING)

    def with_status(self, status: CommitStatus, most: int = -1) -> Sequence[BacklogEntry]:
        """Return the commits with a status, in order.

        Args:
            status: The status.
            most: How many at most; -1 is all.
        """
        return self._entries("WHERE status = ? ORDER BY position LIMIT ?", status, most)

    def newest(self, most: int) -> Sequence[BacklogEntry]:
        """Return the last commits of the order, newest first."""
        return self._entries("ORDER BY position DESC LIMIT ?", most)

    def finished(self, most: int) -> Sequence[BacklogEntry]:
        """Return the commits that were compared last, newest first."""
        ends = (CommitStatus.DONE, CommitStatus.BUILD_FAILED, CommitStatus.FAILED)
        return self._entries("WHERE status IN (?, ?, ?) ORDER BY position DESC LIMIT ?", *ends, most)

    def last_finished(self) -> BacklogEntry | None:
        """Return the newest commit before which none waits or runs: where another watcher would go on."""
        open_ = "(SELECT coalesce(min(position), 1 << 62) FROM commits WHERE status IN (?, ?))"
        where = f"WHERE position < {open_} ORDER BY position DESC LIMIT 1"
        return next(iter(self._entries(where, CommitStatus.WAITING, CommitStatus.RUNNING)), None)

    def find(self, commit: str) -> BacklogEntry | None:
        """Return the entry of a commit, if it has one."""
        return next(iter(self._entries("WHERE id = ?", commit)), None)

    def with_prefix(self, prefix: str) -> Sequence[str]:
        """Return the ids of the backlog that begin with some characters; only that which is equal, if there is one."""
        rows = self._database.rows("SELECT id FROM commits WHERE substr(id, 1, ?) = ?", len(prefix), prefix)
        ids = [str(row[0]) for row in rows]
        return [prefix] if prefix in ids else ids

    def get(self, commit: str) -> BacklogEntry:
        """Return the entry of a commit that has one.

        Raises:
            EnvironmentProblem: It has none any more.
        """
        entry = self.find(commit)
        if entry is None:
            raise self._changed_by_others()
        return entry

    def before(self, entry: BacklogEntry) -> BacklogEntry | None:
        """Return the entry before another in the order."""
        return next(iter(self._entries("WHERE position < ? ORDER BY position DESC LIMIT 1", entry.position)), None)

    def between(self, after: int, last: int) -> Sequence[BacklogEntry]:
        """Return the entries behind a position, up to another one, in order."""
        return self._entries("WHERE position > ? AND position <= ? ORDER BY position", after, last)

    def counts(self) -> Counter[CommitStatus]:
        """Count the commits by status."""
        rows = self._database.rows("SELECT status, count(*) FROM commits GROUP BY status")
        counts = [self._database.validate(_CommitCount, {"status": status, "count": count}) for status, count in rows]
        return Counter({row.status: row.count for row in counts})

    def _require_one(self, changed: int) -> None:
        if changed != 1:
            raise self._changed_by_others()

    def _changed_by_others(self) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"the state {self._database.path} was changed by another program",
            hint="let nothing but one watcher write to it",
        )

    def _entries(self, where: str, *values: ColumnValue) -> Sequence[BacklogEntry]:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM commits {where}", *values)  # noqa: S608 - all ours
        return [self._entry(row) for row in rows]

    def _entry(self, row: Sequence[ColumnValue]) -> BacklogEntry:
        position, identity, source, time, author, subject, *others = row
        commit = {"source": source, "id": identity, "time": time, "author": author, "subject": subject}
        names = ("status", "reason", "control", "started", "finished", "attempts", "rounds")
        fields = {"position": position, "commit": commit, **dict(zip(names, others, strict=True))}
        return self._database.validate(BacklogEntry, fields)
