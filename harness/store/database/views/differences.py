"""Two commits side by side: every cell that was measured at one of them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, select

from harness.store.database.columns import key_text
from harness.store.database.tables import COMMITS, CONTRASTS
from harness.store.database.views.commits import find_newest
from harness.store.database.views.levels import compare_figures
from harness.store.database.views.rows import load_contrasts, load_rows_by_id
from harness.store.database.views.selecting import CellRecord, is_stored_text, list_cells
from harness.store.history import CommitDifference, Contrast, ResultRow, Selection


def list_differences(
    connection: Connection, control: str, treatment: str, selection: Selection
) -> tuple[CommitDifference, ...]:
    """Return the cells that were measured at one of two commits, by model, identifier and device."""
    without = selection.model_copy(update={"categories": ()})
    controls = find_newest(connection, control, selection.categories)
    treatments = find_newest(connection, treatment, selection.categories)
    contrasts = _find_contrasts(connection, control, treatment)
    measured = controls.keys() | treatments.keys()
    cells = [cell for cell in list_cells(connection, without) if cell.id in measured]
    ids = [chosen[cell.id] for cell in cells for chosen in (controls, treatments) if cell.id in chosen]
    rows = load_rows_by_id(connection, ids)
    return tuple(
        _describe(cell, rows.get(controls.get(cell.id, 0)), rows.get(treatments.get(cell.id, 0)), contrasts)
        for cell in cells
    )


def _describe(
    cell: CellRecord, control: ResultRow | None, treatment: ResultRow | None, contrasts: Mapping[int, Contrast]
) -> CommitDifference:
    before = control.figure if control is not None else None
    after = treatment.figure if treatment is not None else None
    contrast = contrasts.get(cell.id)
    shared = before is not None and after is not None and before.metric.name == after.metric.name
    figure = after or before
    return CommitDifference(
        cell=cell.to_cell(),
        metric=contrast.metric if contrast is not None else figure.metric if figure is not None else None,
        control=control,
        treatment=treatment,
        contrast=contrast,
        ratio=compare_figures(before, after) if before is not None and after is not None and shared else None,
    )


def _find_contrasts(connection: Connection, control: str, treatment: str) -> dict[int, Contrast]:
    """Return the newest comparison of just these commits for each cell, by the ids of the cells."""
    if not (is_stored_text(control) and is_stored_text(treatment)):
        return {}
    query = (
        select(CONTRASTS.c.cell_id, CONTRASTS.c.result_id)
        .where(
            CONTRASTS.c.commit_id.in_(select(COMMITS.c.id).where(COMMITS.c.sha == key_text(treatment))),
            CONTRASTS.c.control_id.in_(select(COMMITS.c.id).where(COMMITS.c.sha == key_text(control))),
        )
        .order_by(CONTRASTS.c.started, CONTRASTS.c.result_id)
    )
    newest = {cell: result for cell, result in connection.execute(query)}  # noqa: C416 - the newest comes last
    loaded = load_contrasts(connection, list(newest.values()))
    return {cell: loaded[result] for cell, result in newest.items()}
