"""The alarms of a state, and how far the searches for their culprits are."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue, TypeAdapter

from harness.watch.store.database import Database
from harness.watch.store.records import Alarm, Sign, Stage

_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class Alarms:
    """The table of alarms. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, sign: Sign, time: float) -> bool:
        """Raise an alarm; False when it was raised before, in whatever stage it is now."""
        alarm = Alarm(sign=sign, stage=Stage.OPENED, opened=time, changed=time, document=sign.document)
        statement = "INSERT INTO alarms (identity, stage, opened, alarm) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        return self._database.change(statement, sign.identity, alarm.stage, time, alarm.model_dump_json()) == 1

    def keep(self, alarm: Alarm) -> None:
        """Keep an alarm as it is now."""
        statement = "UPDATE alarms SET stage = ?, alarm = ? WHERE identity = ?"
        self._database.change(statement, alarm.stage, alarm.model_dump_json(), alarm.sign.identity)

    def find(self, identity: str) -> Alarm | None:
        """The alarm of an identity."""
        found = self._database.rows("SELECT alarm FROM alarms WHERE identity = ?", identity)
        return Alarm.model_validate_json(str(found[0][0])) if found else None

    def those(self, *stages: Stage) -> Sequence[Alarm]:
        """Alarms by stage, oldest first."""
        marks = ", ".join("?" * len(stages))
        query = f"SELECT alarm FROM alarms WHERE stage IN ({marks}) ORDER BY opened, rowid"  # noqa: S608 - marks only
        return [Alarm.model_validate_json(str(cell)) for (cell,) in self._database.rows(query, *stages)]

    def save_search(self, identity: str, progress: JsonValue) -> None:
        """Keep how far the search of an alarm's culprit is."""
        statement = (
            "INSERT INTO searches VALUES (?, ?) ON CONFLICT (identity) DO UPDATE SET progress = excluded.progress"
        )
        self._database.change(statement, identity, _JSON.dump_json(progress).decode())

    def saved_search(self, identity: str) -> JsonValue:
        """How far the search was; None where it was not begun."""
        found = self._database.rows("SELECT progress FROM searches WHERE identity = ?", identity)
        return _JSON.validate_json(str(found[0][0])) if found else None
