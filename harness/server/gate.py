"""What every request passes: names of hosts, who sends it, rates, headers of the answer, log and metrics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.core.errors import EnvironmentProblem
from harness.server.access import Access, Caller
from harness.server.access_log import AccessLog
from harness.server.answers import RequestRefused
from harness.server.config import ServerConfig, is_loopback, normalise_host
from harness.server.error_pages import answer_error
from harness.server.limiting import SenderRates
from harness.server.measuring import ServerMetrics
from harness.server.sessions import COOKIE

CONTENT_POLICY: Final = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_FORWARDED: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FAILED_LOGIN_COST: Final = 20.0
_ANONYMOUS_PATHS: Final = frozenset({"/health"})


class Gate:
    """Middleware around the whole application."""

    def __init__(
        self, app: ASGIApp, *, config: ServerConfig, access: Access, log: AccessLog, metrics: ServerMetrics
    ) -> None:
        self._app = app
        self._config = config
        self._hosts = config.hosts
        self._access = access
        self._log = log
        self._metrics = metrics
        self._rates = SenderRates(config.limits)
        self._answering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500
        caller = Caller()

        has_content = scope["method"] != "HEAD"
        if not has_content:
            scope = {**scope, "method": "GET"}

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.body" and not has_content:
                message = {**message, "body": b""}
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._answering += 1
        try:
            try:
                caller = await self._admit(scope)
            except RequestRefused as refused:
                await answer_error(refused, scope, self._config)(scope, receive, send_on)
                return
            scope.setdefault("state", {})["caller"] = caller
            await self._app(scope, receive, send_on)
        finally:
            self._answering -= 1
            self._note(scope, caller, status, time.perf_counter() - started)

    async def _admit(self, scope: Scope) -> Caller:
        """Return who sends a request.

        Raises:
            RequestRefused: It is not answered.
        """
        headers = Headers(scope=scope)
        client = _client(scope)
        if self._answering > self._config.limits.requests:
            raise RequestRefused(503, "the server is busy", headers={"Retry-After": "1"})
        host = _host_name(headers.get("host", ""))
        if self._hosts is not None and host not in self._hosts:
            raise RequestRefused(
                421, "this server is not known by that name", hint="--allowed-host NAME of `harness serve` adds one"
            )
        if scope["method"] not in _SAFE and headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            raise RequestRefused(403, "the request comes from the page of another site")
        self._slow_down(client)
        if scope["path"] in _ANONYMOUS_PATHS:
            return Caller()
        is_local = (
            self._config.is_local
            and is_loopback(client)
            and is_loopback(host)
            and not any(name in headers for name in _FORWARDED)
        )
        authorization, cookie = headers.get("authorization"), _find_cookie(headers.getlist("cookie"))
        try:
            caller = await run_in_threadpool(self._access.identify, authorization, cookie, is_local=is_local)
        except EnvironmentProblem as problem:
            self._log.write_problem(str(problem))
            raise RequestRefused(503, STORE_SILENT, hint=STORE_HINT, headers={"Retry-After": "5"}) from problem
        except RequestRefused:
            self._rates.take(client, _FAILED_LOGIN_COST)
            raise
        return caller

    def _slow_down(self, sender: str) -> None:
        pause_s = self._rates.take(sender)
        if pause_s:
            raise RequestRefused(429, "too many requests", headers={"Retry-After": f"{pause_s:.0f}"})

    def _note(self, scope: Scope, caller: Caller, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "") or "(none)"
        method = scope["method"] if scope["method"] in _METHODS else "(other)"
        self._metrics.count_request(method, route, status, seconds)
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        self._log.write_request(
            client=_client(scope), name=caller.name, method=scope["method"], path=path, status=status, seconds=seconds
        )


STORE_SILENT: Final = "the store cannot be used now; nothing of this request was stored"
STORE_HINT: Final = "try again later; the log of the server says why"
_METHODS: Final = _SAFE | {"POST", "PUT", "PATCH", "DELETE"}


def caller_of(request: Request) -> Caller:
    """Return who sends a request."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _host_name(header: str) -> str:
    """Return the name in the header `Host`, without its port."""
    name = header[: header.find("]") + 1] if header.startswith("[") else header.partition(":")[0]
    return normalise_host(name)


def _find_cookie(headers: Sequence[str]) -> str:
    for header in headers:
        try:
            cookie = SimpleCookie(header).get(COOKIE)
        except CookieError:
            continue
        if cookie is not None:
            return cookie.value
    return ""
