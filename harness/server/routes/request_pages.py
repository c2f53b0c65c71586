"""Pages of runs on demand: the form that asks for one, the list, and one with its results."""

from __future__ import annotations

import uuid
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request
from pydantic import ValidationError
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.dashboard.requests import SHOWN_RESULTS, Asker, decode_choice, render_lab, render_request, render_requests
from harness.server.answers import RequestRefused
from harness.server.gate import caller_of
from harness.server.parameters import choose_part
from harness.server.routes.dependencies import ServicesHere, require
from harness.server.routes.pages import make_site
from harness.server.routes.people import read_own_form
from harness.server.routes.requests import NewRunRequest, cancel_own, store_request
from harness.server.services import Services
from harness.store.database import run_requests as queue
from harness.store.database.tokens import Scope
from harness.store.history import Page, ResultRow
from harness.store.run_requests import merge_offers

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

Identity = Annotated[str, Path(max_length=100)]
_READS: Final = [Depends(require(Scope.READ))]
_HINT_OF_COMMITS: Final = "commits are hashes, branches, tags, or #number of a pull request; a control needs a commit"
_ROWS: Final = 25
"""Rows of a page, whose results are read one by one."""


@router.get("/requests", dependencies=_READS)
def show_requests(request: Request, services: ServicesHere, part: Annotated[Page, Depends(choose_part)]) -> str:
    """Show the form that asks for a run, and the list of all."""
    part = part.model_copy(update={"limit": min(part.limit, _ROWS)})
    rows = queue.list_requests(services.database, part, services.clock())
    offer = merge_offers(queue.list_offers(services.database, services.clock()))
    results = {
        uid: row
        for asked in rows.rows
        for uid in asked.results[:SHOWN_RESULTS]
        if (row := services.history.row(uid)) is not None
    }
    key, site = str(uuid.uuid4()), make_site(request, services)
    asker = _find_asker(request, services)
    return render_requests(rows, results, offer, site, asker=asker, key=key, page=part)


@router.get("/lab", dependencies=_READS)
def show_lab(request: Request, services: ServicesHere) -> str:
    """Show the devices of labs that take requests."""
    offer = merge_offers(queue.list_offers(services.database, services.clock()))
    open_requests = queue.list_requests(services.database, Page(limit=1), services.clock(), only_open=True).total
    return render_lab(offer, open_requests, make_site(request, services))


@router.get("/requests/{request_id}", dependencies=_READS)
def show_request(request: Request, services: ServicesHere, request_id: Identity) -> str:
    """Show a request with its results."""
    try:
        asked = queue.find_request(services.database, request_id, services.clock())
    except queue.NoSuchRequest as error:
        raise RequestRefused(404, error.message, hint="the list of requests has all") from error
    rows: list[ResultRow] = [row for uid in asked.results if (row := services.history.row(uid)) is not None]
    return render_request(asked, rows, make_site(request, services), asker=_find_asker(request, services))


@router.post("/requests")
async def ask(request: Request, services: ServicesHere) -> Response:
    """Ask for a run by the form of the page."""
    caller = caller_of(request)
    caller.require(Scope.REQUEST)
    form = await read_own_form(request, services)
    specification, benchmark = decode_choice(form.get("what", ""))
    try:
        new = NewRunRequest(
            key=form.get("key", ""),
            specification=specification,
            benchmark=benchmark,
            device_class=form.get("device_class", ""),
            repository=form.get("repository", ""),
            commit=form.get("commit", "").strip(),
            control=form.get("control", "").strip(),
            pairs=int(form.get("pairs", "") or 0),
        )
    except ValidationError as error:
        raise RequestRefused(422, _explain(error), hint=_HINT_OF_COMMITS) from error
    except ValueError as error:
        raise RequestRefused(422, "the number of pairs is no number", hint=_HINT_OF_COMMITS) from error
    await store_request(services, new, caller)
    return RedirectResponse(make_site(request, services).links.requests(), 303)


@router.post("/requests/{request_id}/cancel")
async def cancel(request: Request, services: ServicesHere, request_id: Identity) -> Response:
    """Cancel a request from a page."""
    caller = caller_of(request)
    caller.require(Scope.REQUEST)
    await read_own_form(request, services)
    await cancel_own(services, request_id, caller)
    return RedirectResponse(make_site(request, services).links.requests(), 303)


def _find_asker(request: Request, services: Services) -> Asker:
    caller = caller_of(request)
    if not caller.may(Scope.REQUEST):
        return Asker()
    form_token = services.signer.form_token(caller.cookie)
    return Asker(caller.name, form_token, caller.may(Scope.ADMIN), may_choose_commits=caller.may(Scope.COMMITS))


def _explain(error: ValidationError) -> str:
    """Return what is wrong with a form, without a word of it."""
    first = error.errors()[0]
    if first["type"] != "value_error":
        return "the form is not as the page has it"
    field = f"{first['loc'][0]}: " if first["loc"] else ""
    return f"{field}{first['ctx']['error']}"
