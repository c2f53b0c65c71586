"""Devices in doubt (`DeviceDoubt`): which there are, and the results that are not to be trusted because of them.

The body of a result stays as it was measured. Its column `trusted`, by which every view marks it, is false while a
doubt concerns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, Select, delete, insert, or_, select

from harness.core.device_doubt import DeviceDoubt
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.core.values import replace_surrogates
from harness.store.canonical_json import to_json_line
from harness.store.database.columns import key_text
from harness.store.database.engine import Database
from harness.store.database.packing import unpack_body
from harness.store.database.tables import CELLS, DEVICE_DOUBTS, DEVICES, RESULTS

_LONGEST_S: Final = 7 * 86_400.0
"""How long before the last good check of a device a comparison may have begun that it still took part in after that."""
_CHUNK: Final = 500


def store_doubts(database: Database, doubts: Iterable[DeviceDoubt]) -> int:
    """Store doubts in place of what was known of them, and mark the results that they concern.

    Returns:
        Number of doubts that are new, or tell anything new.

    Raises:
        EnvironmentProblem: They cannot be stored.
    """
    changed = 0
    with database.write() as connection:
        for doubt in doubts:
            changed += _store(connection, replace_surrogates(doubt))
    return changed


def load_doubts(connection: Connection, identities: Iterable[str] | None = None) -> tuple[DeviceDoubt, ...]:
    """Return the doubts that are not resolved.

    Args:
        connection: A connection.
        identities: Those about results of these devices or classes; None for all.
    """
    query = select(DEVICE_DOUBTS.c.doubt).where(~DEVICE_DOUBTS.c.resolved).order_by(DEVICE_DOUBTS.c.since)
    found = (DeviceDoubt.model_validate_json(text) for text in connection.scalars(query))  # they are few
    wanted = None if identities is None else frozenset(identities)
    return tuple(doubt for doubt in found if wanted is None or not wanted.isdisjoint(doubt.identities))


def distrust_new(connection: Connection, results: Mapping[int, Result]) -> None:
    """Mark those of some results, by their ids, that a doubt concerns which is known already."""
    identities = {result.device.identity for result in results.values() if result.device is not None}
    doubts = load_doubts(connection, identities) if identities else ()
    doubtful = [key for key, result in results.items() if any(doubt.concerns(result) for doubt in doubts)]
    _set_trusted(connection, doubtful, trusted=False)


def distrust_stored(connection: Connection) -> None:
    """Mark all results that a doubt concerns, after their columns were made again."""
    for doubt in load_doubts(connection):
        _mark(connection, doubt)


def _store(connection: Connection, doubt: DeviceDoubt) -> bool:
    """Store a doubt, and return whether it tells anything new."""
    text, device = to_json_line(doubt), key_text(doubt.identity)
    same = (DEVICE_DOUBTS.c.device == device) & (DEVICE_DOUBTS.c.since == doubt.since)
    known = connection.scalar(select(DEVICE_DOUBTS.c.doubt).where(same))
    if known is not None:
        if not doubt.replaces(DeviceDoubt.model_validate_json(known)):
            return False
        connection.execute(delete(DEVICE_DOUBTS).where(same))
    row = {
        "device": device,
        "since": doubt.since,
        "resolved": doubt.resolved,
        "doubt": text,
    }
    connection.execute(insert(DEVICE_DOUBTS), row)
    _mark(connection, doubt)
    return True


def _mark(connection: Connection, doubt: DeviceDoubt) -> None:
    """Decide again which results are trusted that a doubt may concern, or concerned before it was resolved."""
    own, of_class = (_cells_of(identity) for identity in doubt.identities)
    is_own = RESULTS.c.cell_id.in_(own) & RESULTS.c.started.between(doubt.since, doubt.until)
    if not doubt.resolved:
        is_ok = RESULTS.c.outcome == Outcome.OK.value
        connection.execute(RESULTS.update().where(is_own, is_ok, RESULTS.c.trusted).values(trusted=False))
    is_of_class = RESULTS.c.cell_id.in_(of_class) & RESULTS.c.started.between(doubt.since - _LONGEST_S, doubt.until)
    condition = or_(is_own, is_of_class) if doubt.resolved else is_of_class
    doubts = load_doubts(connection, doubt.identities)
    changed: dict[bool, list[int]] = {True: [], False: []}
    for key, was_trusted, body in connection.execute(
        select(RESULTS.c.id, RESULTS.c.trusted, RESULTS.c.body).where(condition)
    ):
        result = Result.model_validate_json(unpack_body(body))
        trusted = result.trusted and not any(each.concerns(result) for each in doubts)
        if trusted is not was_trusted:
            changed[trusted].append(key)
    for trusted, keys in changed.items():
        _set_trusted(connection, keys, trusted=trusted)


def _cells_of(identity: str) -> Select[tuple[int]]:
    query = select(CELLS.c.id).join(DEVICES, DEVICES.c.id == CELLS.c.device_id)
    return query.where(DEVICES.c.identity == key_text(identity))


def _set_trusted(connection: Connection, keys: Sequence[int], *, trusted: bool) -> None:
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        connection.execute(RESULTS.update().where(RESULTS.c.id.in_(part)).values(trusted=trusted))
