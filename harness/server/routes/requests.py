"""Routes of runs on demand: persons ask for runs, and labs claim, measure and finish them.

Nothing that arrives here is executed, opened or completed to a path: names are compared with those that labs offer.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from harness.core.values import Value
from harness.server.access import Caller
from harness.server.answers import ErrorAnswer, RequestRefused
from harness.server.bodies import parse_document, read_json
from harness.server.gate import caller_of
from harness.server.routes.dependencies import BODY_ERRORS, ERRORS, NOT_FOUND, PartHere, ServicesHere, require
from harness.server.services import Services
from harness.store.database import run_requests as queue
from harness.store.database.tokens import Scope
from harness.store.run_requests import (
    FullHash,
    LabOffer,
    Name,
    RequestPage,
    RequestState,
    RunRequest,
    WantedRun,
    merge_offers,
)

router = APIRouter(responses=ERRORS, tags=["requests"])

Key = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")]
LeaseS = Annotated[float, Field(ge=1, le=3600, description="How long the request is the lab's, in seconds")]
Identity = Annotated[str, Path(max_length=100, description="Identifier of a request")]
AnyAnswer = TypeVar("AnyAnswer")

_RETRY: Final = {"Retry-After": "60"}
_CONFLICT: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": ErrorAnswer, "description": "Its state does not allow it"}
}


class NewRunRequest(WantedRun):
    """What a person asks for: names of what labs offer (`/api/v1/offers`).

    Attributes:
        key: Chosen by the client: the same again is the same request, however often it is posted; empty is a new one.
    """

    key: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9._:-]*$")] = ""

    @property
    def wanted(self) -> WantedRun:
        """What is asked for."""
        return WantedRun.model_validate(self.model_dump(exclude={"key"}))


class NewOffer(Value):
    """What a lab offers, for a minute; it repeats it.

    Attributes:
        dispatcher: Name of whoever claims requests for the lab.
        offer: What it offers.
    """

    dispatcher: Key
    offer: LabOffer


class NewClaim(Value):
    """Question of a lab for the next request.

    Attributes:
        dispatcher: Name under which it announced its offer.
        claim: Chosen by the lab. The same again gets the same request.
        device_classes: Classes with a device that is free.
        lease_s: How long the request is the lab's, in seconds.
    """

    dispatcher: Key
    claim: Key
    device_classes: Annotated[tuple[Name, ...], Field(max_length=1000)]
    lease_s: LeaseS


class Claimed(Value):
    """Answer to a claim.

    Attributes:
        request: The request, which is the lab's now; null where there is nothing to do.
    """

    request: RunRequest | None


class Renewal(Value):
    """Renewal of a lease.

    Attributes:
        claim: That of the lab.
        lease_s: How much longer the request is the lab's, in seconds from now.
        commit_id: Hash that the name of the commit means; empty where it is not known. The first that is told stays.
        control_id: That of the control, likewise.
    """

    claim: Key
    lease_s: LeaseS
    commit_id: FullHash = ""
    control_id: FullHash = ""


class Release(Value):
    """Return of a request to the queue.

    Attributes:
        claim: That of the lab.
        reason: Why.
        is_counted: Whether this attempt counts: not where the lab was away.
    """

    claim: Key
    reason: Annotated[str, Field(max_length=4000)] = ""
    is_counted: bool = True


class Ending(Value):
    """End of a request.

    Attributes:
        claim: That of the lab.
        failed: Whether nothing was measured.
        results: Uids of its results, which are in the store.
        reason: Why it failed, or what failed of it.
    """

    claim: Key
    failed: bool = False
    results: Annotated[tuple[Name, ...], Field(max_length=10_000)] = ()
    reason: Annotated[str, Field(max_length=4000)] = ""


def _require_any(*scopes: Scope) -> Callable[[Request], Caller]:
    """Return a dependency that lets in who has one of several scopes."""

    def check(request: Request) -> Caller:
        caller = caller_of(request)
        if not any(caller.may(scope) for scope in scopes):
            caller.require(scopes[0])
        return caller

    return check


RequestCaller = Annotated[Caller, Depends(require(Scope.REQUEST))]
Lab = Annotated[Caller, Depends(require(Scope.LAB))]
Looker = Annotated[Caller, Depends(_require_any(Scope.READ, Scope.REQUEST, Scope.LAB))]


def _body_of(model: str) -> dict[str, object]:
    return {"requestBody": {"required": True, "x-model": model}}


@router.get("/offers")
def offers(services: ServicesHere, _caller: Looker) -> LabOffer:
    """Return what can be asked for now."""
    return merge_offers(queue.list_offers(services.database, services.clock()))


@router.post(
    "/requests",
    responses={
        **BODY_ERRORS,
        200: {"model": RunRequest, "description": "It was known by its key"},
        201: {"model": RunRequest, "description": "It is queued"},
        409: {"model": ErrorAnswer, "description": "The key belongs to another request"},
    },
    openapi_extra=_body_of("NewRunRequest"),
)
async def ask(request: Request, services: ServicesHere, caller: RequestCaller) -> Response:
    """Ask for a run: labs measure what they offer, and nothing else."""
    async with read_json(request, services) as body:
        new = parse_document(NewRunRequest, body)
    queued, is_new = await store_request(services, new, caller)
    return Response(queued.model_dump_json(), 201 if is_new else 200, media_type="application/json")


@router.get("/requests")
def list_requests(
    services: ServicesHere,
    part: PartHere,
    _caller: Looker,
    only_open: Annotated[bool, Query(description="Leave out those that have ended")] = False,
) -> RequestPage:
    """Return requests, newest first."""
    return queue.list_requests(services.database, part, services.clock(), only_open=only_open)


@router.get("/requests/{request_id}", responses=NOT_FOUND)
def show_request(services: ServicesHere, request_id: Identity, _caller: Looker) -> RunRequest:
    """Return a request."""
    try:
        return queue.find_request(services.database, request_id, services.clock())
    except queue.NoSuchRequest as error:
        raise RequestRefused(404, error.message, hint=error.hint or "") from error


@router.post("/requests/{request_id}/cancel", responses={**NOT_FOUND, **_CONFLICT})
async def cancel(services: ServicesHere, request_id: Identity, caller: RequestCaller) -> RunRequest:
    """Cancel a request of one's own; one that is measured is stopped. An administrator may cancel all."""
    return await cancel_own(services, request_id, caller)


