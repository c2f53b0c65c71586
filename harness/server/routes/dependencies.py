"""Dependencies of routes, and what the description of the API says about errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Request

from harness.server.access import Caller
from harness.server.answers import ErrorAnswer
from harness.server.gate import caller_of
from harness.server.parameters import TimeText, choose_part, read_period, select_in_api
from harness.server.services import Services, services_of
from harness.store.database.tokens import Scope
from harness.store.history import Page, Period, Selection

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        401: "A token is needed, or the one that was sent is not valid",
        403: "The token may not do this",
        422: "A parameter or the body is not as described",
        429: "Too many requests; `Retry-After` says when to try again",
        503: "The store cannot be used now; `Retry-After` says when to try again",
    }.items()
}
"""Errors that every route may answer with."""

NOT_FOUND: Final[dict[int | str, dict[str, Any]]] = {404: {"model": ErrorAnswer, "description": "There is none"}}
"""Error of routes that name a thing."""


def require(scope: Scope) -> Callable[[Request], Caller]:
    """Return a dependency that lets in who may do something."""

    def check(request: Request) -> Caller:
        caller = caller_of(request)
        caller.require(scope)
        return caller

    return check


BODY_ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorAnswer, "description": description}
    for status, description in {
        400: "The body was cut off, or is not compressed as its headers say",
        408: "The body took too long",
        413: "The body is too large",
        415: "The body is no JSON, or compressed by something else than gzip",
    }.items()
}
"""Errors of routes that read a body."""

ServicesHere = Annotated[Services, Depends(services_of)]
SelectionHere = Annotated[Selection, Depends(select_in_api)]
PartHere = Annotated[Page, Depends(choose_part)]
Reader = Annotated[Caller, Depends(require(Scope.READ))]
Writer = Annotated[Caller, Depends(require(Scope.WRITE))]


def choose_period(services: ServicesHere, since: TimeText = "", until: TimeText = "") -> Period:
    """Return the period that a request asks for."""
    return read_period(services.history, since, until)


PeriodHere = Annotated[Period, Depends(choose_period)]
