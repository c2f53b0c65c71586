"""What is to be told: each document once for each courier, until it was delivered or refused."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from harness.watch.store.database import Cell, Database
from harness.watch.store.records import Alarm, Event, Fate, Letter, News


class Letters:
    """The table of letters. Each method is one transaction, or a part of the one that is open."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def queue(self, alarm: Alarm, event: Event, couriers: Iterable[str], time: float) -> None:
        """Put a document into the spool of each courier; the same event of the same alarm is never put twice."""
        news = News(key=_key(alarm, event), event=event, time=time, alarm=alarm)
        for courier in couriers:
            letter = Letter(news=news, courier=courier, queued=time)
            self._database.change(
                "INSERT INTO letters (key, courier, identity, fate, letter) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                *(news.key, courier, alarm.sign.identity, letter.fate, letter.model_dump_json()),
            )

    def keep(self, letter: Letter) -> None:
        """Keep a letter as it is now."""
        statement = "UPDATE letters SET fate = ?, letter = ? WHERE key = ? AND courier = ?"
        self._database.change(statement, letter.fate, letter.model_dump_json(), letter.news.key, letter.courier)

    def those(self, fate: Fate) -> Sequence[Letter]:
        """Letters by fate, oldest first."""
        return self._letters("WHERE fate = ? ORDER BY number", fate)

    def of_alarm(self, identity: str) -> Sequence[Letter]:
        """Every letter about one alarm, oldest first."""
        return self._letters("WHERE identity = ? ORDER BY number", identity)

    def counts(self) -> Counter[Fate]:
        """How many have which fate."""
        found = self._database.rows("SELECT fate, count(*) FROM letters GROUP BY fate")
        return Counter({Fate(str(fate)): int(str(count)) for fate, count in found})

    def _letters(self, which: str, *values: Cell) -> Sequence[Letter]:
        rows = self._database.rows(f"SELECT letter FROM letters {which}", *values)  # noqa: S608 - all ours
        return [Letter.model_validate_json(str(cell)) for (cell,) in rows]


def _key(alarm: Alarm, event: Event) -> str:
    """Fit for a header and a file name, whatever the identity is made of."""
    return hashlib.sha256(f"{alarm.sign.identity}\n{event}".encode()).hexdigest()[:32]
