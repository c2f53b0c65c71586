"""Bodies of posted results: one envelope of the remote reporter, or many, each read by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

import pydantic_core
from msgspec import Struct
from pydantic import Field, ValidationError

from harness.core.result import Result, make_writable
from harness.core.values import Value
from harness.server.answers import BodyProblem, RequestRefused, list_problems
from harness.store.database.writing import NewResult, Storing
from harness.store.tree import encode_segment

_UID: Final = re.compile(r"[^/\\\s\x00-\x1f\x7f]{1,200}")


class PostedResult(Value):
    """Envelope of a result.

    Attributes:
        schema_version: Of the envelope; the result has its own.
        category: Name of this series of results.
        result: The canonical result. Those of older harnesses are read too.
    """

    schema_version: Literal["1.0"] = "1.0"
    category: Annotated[str, Field(max_length=200)] | None = None
    result: Result


class PostedBatch(Value):
    """Several envelopes.

    Attributes:
        envelopes: The envelopes; each is stored or refused by itself.
    """

    envelopes: tuple[PostedResult, ...]


class PostedState(StrEnum):
    """What became of a posted result."""

    CREATED = "created"
    KNOWN = "known"
    CONFLICT = "conflict"
    INVALID = "invalid"


_STATUSES: Final[Mapping[PostedState, int]] = {
    PostedState.CREATED: 201,
    PostedState.KNOWN: 200,
    PostedState.CONFLICT: 409,
    PostedState.INVALID: 422,
}


class PostedOutcome(Value):
    """What became of one posted result.

    Attributes:
        uid: Its identifier; empty where it could not be read.
        state: What became of it.
        status: HTTP status that it would have got alone: 201, 200, 409 or 422.
        message: Why it was not stored; empty where it is.
        problems: Mistakes in it.
    """

    uid: str = ""
    state: PostedState
    status: int
    message: str = ""
    problems: tuple[BodyProblem, ...] = ()

    @classmethod
    def of(
        cls, state: PostedState, uid: str = "", message: str = "", problems: tuple[BodyProblem, ...] = ()
    ) -> PostedOutcome:
        """Return an outcome with the status of its state."""
        return cls(uid=uid, state=state, status=_STATUSES[state], message=message, problems=problems)


class PostedOutcomes(Value):
    """What became of several posted results.

    Attributes:
        outcomes: One for each envelope, in their order.
        stored: How many of them are in the store now, also those that were there before.
    """

    outcomes: tuple[PostedOutcome, ...]
    stored: int


class ReadBody(Struct, frozen=True):
    """Body of a request that posts results.

    Attributes:
        envelopes: What could be read, and what is wrong with the others.
        is_batch: Whether they came as a list.
    """

    envelopes: tuple[NewResult | PostedOutcome, ...]
    is_batch: bool


def read_body(body: bytes, *, most: int) -> ReadBody:
    """Read one envelope, or a list of them.

    Args:
        body: JSON.
        most: Most envelopes.

    Raises:
        RequestRefused: It is no JSON (400), neither of both (422), or the list is too long (413).
    """
    try:
        document = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError as error:
        problem = BodyProblem(pointer="", message=_explain_json(error))
        raise RequestRefused(422, "the body is not JSON", hint="send UTF-8", problems=[problem]) from error
    if not isinstance(document, dict) or not ("result" in document or "envelopes" in document):
        raise RequestRefused(
            422,
            "the body is no envelope",
            hint='send {"schema_version": "1.0", "category": ..., "result": {...}}, or {"envelopes": [...]}',
        )
    if "envelopes" not in document:
        return ReadBody((_read_envelope(body, ""),), is_batch=False)
    items = document.pop("envelopes")
    if document or not isinstance(items, list):
        raise RequestRefused(422, "a batch has a list `envelopes` and nothing else")
    if len(items) > most:
        raise RequestRefused(413, f"a batch has at most {most} envelopes", hint="send fewer results at once")
    envelopes = []
    for place, item in enumerate(items):
        envelopes.append(_read_envelope(pydantic_core.to_json(item), f"/envelopes/{place}"))
        items[place] = None  # what was read is not kept twice
    return ReadBody(tuple(envelopes), is_batch=True)


def check_key(key: str | None, envelope: NewResult | PostedOutcome) -> None:
    """Check that the header `Idempotency-Key` is the identifier of the result.

    Raises:
        RequestRefused: It is another one.
    """
    if key is None or isinstance(envelope, PostedOutcome):
        return
    uid = envelope.result.uid
    if key not in {uid, encode_segment(uid)}:
        raise RequestRefused(
            422, "Idempotency-Key is not the uid of the result", hint="send the uid, or no such header"
        )


def describe_storing(storing: Storing, uid: str) -> PostedOutcome:
    """Return the outcome of a result that the store was given."""
    message = "the store has another result with this uid, which stays" if storing is Storing.CONFLICT else ""
    return PostedOutcome.of(PostedState(storing.value), uid, message)


def _read_envelope(content: bytes, pointer: str) -> NewResult | PostedOutcome:
    try:
        envelope = PostedResult.model_validate_json(content, strict=True)
    except ValidationError as error:
        problems = list_problems(error, pointer)
        return PostedOutcome.of(PostedState.INVALID, message="this is no result of the harness", problems=problems)
    if not _UID.fullmatch(envelope.result.uid) or not envelope.result.uid.strip("."):
        problem = BodyProblem(
            pointer=f"{pointer}/result/uid", message="must have 1 to 200 characters, without spaces and slashes"
        )
        return PostedOutcome.of(PostedState.INVALID, message="the uid cannot be used", problems=(problem,))
    return NewResult(make_writable(envelope.result), envelope.category or "")


def _explain_json(error: ValueError) -> str:
    """Return what a parser says: it names line and column, and quotes nothing."""
    return str(error).splitlines()[0][:200]
