"""Event log of a watcher, for people, and small facts that it keeps, one of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from harness.core.commit import Commit
from harness.core.values import Value
from harness.watch.store.database import StateDatabase

MOST_EVENTS: Final = 1000
"""Older ones are forgotten: a watcher runs for months."""


class CurrentActivity(Value):
    """Present activity of a watcher.

    Attributes:
        what: In words.
        since: Unix seconds.
    """

    what: str
    since: float


class PollStatus(Value):
    """Result of looking for new commits. Times are Unix seconds, for people.

    Attributes:
        success: When it last worked.
        failure: When it last failed.
        error: Why it failed; None since it works again.
        failures: How often it failed since it worked.
        next: When it is tried again; None when it is not.
    """

    success: float | None = None
    failure: float | None = None
    error: str | None = None
    failures: int = 0
    next: float | None = None


class PollCursor(Value):
    """Place in the history up to which commits were taken.

    Attributes:
        cursor: The last commit that was taken or passed over.
        tip: Id of the newest commit that was found.
    """

    cursor: Commit
    tip: str


class BrokenCommits(Value):
    """Ids of commits that cannot be built, or not be measured, and so can be no control."""

    commits: tuple[str, ...] = ()


class ControlTrouble(Value):
    """Control that could not be built or measured when it was last tried.

    Attributes:
        control: Its id.
        failures: How often in a row.
        replaced: Ids of controls that were replaced before it because they could not be measured.
    """

    control: str
    failures: int = 0
    replaced: tuple[str, ...] = ()


class LastError(Value):
    """Error that keeps the present commit from being measured.

    Attributes:
        error: In words.
        time: Unix seconds.
    """

    error: str
    time: float


class Event(Value):
    """Something that a person should know.

    Attributes:
        time: Unix seconds.
        text: What happened.
    """

    time: float
    text: str


AnyFact = TypeVar("AnyFact", bound=Value)


class EventLog:
    """Events and facts of one state."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def read(self, kind: type[AnyFact]) -> AnyFact | None:
        """Return the fact of a kind, if there is one."""
        rows = self._database.rows("SELECT value FROM facts WHERE kind = ?", kind.__name__)
        return self._database.parse(kind, rows[0][0]) if rows else None

    def write(self, fact: Value) -> None:
        """Store a fact in place of the last of its kind."""
        statement = "INSERT INTO facts VALUES (?, ?) ON CONFLICT (kind) DO UPDATE SET value = excluded.value"
        self._database.change(statement, type(fact).__name__, fact.model_dump_json())

    def forget(self, kind: type[Value]) -> None:
        """Delete the fact of a kind."""
        self._database.change("DELETE FROM facts WHERE kind = ?", kind.__name__)

    def record(self, text: str, time: float) -> None:
        """Record an event."""
        self._database.change("INSERT INTO events (time, text) VALUES (?, ?)", time, text)
        oldest = "(SELECT max(number) FROM events) - ?"
        self._database.change(f"DELETE FROM events WHERE number <= {oldest}", MOST_EVENTS)  # noqa: S608 - ours

    def latest(self, most: int = 20) -> Sequence[Event]:
        """Return the last events, newest first."""
        rows = self._database.rows("SELECT time, text FROM events ORDER BY number DESC LIMIT ?", most)
        return [Event.model_validate({"time": time, "text": text}) for time, text in rows]