@router.post("/lab/offers", responses=BODY_ERRORS, openapi_extra=_body_of("NewOffer"))
async def announce(request: Request, services: ServicesHere, _caller: Lab) -> LabOffer:
    """Announce what a lab offers, for a minute."""
    async with read_json(request, services) as body:
        new = parse_document(NewOffer, body)
    await _change(
        services, lambda: queue.announce_offer(services.database, new.dispatcher, new.offer, services.clock())
    )
    return new.offer


@router.post("/lab/claims", responses=BODY_ERRORS, openapi_extra=_body_of("NewClaim"))
async def claim(request: Request, services: ServicesHere, _caller: Lab) -> Claimed:
    """Give a lab the next request of those that it offers."""
    async with read_json(request, services) as body:
        new = parse_document(NewClaim, body)

    def choose() -> RunRequest | None:
        return queue.claim_request(
            services.database,
            new.dispatcher,
            new.claim,
            new.device_classes,
            lease_s=new.lease_s,
            now=services.clock(),
        )

    return Claimed(request=await _change(services, choose))


@router.post(
    "/requests/{request_id}/renew",
    responses={**NOT_FOUND, **_CONFLICT, **BODY_ERRORS},
    openapi_extra=_body_of("Renewal"),
)
async def renew(request: Request, services: ServicesHere, request_id: Identity, _caller: Lab) -> RunRequest:
    """Keep a request for longer; 409 says that it is no longer the lab's, which stops measuring it."""
    async with read_json(request, services) as body:
        new = parse_document(Renewal, body)
    return await _change(
        services,
        lambda: queue.renew_lease(
            services.database,
            request_id,
            new.claim,
            lease_s=new.lease_s,
            now=services.clock(),
            commits=(new.commit_id, new.control_id),
        ),
    )


@router.post(
    "/requests/{request_id}/release",
    responses={**NOT_FOUND, **_CONFLICT, **BODY_ERRORS},
    openapi_extra=_body_of("Release"),
)
async def release(request: Request, services: ServicesHere, request_id: Identity, _caller: Lab) -> RunRequest:
    """Give a request back to the queue, because the lab cannot go on; it fails where that happens often."""
    async with read_json(request, services) as body:
        new = parse_document(Release, body)
    return await _change(
        services,
        lambda: queue.release_request(
            services.database, request_id, new.claim, new.reason, services.clock(), is_counted=new.is_counted
        ),
    )


@router.post(
    "/requests/{request_id}/finish",
    responses={**NOT_FOUND, **_CONFLICT, **BODY_ERRORS},
    openapi_extra=_body_of("Ending"),
)
async def finish(request: Request, services: ServicesHere, request_id: Identity, _caller: Lab) -> RunRequest:
    """End a request, whose results are in the store. The same again changes nothing."""
    async with read_json(request, services) as body:
        new = parse_document(Ending, body)
    state = RequestState.FAILED if new.failed else RequestState.DONE
    return await _change(
        services,
        lambda: queue.finish_request(
            services.database,
            request_id,
            new.claim,
            state,
            new.results,
            reason=new.reason,
            now=services.clock(),
        ),
    )


async def store_request(services: Services, new: NewRunRequest, caller: Caller) -> tuple[RunRequest, bool]:
    """Store what a person asks for, and return it and whether it is new.

    Raises:
        RequestRefused: Nobody offers it (422), its key belongs to another (409), the person has too many (429), or may
            not ask for commits (403).
        EnvironmentProblem: It cannot be stored.
    """
    if new.commit:
        caller.require(Scope.COMMITS)
    wanted = new.wanted
    return await _change(
        services,
        lambda: queue.add_request(
            services.database,
            caller.name,
            new.key or str(uuid.uuid4()),
            wanted,
            most=services.config.limits.open_runs,
            now=services.clock(),
        ),
    )


async def cancel_own(services: Services, request_id: str, caller: Caller) -> RunRequest:
    """Cancel a request of a person, or any for an administrator.

    Raises:
        RequestRefused: There is none (404), it is another person's, or has ended (409).
    """
    person = None if caller.may(Scope.ADMIN) else caller.name
    return await _change(
        services, lambda: queue.cancel_request(services.database, request_id, person, services.clock())
    )


async def _change(services: Services, change: Callable[[], AnyAnswer]) -> AnyAnswer:
    """Make a change of the queue.

    Raises:
        RequestRefused: It is not possible.
    """
    try:
        return await services.write(change)
    except queue.NoSuchRequest as error:
        raise RequestRefused(404, error.message, hint=error.hint or "") from error
    except queue.RequestConflict as error:
        raise RequestRefused(409, error.message, hint=error.hint or "") from error
    except queue.TooManyRequests as error:
        raise RequestRefused(429, error.message, hint=error.hint or "", headers=_RETRY) from error
