"""Routes of the pages: each reads what a view shows, and renders it."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import HTMLResponse

from harness.dashboard.alarms import render_alarm, render_alarms
from harness.dashboard.cell import render_cell
from harness.dashboard.changes import render_changes
from harness.dashboard.commits import render_commit, render_commits
from harness.dashboard.comparison import render_comparison
from harness.dashboard.coverage import FRESH_S, render_coverage
from harness.dashboard.latest import render_latest
from harness.dashboard.links import LiveLinks, Site
from harness.dashboard.models import render_backends, render_models
from harness.dashboard.result import render_result
from harness.server.answers import RequestRefused
from harness.server.gate import caller_of
from harness.server.parameters import TimeText, choose_part, read_period, read_time, select_in_page
from harness.server.routes.dependencies import ServicesHere, require
from harness.server.routes.views import find_commit
from harness.server.services import Services
from harness.store.database.tokens import Scope
from harness.store.history import FilterValues, Page, Period, ResultRow, Selection

router = APIRouter(
    dependencies=[Depends(require(Scope.READ))], include_in_schema=False, default_response_class=HTMLResponse
)

Name = Annotated[str, Path(max_length=1000)]
Text = Annotated[str, Query(max_length=300)]
SelectionOfPage = Annotated[Selection, Depends(select_in_page)]
PartOfPage = Annotated[Page, Depends(choose_part)]

_ROWS: Final = 1000
_POINTS: Final = 1000
_MONTH_S: Final = 30 * 86_400.0


def make_site(request: Request, services: Services, options: FilterValues | None = None) -> Site:
    """Return what all pages have in common, for whoever asks for one."""
    caller = caller_of(request)
    person = caller.name if caller.may(Scope.WRITE) else ""
    return Site(
        LiveLinks(services.config.root),
        options=options or services.history.options(),
        person=person,
        form_token=services.signer.form_token(caller.cookie) if person else "",
        title=services.config.title,
    )


@router.get("/")
def show_latest(request: Request, services: ServicesHere, selection: SelectionOfPage, part: PartOfPage) -> str:
    """Show the newest result of each cell."""
    site = make_site(request, services, services.history.options())
    return render_latest(services.history.latest(selection, part), selection, part, site)


@router.get("/changes")
def show_changes(
    request: Request,
    services: ServicesHere,
    selection: SelectionOfPage,
    start: TimeText | None = None,
    end: TimeText | None = None,
) -> str:
    """Show what became worse or better; where no period is given, in the last 30 days that were measured."""
    history, options = services.history, services.history.options()
    period = read_period(history, start or "", end or "")
    if start is None and end is None and options.last is not None:
        period = Period(start=options.last - _MONTH_S)
    part = Page(limit=_ROWS)
    changes, levels = history.changes(period, selection, part), history.levels(period, selection, part)
    return render_changes(changes, levels, period, selection, make_site(request, services, options))


@router.get("/cells/{key}")
def show_cell(
    *,
    request: Request,
    services: ServicesHere,
    key: Name,
    metric: Text = "",
    start: TimeText = "",
    end: TimeText = "",
    limit: Annotated[int, Query(ge=2, le=10_000)] = _POINTS,
) -> str:
    """Show the history of a cell."""
    period = read_period(services.history, start, end)
    history = services.history.cell(key, metric, period, limit)
    if history is None:
        raise RequestRefused(404, "there is no such benchmark on any device", hint="the latest results link to all")
    return render_cell(history, period, make_site(request, services))


@router.get("/commits")
def show_commits(request: Request, services: ServicesHere, part: PartOfPage, text: Text = "") -> str:
    """Show the list of commits."""
    return render_commits(services.history.commits(text, part), text, make_site(request, services), part)


@router.get("/commits/{identity:path}")
def show_commit(request: Request, services: ServicesHere, identity: Name, part: PartOfPage) -> str:
    """Show a commit with the newest result of each cell at it."""
    row = find_commit(services.history, identity)
    results = services.history.results_of(row.commit.id, Selection(), part)
    return render_commit(row, results, make_site(request, services), part)


@router.get("/compare")
def show_comparison(
    *,
    request: Request,
    services: ServicesHere,
    selection: SelectionOfPage,
    control: Text = "",
    treatment: Text = "",
    threshold: Text = "",
) -> str:
    """Show two commits side by side; without both, the form that asks for them."""
    history = services.history
    before = find_commit(history, control).commit if control else None
    after = find_commit(history, treatment).commit if treatment else None
    differences = history.differences(before.id, after.id, selection) if before and after else ()
    commits = history.commits("", Page(limit=100)).rows
    site = make_site(request, services)
    return render_comparison(before, after, differences, _read_threshold(threshold), site, commits=commits)


@router.get("/models")
def show_models(request: Request, services: ServicesHere) -> str:
    """Show the list of models."""
    return render_models(_load_latest(services), make_site(request, services))


@router.get("/models/{name:path}")
def show_model(request: Request, services: ServicesHere, name: Name, device: Annotated[list[str], Query()] = []) -> str:  # noqa: B006
    """Show backend against backend."""
    rows = services.history.backends(name, tuple(filter(None, device[:50])))
    if not rows:
        raise RequestRefused(404, "there is no good result of this model", hint="the list of models has all")
    return render_backends(name, rows, make_site(request, services))


@router.get("/results/{uid}")
def show_result(request: Request, services: ServicesHere, uid: Name) -> str:
    """Show a result in full."""
    result, row = services.history.result(uid), services.history.row(uid)
    if result is None or row is None:
        raise RequestRefused(404, "there is no such result", hint="the latest results link to all")
    history = services.history
    return render_result(result, row, history.artifacts(uid), make_site(request, services), history.doubts(result))


@router.get("/coverage")
def show_coverage(
    request: Request, services: ServicesHere, selection: SelectionOfPage, fresh_since: TimeText = ""
) -> str:
    """Show which cells have results, and why others have none; results of more than 30 days are stale by default."""
    asked = read_time(services.history, fresh_since, "fresh_since", is_end=False)
    time = services.clock() - FRESH_S if asked is None else asked
    site = make_site(request, services, services.history.options())
    return render_coverage(services.history.coverage(selection, time), selection, site)


@router.get("/alarms")
def show_alarms(
    *,
    request: Request,
    services: ServicesHere,
    selection: SelectionOfPage,
    only_open: bool = False,
    start: TimeText = "",
    end: TimeText = "",
) -> str:
    """Show the list of alarms."""
    period = read_period(services.history, start, end)
    rows = services.history.alarms(only_open=only_open, selection=selection, period=period, page=Page(limit=_ROWS))
    return render_alarms(rows, make_site(request, services, services.history.options()))


@router.get("/alarms/{identity}")
def show_alarm(request: Request, services: ServicesHere, identity: Name) -> str:
    """Show an alarm, with forms for whoever may act on it."""
    detail = services.history.alarm(identity)
    if detail is None:
        raise RequestRefused(404, "there is no such alarm", hint="the list of alarms has all")
    return render_alarm(detail, make_site(request, services))


def _load_latest(services: Services) -> list[ResultRow]:
    """Return the newest result of every cell, in parts."""
    rows: list[ResultRow] = []
    while True:
        page = services.history.latest(Selection(), Page(limit=_ROWS, offset=len(rows)))
        rows += page.rows
        if not page.rows or len(rows) >= page.total:
            return rows


def _read_threshold(text: str) -> float | None:
    """Return a threshold as a ratio; None where it is switched off.

    Raises:
        RequestRefused: It is no number above 0.
    """
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1.0:
        raise RequestRefused(422, "threshold is no share", hint="0.05 is 5 %; leave it out for verdicts alone")
    return number
