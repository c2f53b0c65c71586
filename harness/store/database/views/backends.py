"""Backend against backend: the newest good result of each benchmark of a model, on each device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import ValidationError
from sqlalchemy import Connection, select

from harness.core.evaluation import StageEvaluation
from harness.core.metric import convert
from harness.core.result import Result
from harness.core.rivals import compute_speeds
from harness.store.database.packing import unpack_body
from harness.store.database.tables import RESULTS
from harness.store.database.views.rows import load_rows_by_id
from harness.store.database.views.selecting import CellRecord, list_cells, split
from harness.store.history import BackendRow, ResultRow, Selection

_AGREEMENT: Final = "top1_agreement"
_SQNR: Final = "sqnr"
_PEAK: Final = "RUN peak_memory"


def list_backends(connection: Connection, model: str, devices: tuple[str, ...]) -> tuple[BackendRow, ...]:
    """Return the rows of a model by device and identifier; of several definitions of a benchmark the newest counts.

    What a program was exported from, which decides whether two did the same work, is only in the results themselves.
    """
    cells = list_cells(connection, Selection(models=(model,), devices=devices))
    cells.sort(key=lambda cell: (cell.device_name, cell.device, *cell.order))
    good = {cell.latest_good_id: cell for cell in cells if cell.latest_good_id is not None}
    loaded = load_rows_by_id(connection, list(good))
    rows = _keep_newest((cell, loaded[identity]) for identity, cell in good.items() if identity in loaded)
    results = _load_bodies(connection, [row.uid for row in rows])
    known = {results[row.uid].uid: row.uid for row in rows if row.uid in results}  # a column may shorten a uid
    ratios = compute_speeds((results[uid] for uid in known.values()), across_runs=True)
    speeds = {known[uid]: ratio for uid, ratio in ratios.items()}
    return tuple(_describe(row, results.get(row.uid), speeds.get(row.uid)) for row in rows)


def _keep_newest(rows: Iterable[tuple[CellRecord, ResultRow]]) -> list[ResultRow]:
    """Return one row for each benchmark and device, at the place of its first definition."""
    newest: dict[tuple[str, str, str], ResultRow] = {}
    for cell, row in rows:
        key = (cell.identifier, cell.framework, cell.device)
        if key not in newest or newest[key].time <= row.time:
            newest[key] = row
    return list(newest.values())


def _load_bodies(connection: Connection, uids: Sequence[str]) -> dict[str, Result]:
    """Return results without samples by their uids.

    One that is damaged costs its row nothing but what only the result knows; its own page says why.
    """
    results: dict[str, Result] = {}
    query = select(RESULTS.c.uid, RESULTS.c.body)
    for part in split(uids):
        for uid, body in connection.execute(query.where(RESULTS.c.uid.in_(part))):
            with contextlib.suppress(ValidationError, ValueError):
                results[uid] = Result.model_validate_json(unpack_body(body))
    return results


def _describe(row: ResultRow, result: Result | None, speed: float | None) -> BackendRow:
    if result is None:
        return BackendRow(result=row, speed=speed)
    measured = result.evaluation.measured if result.evaluation is not None else None
    sizes = [file.size_bytes for file in result.files.values() if file.export is not None]
    return BackendRow(
        result=row,
        speed=speed,
        agreement=_value_of(measured, _AGREEMENT),
        sqnr_db=_value_of(measured, _SQNR),
        size_bytes=sum(sizes) if sizes else None,
        peak_memory_bytes=_find_peak_memory(result),
    )


def _value_of(measured: StageEvaluation | None, name: str) -> float | None:
    statistic = measured.statistic(name) if measured is not None else None
    return statistic.value if statistic is not None else None


def _find_peak_memory(result: Result) -> float | None:
    """Return the program's own figure, else the largest that the platform saw of a launch."""
    metric = result.metric(_PEAK)
    own = convert(metric.median, metric.unit, "bytes") if metric is not None and metric.median is not None else None
    launches = [launch.peak_memory_bytes for launch in result.launches if launch.peak_memory_bytes is not None]
    return own if own is not None else max(launches, default=None)
