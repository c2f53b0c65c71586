"""Bodies of requests as JSON: their type, their compression, and what they hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from harness.core.values import Value
from harness.server.answers import RequestRefused, list_problems
from harness.server.limiting import decompress
from harness.server.services import Services

AnyDocument = TypeVar("AnyDocument", bound=Value)

_JSON: Final = "application/json"


@asynccontextmanager
async def read_json(request: Request, services: Services) -> AsyncIterator[bytes]:
    """Give the body of a request, decompressed.

    Raises:
        RequestRefused: It is too large, too slow, or not what its headers say (408, 413, 415, 400).
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _JSON:
        raise RequestRefused(415, f"the body must be {_JSON}", hint=f"send `Content-Type: {_JSON}`")
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"identity", "gzip", "x-gzip", ""}:
        raise RequestRefused(
            415, "the body may be compressed by gzip only", hint="send `Content-Encoding: gzip`, or no such header"
        )
    async with services.bodies.read(request) as body:
        if coding in {"gzip", "x-gzip"}:
            body = await run_in_threadpool(decompress, body, services.config.limits.body_bytes)  # noqa: PLW2901
        yield body


def parse_document(kind: type[AnyDocument], body: bytes) -> AnyDocument:
    """Return a value from JSON.

    Raises:
        RequestRefused: It is none (422).
    """
    try:
        return kind.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise RequestRefused(422, "the body is not as described", problems=list_problems(error)) from error
