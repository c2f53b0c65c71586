"""Cells that a selection is about, and conditions of periods.

Lists of cells are short (thousands) beside those of results (millions): they are read whole, and sorted here, since
databases sort texts differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, false, or_, select

from harness.store.database.columns import TEXT_CHARACTERS, key_text
from harness.store.database.tables import BENCHMARKS, CELLS, DEVICES, RESULTS
from harness.store.history import Cell, DeviceInfo, Period, Selection

CHUNK: Final = 5000
"""Most keys of one condition: databases limit the number of parameters."""

Key = TypeVar("Key", int, str)


class CellRecord(NamedTuple):
    """Cell with all that lists choose, sort and name it by."""

    id: int
    key: str
    digest: str
    model: str
    identifier: str
    framework: str
    backend: str
    threads: int | None
    device: str
    platform: str
    device_name: str
    device_kind: str
    device_os: str
    latest_result_id: int | None
    latest_good_id: int | None

    def to_cell(self) -> Cell:
        """Return it as pages name it."""
        return Cell(
            key=self.key,
            model=self.model,
            identifier=self.identifier,
            framework=self.framework,
            backend=self.backend,
            threads=self.threads,
            digest=self.digest,
            device=self.to_device(),
        )

    def to_device(self) -> DeviceInfo:
        """Return where it runs."""
        return DeviceInfo(
            identity=self.device,
            name=self.device_name,
            platform=self.platform,
            kind=self.device_kind,
            os=self.device_os,
        )

    @property
    def order(self) -> tuple[str, str, str, str, str, int]:
        """Return its place in lists: by model, identifier and device."""
        return self.model, self.identifier, self.device_name, self.device, self.framework, self.id


_COLUMNS: Final = (
    CELLS.c.id,
    CELLS.c.key,
    BENCHMARKS.c.digest,
    BENCHMARKS.c.model,
    BENCHMARKS.c.identifier,
    BENCHMARKS.c.framework,
    BENCHMARKS.c.backend,
    BENCHMARKS.c.threads,
    DEVICES.c.identity,
    DEVICES.c.platform,
    DEVICES.c.name,
    DEVICES.c.kind,
    DEVICES.c.os,
    CELLS.c.latest_result_id,
    CELLS.c.latest_good_id,
)
_JOINED: Final = CELLS.join(BENCHMARKS, CELLS.c.benchmark_id == BENCHMARKS.c.id).join(
    DEVICES, CELLS.c.device_id == DEVICES.c.id
)


def is_stored_text(text: str) -> bool:
    """Return whether a text can be in a database at all; asked for another, drivers raise errors.

    Surrogates are not Unicode; NUL is replaced in columns of keys (`key_text`), and so is in none.
    """
    return not any("\ud800" <= character <= "\udfff" for character in text)


def is_among(column: Column[str], names: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the names."""
    return column.in_([key_text(name) for name in names if is_stored_text(name)])


def contains(columns: Sequence[ColumnElement[str]], text: str) -> ColumnElement[bool]:
    """Return the condition that one of the columns has a text in it, in any case; `%` and `_` mean themselves."""
    if not is_stored_text(text) or "\0" in text or len(text) > TEXT_CHARACTERS:
        return false()
    return or_(*(column.icontains(text, autoescape=True) for column in columns))


def condition_of(selection: Selection) -> ColumnElement[bool] | None:
    """Return the condition on benchmark, device and cell; None where every cell is selected."""
    conditions = [
        is_among(column, names)
        for column, names in (
            (BENCHMARKS.c.model, selection.models),
            (BENCHMARKS.c.backend, selection.backends),
            (BENCHMARKS.c.framework, selection.frameworks),
            (DEVICES.c.identity, selection.devices),
        )
        if names
    ]
    if selection.categories:
        reported = is_among(RESULTS.c.category, selection.categories)
        conditions.append(select(1).where(RESULTS.c.cell_id == CELLS.c.id, reported).exists())
    if selection.text:
        title = BENCHMARKS.c.model + "/" + BENCHMARKS.c.identifier
        conditions.append(contains((title, DEVICES.c.name), selection.text))
    return and_(*conditions) if conditions else None


def ids_of(selection: Selection) -> Select[tuple[int]] | None:
    """Return the query of the ids of the selected cells; None where every cell is selected."""
    condition = condition_of(selection)
    return None if condition is None else select(CELLS.c.id).select_from(_JOINED).where(condition)


def keys_of(selection: Selection) -> Select[tuple[str]] | None:
    """Return the query of the keys of the selected cells; None where every cell is selected."""
    condition = condition_of(selection)
    return None if condition is None else select(CELLS.c.key).select_from(_JOINED).where(condition)


def list_cells(connection: Connection, selection: Selection) -> list[CellRecord]:
    """Return the selected cells that have results, in the order of lists."""
    query = select(*_COLUMNS).select_from(_JOINED).where(CELLS.c.latest_result_id.is_not(None))
    condition = condition_of(selection)
    rows = connection.execute(query if condition is None else query.where(condition))
    return sorted((CellRecord._make(row) for row in rows), key=lambda cell: cell.order)


def load_cells(connection: Connection, condition: ColumnElement[bool]) -> list[CellRecord]:
    """Return the cells for which a condition on cell, benchmark and device holds."""
    rows = connection.execute(select(*_COLUMNS).select_from(_JOINED).where(condition))
    return [CellRecord._make(row) for row in rows]


def within(column: Column[float], period: Period) -> list[ColumnElement[bool]]:
    """Return the conditions that a time is in a period."""
    conditions: list[ColumnElement[bool]] = []
    if period.start is not None:
        conditions.append(column >= period.start)
    if period.end is not None:
        conditions.append(column <= period.end)
    return conditions


def split(keys: Sequence[Key]) -> Iterator[Sequence[Key]]:
    """Yield keys in parts that fit one condition."""
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]
