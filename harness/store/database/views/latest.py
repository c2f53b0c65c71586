"""Lists of results: the newest of each cell, and all by time; and the values that filters can take."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from harness.store.database.columns import key_text
from harness.store.database.tables import ARTIFACTS, ARTIFACTS_OF_RESULTS, RESULTS
from harness.store.database.views.rows import load_rows
from harness.store.database.views.selecting import ids_of, is_among, is_stored_text, list_cells, within
from harness.store.history import ArtifactInfo, FilterValues, Page, Period, ResultPage, ResultRow, Selection


def list_latest(connection: Connection, selection: Selection, page: Page) -> ResultPage:
    """Return the newest result of each cell, failed ones with their reason instead of older good ones."""
    ids = [cell.latest_result_id for cell in list_cells(connection, selection) if cell.latest_result_id is not None]
    rows = load_rows(connection, ids[page.offset : page.offset + page.limit])
    return ResultPage(rows=tuple(rows), total=len(ids))


def list_results(connection: Connection, selection: Selection, period: Period, page: Page) -> ResultPage:
    """Return results, newest first. The index of `started` has all that they are chosen by."""
    conditions = within(RESULTS.c.started, period)
    cells = ids_of(selection.model_copy(update={"categories": ()}))
    if cells is not None:
        conditions.append(RESULTS.c.cell_id.in_(cells))
    if selection.categories:
        conditions.append(is_among(RESULTS.c.category, selection.categories))
    order = (RESULTS.c.started, RESULTS.c.cell_id, RESULTS.c.category, RESULTS.c.id)  # that of the index
    newest_first = select(RESULTS.c.id).where(*conditions).order_by(*(column.desc() for column in order))
    ids = connection.scalars(newest_first.limit(page.limit).offset(page.offset)).all()
    total = connection.scalar(select(func.count()).select_from(RESULTS).where(*conditions))
    return ResultPage(rows=tuple(load_rows(connection, ids)), total=total or 0)


def find_row(connection: Connection, uid: str) -> ResultRow | None:
    """Return a result by its uid."""
    if not is_stored_text(uid):
        return None
    identity = connection.scalar(select(RESULTS.c.id).where(RESULTS.c.uid == key_text(uid)))
    return None if identity is None else load_rows(connection, [identity])[0]


def list_artifacts(connection: Connection, uid: str) -> tuple[ArtifactInfo, ...]:
    """Return the files of a result, by name."""
    if not is_stored_text(uid):
        return ()
    query = (
        select(ARTIFACTS_OF_RESULTS.c.name, ARTIFACTS.c.digest, ARTIFACTS.c.size_bytes, ARTIFACTS.c.media_type)
        .join(ARTIFACTS, ARTIFACTS_OF_RESULTS.c.digest == ARTIFACTS.c.digest)
        .join(RESULTS, ARTIFACTS_OF_RESULTS.c.result_id == RESULTS.c.id)
        .where(RESULTS.c.uid == key_text(uid))
    )
    files = (
        ArtifactInfo(name=name, digest=digest, size_bytes=size_bytes, media_type=media_type)
        for name, digest, size_bytes, media_type in connection.execute(query)
    )
    return tuple(sorted(files, key=lambda file: file.name))


def load_options(connection: Connection) -> FilterValues:
    """Return the values that filters can take, of cells that have results."""
    cells = list_cells(connection, Selection())
    devices = {cell.device: cell for cell in cells}
    first, last, count = connection.execute(
        select(
            select(func.min(RESULTS.c.started)).scalar_subquery(),
            select(func.max(RESULTS.c.started)).scalar_subquery(),
            select(func.count()).select_from(RESULTS).scalar_subquery(),
        )
    ).one()
    return FilterValues(
        models=tuple(sorted({cell.model for cell in cells})),
        backends=tuple(sorted({cell.backend for cell in cells if cell.backend})),
        devices=tuple(
            cell.to_device() for cell in sorted(devices.values(), key=lambda cell: (cell.device_name, cell.device))
        ),
        frameworks=tuple(sorted({cell.framework for cell in cells})),
        categories=_list_categories(connection),
        results=count,
        first=first,
        last=last,
    )


def _list_categories(connection: Connection) -> tuple[str, ...]:
    """Return the categories that are not empty; a walk along the index from each to the next, since they are few."""
    smallest = select(func.min(RESULTS.c.category).label("category")).where(RESULTS.c.category > "")
    walk = smallest.cte("walk", recursive=True)
    following = select(func.min(RESULTS.c.category)).where(RESULTS.c.category > walk.c.category).scalar_subquery()
    walk = walk.union_all(select(following).where(walk.c.category.is_not(None)))
    return tuple(sorted(name for name in connection.scalars(select(walk.c.category)).all() if name is not None))
