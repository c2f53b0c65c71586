"""Errors as whoever asked can read them: pages for browsers, JSON for programs."""

from __future__ import annotations

from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from harness.dashboard.errors import render_error
from harness.dashboard.links import LiveLinks, Site
from harness.server.answers import RequestRefused
from harness.server.config import ServerConfig


def wants_page(scope: Scope) -> bool:
    """Return whether a browser asks for a page, and no program for data."""
    return not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


def answer_error(refused: RequestRefused, scope: Scope, config: ServerConfig) -> Response:
    """Return the answer to a request that is not fulfilled; a browser that needs a token is led to the login."""
    if not wants_page(scope):
        return refused.respond()
    if refused.status == 401 and scope["method"] in {"GET", "HEAD"}:
        query = scope.get("query_string", b"").decode("latin-1")
        wanted = quote(scope["path"] + (f"?{query}" if query else ""), safe="")
        return RedirectResponse(f"{config.root}/login?next={wanted}", 303)
    site = Site(LiveLinks(config.root), title=config.title)
    page = render_error(refused.status, refused.answer.message, refused.answer.hint, site)
    return HTMLResponse(page, refused.status, headers=refused.headers)
