"""Route of how long benchmarks took, by which labs begin the longest ones first."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from harness.core.durations import DurationQuery, KnownDurations
from harness.server.bodies import parse_document, read_json
from harness.server.routes.dependencies import BODY_ERRORS, ERRORS, Reader, ServicesHere
from harness.store.database.durations import load_durations

router = APIRouter(responses=ERRORS, tags=["results"])


@router.post(
    "/durations", responses=BODY_ERRORS, openapi_extra={"requestBody": {"required": True, "x-model": "DurationQuery"}}
)
async def durations(request: Request, services: ServicesHere, _caller: Reader) -> KnownDurations:
    """Return how long benchmarks took on devices, as the newest good result of each says. Changes nothing."""
    async with read_json(request, services) as body:
        query = parse_document(DurationQuery, body)
    return KnownDurations(seconds=dict(await run_in_threadpool(load_durations, services.database, query)))
