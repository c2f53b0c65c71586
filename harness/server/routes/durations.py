"""Route of how long benchmarks took, by which labs begin the longest ones first."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool

from harness.core.durations import DurationQuery, KnownDurations
from harness.server.access import Caller
from harness.server.bodies import parse_document, read_json
from harness.server.routes.dependencies import BODY_ERRORS, ERRORS, ServicesHere, require
from harness.store.database.durations import load_durations
from harness.store.database.tokens import Scope

router = APIRouter(responses=ERRORS, tags=["results"])

Reader = Annotated[Caller, Depends(require(Scope.READ))]


@router.post(
    "/durations", responses=BODY_ERRORS, openapi_extra={"requestBody": {"required": True, "x-model": "DurationQuery"}}
)
async def durations(request: Request, services: ServicesHere, _caller: Reader) -> KnownDurations:
    """Return how long benchmarks took on devices, as the newest good result of each says. Changes nothing."""
    async with read_json(request, services) as body:
        query = parse_document(DurationQuery, body)
    return KnownDurations(seconds=dict(await run_in_threadpool(load_durations, services.database, query)))
