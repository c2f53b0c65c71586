"""Alarms of a state, and the progress of the searches for their culprits."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.alarm import Alarm, AlarmStage
from harness.core.change import Change
from harness.watch.store.database import StateDatabase


class AlarmTable:
    """Table of alarms. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    def open(self, change: Change, time: float) -> bool:
        """Raise an alarm; return False when it was raised before, in whatever stage it is now."""
        alarm = Alarm(change=change, stage=AlarmStage.OPENED, opened=time, updated=time)
        statement = "INSERT INTO alarms (identity, stage, opened, alarm) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return self._database.change(statement, alarm.identity, alarm.stage, time, alarm.model_dump_json()) == 1

    def update(self, alarm: Alarm) -> None:
        """Store an alarm in place of its earlier stage."""
        statement = "UPDATE alarms SET stage = ?, alarm = ? WHERE identity = ?"
        self._database.change(statement, alarm.stage, alarm.model_dump_json(), alarm.identity)

    def find(self, identity: str) -> Alarm | None:
        """Return the alarm of an identity."""
        rows = self._database.rows("SELECT alarm FROM alarms WHERE identity = ?", identity)
        return self._database.parse(Alarm, rows[0][0]) if rows else None

    def has(self, identity: str) -> bool:
        """Return whether an alarm of an identity was raised, without reading it."""
        return bool(self._database.rows("SELECT 1 FROM alarms WHERE identity = ?", identity))

    def in_stages(self, *stages: AlarmStage) -> Sequence[Alarm]:
        """Return the alarms that are in some stages, oldest first."""
        marks = ", ".join("?" * len(stages))
        query = f"SELECT alarm FROM alarms WHERE stage IN ({marks}) ORDER BY opened, rowid"  # noqa: S608 - marks only
        return [self._database.parse(Alarm, cell) for (cell,) in self._database.rows(query, *stages)]

    def save_search(self, identity: str, progress: str) -> None:
        """Store the progress of the search for an alarm's culprits, a text of the search's own."""
        statement = (
            "INSERT INTO searches VALUES (?, ?) ON CONFLICT (identity) DO UPDATE SET progress = excluded.progress"
        )
        self._database.change(statement, identity, progress)

    def forget_search(self, identity: str) -> None:
        """Have the culprits of an alarm searched from the beginning."""
        self._database.change("DELETE FROM searches WHERE identity = ?", identity)

    def load_search(self, identity: str) -> str | None:
        """Return the progress of the search; None where it was not begun."""
        rows = self._database.rows("SELECT progress FROM searches WHERE identity = ?", identity)
        return str(rows[0][0]) if rows else None
