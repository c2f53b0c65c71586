"""Coverage: which combinations of benchmarks and devices have results, and why others have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from harness.core.outcome import Outcome
from harness.store.database.tables import CELLS, RESULTS
from harness.store.database.views.selecting import CellRecord, ids_of, list_cells
from harness.store.history import Coverage, CoverageCell, CoverageRow, CoverageState, DeviceInfo, Selection

_GOOD: Final = frozenset({CoverageState.MEASURED})
_NO_DEVICE: Final = "without a device"


class _Newest(NamedTuple):
    """Newest result of a cell, and when its newest good one was measured."""

    uid: str
    outcome: str
    reason: str
    started: float
    good: float | None


_Name = tuple[str, str, str]
"""Benchmark in any definition: model, identifier and framework."""


def load_coverage(connection: Connection, selection: Selection, fresh_since: float | None) -> Coverage:
    """Return all combinations of the selected benchmarks and devices.

    A benchmark is its name here: of several definitions on one device the newest counts.
    """
    newest = _load_newest(connection, selection)
    everywhere = [cell for cell in list_cells(connection, _without_devices(selection)) if cell.id in newest]
    wanted = set(selection.devices)
    columns = _list_devices(cell for cell in everywhere if not wanted or cell.device in wanted)
    platforms: dict[_Name, set[str]] = {}
    cells: dict[tuple[_Name, str], CellRecord] = {}
    backends: dict[_Name, tuple[float, str]] = {}
    for cell in everywhere:
        name, latest = (cell.model, cell.identifier, cell.framework), newest[cell.id]
        platforms.setdefault(name, set()).add(cell.platform)
        backends[name] = max(backends.get(name, (0.0, "")), (latest.started, cell.backend))
        rival = cells.get((name, cell.device))
        if rival is None or newest[rival.id].started <= latest.started:
            cells[name, cell.device] = cell
    rows = [
        CoverageRow(
            model=name[0],
            identifier=name[1],
            framework=name[2],
            backend=backends[name][1],
            cells=tuple(
                _describe(cells.get((name, device.identity)), device, newest, platforms[name], fresh_since)
                for device in columns
            ),
        )
        for name in sorted(platforms)
    ]
    return _count(columns, rows if columns else [])


def _without_devices(selection: Selection) -> Selection:
    """Return the selection on all devices: a benchmark that others have is missing on the selected one."""
    return selection.model_copy(update={"devices": ()})


def _list_devices(cells: Iterable[CellRecord]) -> tuple[DeviceInfo, ...]:
    """Return the devices of cells, by name."""
    devices = {cell.device: cell for cell in cells}
    ordered = sorted(devices.values(), key=lambda cell: (cell.platform, cell.device_name, cell.device))
    return tuple(cell.to_device() for cell in ordered)


def _load_newest(connection: Connection, selection: Selection) -> dict[int, _Newest]:
    """Return the newest results of cells by the ids of these."""
    good = RESULTS.alias("good")
    query = (
        select(CELLS.c.id, RESULTS.c.uid, RESULTS.c.outcome, RESULTS.c.reason, RESULTS.c.started, good.c.started)
        .select_from(CELLS)
        .join(RESULTS, CELLS.c.latest_result_id == RESULTS.c.id)
        .outerjoin(good, CELLS.c.latest_good_id == good.c.id)
    )
    if (cells := ids_of(_without_devices(selection))) is not None:
        query = query.where(CELLS.c.id.in_(cells))
    return {identity: _Newest(*rest) for identity, *rest in connection.execute(query)}


def _describe(
    cell: CellRecord | None,
    device: DeviceInfo,
    newest: Mapping[int, _Newest],
    platforms: set[str],
    fresh_since: float | None,
) -> CoverageCell:
    if cell is None:
        place = f"platform {device.platform}" if device.platform else _NO_DEVICE
        if device.platform not in platforms:
            return CoverageCell(state=CoverageState.EXCLUDED, reason=f"no result on {place}")
        return CoverageCell(state=CoverageState.MISSING, reason="never measured on this device")
    latest = newest[cell.id]
    state, reason = _judge(latest, fresh_since)
    return CoverageCell(state=state, cell=cell.to_cell(), uid=latest.uid, time=latest.started, reason=reason)


def _judge(latest: _Newest, fresh_since: float | None) -> tuple[CoverageState, str]:
    """Return the state of a cell, and why it is not measured. A failure is never hidden by an older good result."""
    outcome = Outcome(latest.outcome)
    if outcome is not Outcome.OK:
        state = CoverageState.SKIPPED if outcome.is_skipped else CoverageState.FAILED
        return state, latest.reason or outcome.words
    if fresh_since is not None and (latest.good is None or latest.good < fresh_since):
        return CoverageState.STALE, "newest good result is older than the period"
    return CoverageState.MEASURED, ""


def _count(columns: tuple[DeviceInfo, ...], rows: Sequence[CoverageRow]) -> Coverage:
    """Return the whole with its counts, which add up to rows times devices."""
    cells = [cell for row in rows for cell in row.cells]
    states = Counter(cell.state for cell in cells)
    reasons = Counter(cell.reason for cell in cells if cell.state not in _GOOD)
    return Coverage(
        devices=columns,
        rows=tuple(rows),
        counts={state: states[state] for state in CoverageState},
        reasons=tuple(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )
