"""Routes of results: posted, listed, and given back byte for byte with their files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from hashlib import sha256
from typing import Annotated, Any, BinaryIO, Final, cast
from urllib.parse import quote

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from harness.core.errors import UsageError
from harness.core.result import Result
from harness.server.answers import ErrorAnswer, RequestRefused
from harness.server.archives import stream_archive
from harness.server.bodies import read_json
from harness.server.envelopes import (
    PostedOutcome,
    PostedOutcomes,
    PostedState,
    check_key,
    describe_storing,
    read_body,
)
from harness.server.limiting import stream_body
from harness.server.routes.dependencies import (
    BODY_ERRORS,
    ERRORS,
    NOT_FOUND,
    PartHere,
    PeriodHere,
    Reader,
    SelectionHere,
    ServicesHere,
    Writer,
)
from harness.server.services import Services
from harness.store.canonical_json import to_json_line
from harness.store.database.artifact_files import check_name as check_artifact_name
from harness.store.database.artifacts import store_artifact
from harness.store.database.writing import NewResult
from harness.store.history import ArtifactInfo, ResultPage

router = APIRouter(responses=ERRORS, tags=["results"])

Uid = Annotated[str, Path(max_length=200, description="Identifier of a result")]

_CHUNK: Final = 1 << 18
_SANDBOX: Final = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""For files that anybody may have sent: no script in them runs."""

_POST_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"model": PostedOutcomes | PostedOutcome, "description": "It was known; or a batch, with the state of each"},
    201: {"model": PostedOutcome, "description": "It is stored"},
    409: {"model": PostedOutcome, "description": "Another result has this uid; the first stays"},
    **BODY_ERRORS,
    422: {"model": PostedOutcome | ErrorAnswer, "description": "It is no result"},
}


@router.post(
    "/results",
    responses=_POST_ANSWERS,
    openapi_extra={"requestBody": {"required": True, "x-model": "PostedResult|PostedBatch"}},
)
async def post_results(request: Request, services: ServicesHere, _caller: Writer) -> Response:
    """Store one result, or several.

    The body is `{"schema_version", "category", "result"}` or `{"envelopes": [...]}`, and may be compressed by gzip. The
    same result may be posted again, and is stored once.
    """
    async with read_json(request, services) as body:
        posted = await run_in_threadpool(read_body, body, most=services.config.limits.batch)
        if not posted.is_batch:
            check_key(request.headers.get("idempotency-key"), posted.envelopes[0])
        outcomes = await _store(services, posted.envelopes)
    for outcome in outcomes:
        services.metrics.count_result(outcome.state)
    if not posted.is_batch:
        return _answer(outcomes[0].model_dump_json(), outcomes[0].status)
    stored = sum(outcome.state in {PostedState.CREATED, PostedState.KNOWN} for outcome in outcomes)
    return _answer(PostedOutcomes(outcomes=tuple(outcomes), stored=stored).model_dump_json(), 200)


@router.get("/results")
def results(
    services: ServicesHere, selection: SelectionHere, period: PeriodHere, part: PartHere, _caller: Reader
) -> ResultPage:
    """Return results by the start of their measurement, newest first."""
    return services.history.results(selection, period, part)


@router.get("/results/{uid}", responses={**NOT_FOUND, 200: {"model": Result}})
def result(services: ServicesHere, request: Request, uid: Uid, _caller: Reader) -> Response:
    """Return a result as it was measured, byte for byte: canonical JSON on one line."""
    content = to_json_line(_load(services, uid)).encode()
    etag = f'"{sha256(content).hexdigest()}"'
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": etag})
    return Response(content, media_type="application/json", headers={"ETag": etag})


@router.get(
    "/results/{uid}/archive",
    responses={**NOT_FOUND, 200: {"content": {"application/zip": {}}}},
    response_class=Response,
    response_model=None,
)
def archive(services: ServicesHere, uid: Uid, _caller: Reader) -> StreamingResponse:
    """Return a result with all of its files, as a zip."""
    content = to_json_line(_load(services, uid)).encode()
    files = services.history.artifacts(uid)
    return StreamingResponse(
        stream_archive(content, files, services.database.artifacts.open),
        media_type="application/zip",
        headers={"Content-Disposition": _attachment(f"{uid}.zip")},
    )


