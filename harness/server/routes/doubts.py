"""Routes of devices whose results are in doubt: labs tell of them, and pages mark the results."""

from __future__ import annotations

from fastapi import APIRouter, Request

from harness.core.device_doubt import DeviceDoubt, PostedDoubts
from harness.core.values import Value
from harness.server.bodies import parse_document, read_json
from harness.server.routes.dependencies import BODY_ERRORS, ERRORS, Reader, ServicesHere, Writer
from harness.store.database.doubts import load_doubts, store_doubts

router = APIRouter(responses=ERRORS, tags=["doubts"])


class StoredDoubts(Value):
    """What became of doubts.

    Attributes:
        changed: Number of those that are new, or told anything new.
    """

    changed: int


@router.post(
    "/doubts", responses=BODY_ERRORS, openapi_extra={"requestBody": {"required": True, "x-model": "PostedDoubts"}}
)
async def post_doubts(request: Request, services: ServicesHere, _caller: Writer) -> StoredDoubts:
    """Store of which devices the results are in doubt, because a check of their health was bad.

    Results that a doubt concerns are not trusted from then on, also those that arrive later; they are not changed.
    """
    async with read_json(request, services) as body:
        posted = parse_document(PostedDoubts, body)
    return StoredDoubts(changed=await services.write(lambda: store_doubts(services.database, posted.doubts)))


@router.get("/doubts")
def doubts(services: ServicesHere, _caller: Reader) -> tuple[DeviceDoubt, ...]:
    """Return the doubts that hold, oldest first."""
    with services.database.read() as connection:
        return load_doubts(connection)
