"""Routes that answer with the values of the views: what the pages show."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from harness.server.answers import RequestRefused
from harness.server.parameters import TimeText, read_time
from harness.server.routes.dependencies import (
    ERRORS,
    NOT_FOUND,
    PartHere,
    PeriodHere,
    SelectionHere,
    ServicesHere,
    require,
)
from harness.store.database.tokens import Scope
from harness.store.history import (
    BackendRow,
    CellHistory,
    ChangeRow,
    CommitDifference,
    CommitPage,
    CommitRow,
    Coverage,
    FilterValues,
    HistoryPoint,
    HistoryReader,
    ResultPage,
)

router = APIRouter(responses=ERRORS, dependencies=[Depends(require(Scope.READ))], tags=["views"])

Name = Annotated[str, Path(max_length=1000)]
MetricParameter = Annotated[str, Query(max_length=300, description="Name of a metric; empty for the main one")]
Points = Annotated[int, Query(ge=2, le=5000, description="Most points: the newest")]


@router.get("/options")
def options(services: ServicesHere) -> FilterValues:
    """Return the values that filters can take."""
    return services.history.options()


@router.get("/cells")
def cells(services: ServicesHere, selection: SelectionHere, part: PartHere) -> ResultPage:
    """Return the newest result of each benchmark on each device."""
    return services.history.latest(selection, part)


@router.get("/cells/{key}/history", responses=NOT_FOUND)
def history(
    services: ServicesHere, key: Name, period: PeriodHere, metric: MetricParameter = "", limit: Points = 1000
) -> CellHistory:
    """Return the history of one benchmark on one device."""
    return _find_history(services.history.cell(key, metric, period, limit))


@router.get("/cells/{key}/series", responses=NOT_FOUND)
def series(
    services: ServicesHere, key: Name, period: PeriodHere, metric: MetricParameter = "", limit: Points = 1000
) -> tuple[HistoryPoint, ...]:
    """Return the points of a history alone, oldest first."""
    return _find_history(services.history.cell(key, metric, period, limit)).points


@router.get("/changes")
def changes(
    services: ServicesHere, selection: SelectionHere, period: PeriodHere, part: PartHere
) -> tuple[ChangeRow, ...]:
    """Return what was proven to become worse or better."""
    return services.history.changes(period, selection, part)


@router.get("/levels")
def levels(
    services: ServicesHere, selection: SelectionHere, period: PeriodHere, part: PartHere
) -> tuple[ChangeRow, ...]:
    """Return medians before and at the end of a period, side by side. They describe, and decide nothing."""
    return services.history.levels(period, selection, part)


@router.get("/commits")
def commits(
    services: ServicesHere,
    part: PartHere,
    text: Annotated[str, Query(max_length=300, description="Part of an id, name or subject")] = "",
) -> CommitPage:
    """Return commits by their newest measurement."""
    return services.history.commits(text, part)


@router.get("/commits/{identity:path}/results", responses=NOT_FOUND)
def results_of_commit(services: ServicesHere, identity: Name, selection: SelectionHere, part: PartHere) -> ResultPage:
    """Return the newest result of each cell at a commit; failures first, then regressions."""
    return services.history.results_of(find_commit(services.history, identity).commit.id, selection, part)


@router.get("/commits/{identity:path}", responses=NOT_FOUND)
def commit(services: ServicesHere, identity: Name) -> CommitRow:
    """Return a commit by its id, the only one that begins so, or the name that it was asked for by."""
    return find_commit(services.history, identity)


@router.get("/differences", responses=NOT_FOUND)
def differences(
    services: ServicesHere,
    selection: SelectionHere,
    control: Annotated[str, Query(max_length=300, description="Commit")],
    treatment: Annotated[str, Query(max_length=300, description="Commit")],
) -> tuple[CommitDifference, ...]:
    """Return every cell that was measured at one of two commits."""
    before, after = (find_commit(services.history, name).commit.id for name in (control, treatment))
    return services.history.differences(before, after, selection)


@router.get("/backends/{model:path}")
def backends(
    services: ServicesHere,
    model: Name,
    device: Annotated[list[str], Query(max_length=50, description="Identities of devices")] = [],  # noqa: B006
) -> tuple[BackendRow, ...]:
    """Return the newest good result of each benchmark of a model: backend against backend."""
    return services.history.backends(model, tuple(filter(None, device)))


@router.get("/coverage")
def coverage(services: ServicesHere, selection: SelectionHere, fresh_since: TimeText = "") -> Coverage:
    """Return which combinations of benchmarks and devices have results, and why others have none."""
    time = read_time(services.history, fresh_since, "fresh_since", is_end=False)
    return services.history.coverage(selection, time)


def find_commit(reader: HistoryReader, name: str) -> CommitRow:
    """Return a commit.

    Raises:
        RequestRefused: There is none of this name, or several begin so.
    """
    row = reader.commit(name)
    if row is None:
        raise RequestRefused(404, "there is no such commit, or several begin so", hint="the list of commits has them")
    return row


def _find_history(history_of_cell: CellHistory | None) -> CellHistory:
    if history_of_cell is None:
        raise RequestRefused(404, "there is no such cell", hint="/api/v1/cells lists them, with their keys")
    return history_of_cell