@router.get("/results/{uid}/artifacts", responses=NOT_FOUND)
def artifacts(services: ServicesHere, uid: Uid, _caller: Reader) -> tuple[ArtifactInfo, ...]:
    """Return the files that belong to a result."""
    if services.history.row(uid) is None:
        raise _no_result()
    return services.history.artifacts(uid)


@router.get(
    "/results/{uid}/artifacts/{name:path}",
    responses={**NOT_FOUND, 200: {"content": {"application/octet-stream": {}, "text/plain": {}}}},
    response_class=Response,
    response_model=None,
)
def artifact(services: ServicesHere, request: Request, uid: Uid, name: str, _caller: Reader) -> Response:
    """Return a file of a result. Whatever it is, no browser runs anything in it."""
    info = next((file for file in services.history.artifacts(uid) if file.name == name), None)
    if info is None:
        raise RequestRefused(404, "the result has no such file, or there is no such result")
    etag = f'"{info.digest}"'
    if etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": etag})
    if not services.database.artifacts.locate(info.digest).is_file():
        hint = "the folder of files belongs to its database: copy both"
        raise RequestRefused(404, f"the file of {info.size_bytes} bytes is no longer in the store", hint=hint)
    is_text = info.media_type.startswith("text/plain")
    headers = {"ETag": etag, "Content-Length": str(info.size_bytes), **_SANDBOX}
    if not is_text:
        headers["Content-Disposition"] = _attachment(name.rpartition("/")[2])
    return StreamingResponse(
        _read(services.database.artifacts.open(info.digest)),
        media_type="text/plain; charset=utf-8" if is_text else "application/octet-stream",
        headers=headers,
    )


@router.put(
    "/results/{uid}/artifacts/{name:path}",
    status_code=201,
    responses={
        **NOT_FOUND,
        409: {"model": ErrorAnswer, "description": "The result has another file of this name; it stays"},
        **BODY_ERRORS,
    },
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}}}}},
)
async def put_artifact(request: Request, services: ServicesHere, uid: Uid, name: str, _caller: Writer) -> ArtifactInfo:
    """Store a file of a result; the same again changes nothing. It is written to the disk while it arrives."""
    limits = services.config.limits
    if await run_in_threadpool(services.history.row, uid) is None:
        raise _no_result()
    check_artifact_name(name)
    media_type = request.headers.get("content-type", "application/octet-stream")
    with tempfile.TemporaryFile() as draft:
        async for part in stream_body(request, limits.artifact_bytes, limits.artifact_s):
            draft.write(part)
        draft.seek(0)
        content = cast("BinaryIO", draft)

        def store() -> ArtifactInfo:
            return store_artifact(
                services.database, uid, name, content, media_type=media_type[:200], now=services.clock()
            )

        try:
            return await services.write(store)
        except UsageError as error:
            raise RequestRefused(409, "the result has another file of this name, or is gone") from error


def _load(services: Services, uid: str) -> Result:
    found = services.history.result(uid)
    if found is None:
        raise _no_result()
    return found


def _no_result() -> RequestRefused:
    return RequestRefused(404, "there is no such result", hint="/api/v1/results lists them")


async def _store(services: Services, envelopes: tuple[NewResult | PostedOutcome, ...]) -> list[PostedOutcome]:
    """Store what can be stored; return what became of each."""
    valid = [envelope for envelope in envelopes if isinstance(envelope, NewResult)]
    states = iter(await services.store(valid) if valid else ())
    return [
        envelope if isinstance(envelope, PostedOutcome) else describe_storing(next(states), envelope.result.uid)
        for envelope in envelopes
    ]


def _answer(content: str, status: int) -> Response:
    return Response(content, status, media_type="application/json")


def _attachment(name: str) -> str:
    """Return a header that saves a file under a name (RFC 6266)."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        yield from iter(lambda: file.read(_CHUNK), b"")
