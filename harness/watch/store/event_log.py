"""Small facts that a watcher keeps, and what happened lately, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from pydantic import ValidationError

from harness.core.commit import Commit
from harness.core.values import Value
from harness.watch.store.database import Database

MOST_HAPPENINGS: Final = 1000
"""Older ones are forgotten: a watcher runs for months."""


class Doing(Value):
    """What a watcher is at.

    Attributes:
        what: In words.
        since: Unix seconds.
    """

    what: str
    since: float


class Polled(Value):
    """How looking for new commits went. Times are Unix seconds, for people.

    Attributes:
        success: When it last worked.
        failure: When it last did not.
        error: Why not; None since it works again.
        failures: How often it failed since it worked.
        next: When it is tried again; None when it is not.
    """

    success: float | None = None
    failure: float | None = None
    error: str | None = None
    failures: int = 0
    next: float | None = None


class Place(Value):
    """How far new commits were looked at.

    Attributes:
        cursor: The last commit that was taken or passed over.
        tip: Id of the newest commit that was seen.
    """

    cursor: Commit
    tip: str


class Broken(Value):
    """Ids of commits that cannot be built, and so can be no control."""

    commits: tuple[str, ...] = ()


class Trouble(Value):
    """What keeps the present commit from being measured.

    Attributes:
        error: In words.
        time: Unix seconds.
    """

    error: str
    time: float


class Happening(Value):
    """Something that a person should know.

    Attributes:
        time: Unix seconds.
        text: What.
    """

    time: float
    text: str


AnyFact = TypeVar("AnyFact", Doing, Polled, Place, Broken, Trouble)


class Notebook:
    """The facts of one state, one of each kind."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, kind: type[AnyFact]) -> AnyFact | None:
        """The fact of a kind, if there is one."""
        found = self._database.rows("SELECT value FROM notebook WHERE key = ?", kind.__name__)
        try:
            return kind.model_validate_json(str(found[0][0])) if found else None
        except ValidationError:
            return None  # of another version of the harness; facts come again

    def write(self, fact: Value) -> None:
        """Keep a fact in place of the last of its kind."""
        statement = "INSERT INTO notebook VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._database.change(statement, type(fact).__name__, fact.model_dump_json())

    def forget(self, kind: type[Value]) -> None:
        """Keep no fact of a kind."""
        self._database.change("DELETE FROM notebook WHERE key = ?", kind.__name__)

    def happened(self, text: str, time: float) -> None:
        """Remember that something happened."""
        self._database.change("INSERT INTO happenings (time, text) VALUES (?, ?)", time, text)
        oldest = "(SELECT max(number) FROM happenings) - ?"
        self._database.change(f"DELETE FROM happenings WHERE number <= {oldest}", MOST_HAPPENINGS)  # noqa: S608 - ours

    def lately(self, most: int = 20) -> Sequence[Happening]:
        """What happened last, newest first."""
        found = self._database.rows("SELECT time, text FROM happenings ORDER BY number DESC LIMIT ?", most)
        return [Happening.model_validate({"time": time, "text": text}) for time, text in found]
