"""Routes of forms: logging in and out, and what persons do about alarms."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.dashboard.login import render_login
from harness.server.answers import RequestRefused
from harness.server.config import ServerConfig
from harness.server.forms import read_form
from harness.server.gate import caller_of
from harness.server.parameters import read_time
from harness.server.routes.alarms import NewRemark, store_remark
from harness.server.routes.dependencies import ServicesHere
from harness.server.routes.pages import make_site
from harness.server.sessions import COOKIE, SESSION_S
from harness.store.database.tokens import Scope

router = APIRouter(include_in_schema=False)

_FORM_S = 20.0


@router.get("/login")
def show_login(
    request: Request, services: ServicesHere, wanted: Annotated[str, Query(alias="next", max_length=2000)] = ""
) -> HTMLResponse:
    """Show the form that takes a token, or who is logged in."""
    caller = caller_of(request)
    site = make_site(request, services)
    name = caller.name if caller.cookie else ""
    token = services.signer.form_token(caller.cookie)
    return HTMLResponse(render_login(name, _local_path(wanted), token, "", site))


@router.post("/login")
async def log_in(request: Request, services: ServicesHere) -> Response:
    """Open a session for whoever shows a token."""
    form = await read_form(request, _FORM_S)
    wanted = _local_path(form.get("next", ""))
    owner = await run_in_threadpool(services.access.find_owner, form.get("token", "").strip())
    if owner is None:
        caller = caller_of(request)
        page = render_login(
            "",
            wanted,
            services.signer.form_token(caller.cookie),
            "The token is unknown, revoked or expired.",
            make_site(request, services),
        )
        return HTMLResponse(page, 401)
    cookie = await run_in_threadpool(services.access.open_session, owner)
    answer = RedirectResponse(services.config.root + wanted, 303)
    _set_cookie(answer, services.config, cookie, int(SESSION_S))
    return answer


@router.post("/logout")
async def log_out(request: Request, services: ServicesHere) -> Response:
    """End a session."""
    await read_own_form(request, services)
    answer = RedirectResponse(f"{services.config.root}/login", 303)
    _set_cookie(answer, services.config, "", 0)
    return answer


@router.post("/alarms/{identity}/remarks")
async def act(request: Request, services: ServicesHere, identity: Annotated[str, Path(max_length=1000)]) -> Response:
    """Acknowledge, mute, unmute or comment an alarm from its page."""
    caller = caller_of(request)
    caller.require(Scope.WRITE)
    form = await read_own_form(request, services)
    until = await run_in_threadpool(read_time, services.history, form.get("until", ""), "until", is_end=True)
    try:
        new = NewRemark.model_validate({"action": form.get("action", ""), "text": form.get("text", ""), "until": until})
    except ValidationError as error:
        raise RequestRefused(422, "the form is not as the page has it", hint="load the page again") from error
    await store_remark(services, identity, new, caller)
    return RedirectResponse(make_site(request, services).links.alarm(identity), 303)


async def read_own_form(request: Request, services: ServicesHere) -> dict[str, str]:
    """Return the fields of a form that a page of this session sent.

    Raises:
        RequestRefused: Another site made it.
    """
    form = await read_form(request, _FORM_S)
    if not services.signer.is_form_token(form.get("form_token", ""), caller_of(request).cookie):
        raise RequestRefused(403, "the form is not of this session", hint="load the page again, and send it then")
    return dict(form)


def _set_cookie(answer: Response, config: ServerConfig, value: str, seconds: int) -> None:
    answer.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path=f"{config.root}/",
        httponly=True,
        samesite="strict",
        secure=config.is_encrypted,
    )


def _local_path(text: str) -> str:
    """Return a path on this server: an address elsewhere becomes the first page."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable() and "\\" not in text
    return text if is_local else "/"
