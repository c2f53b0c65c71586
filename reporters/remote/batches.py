"""Batches for a server of the harness: several envelopes in one compressed body, each answered by a state of its own.

    POST <URL>
    Content-Encoding: gzip

    {"envelopes": [{envelope}, ...]}

    200 {"outcomes": [{"uid": ..., "status": 201 | 200 | 409 | 422, "message": ...}, ...]}

A batch as a whole never makes a result refused: one that is too large is halved, and whatever else a server dislikes
about it makes the results travel alone, so that each gets an answer of its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.store.tree import encode_segment
from reporters.remote.endpoint import RETRIED, Endpoint, PostAnswer
from reporters.remote.spool import NO_TIME, OneByOne, SendResult, SpooledBody

_MOST: Final = 50
_TOO_LARGE: Final = 413
_NO_BATCHES: Final = frozenset({404, 405, 415})
"""Statuses of a server that takes no batches or no compression."""


class _Read(BaseModel):
    """Part of an answer; later servers may say more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Mistake(_Read):
    pointer: str = ""
    message: str = ""


class _State(_Read):
    uid: str = ""
    status: int
    message: str = ""
    problems: tuple[_Mistake, ...] = ()

    @property
    def text(self) -> str:
        """What is wrong with the result, in words."""
        parts = [self.message, *(f"{mistake.pointer} {mistake.message}".strip() for mistake in self.problems)]
        return "; ".join(filter(None, parts))


class _States(_Read):
    outcomes: tuple[_State, ...]


class Batches:
    """Transmission in batches, as long as the server takes them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._alone = OneByOne(endpoint.post)
        self._most = _MOST

    @property
    def most(self) -> int:
        """Most bodies in one request; 1 where the server takes no batches."""
        return max(1, self._most)

    def transmit(self, bodies: Sequence[SpooledBody], within_s: float) -> Sequence[SendResult]:
        """Transmit bodies in one request, or in several where that is too large or not understood."""
        deadline = time.monotonic() + within_s
        if not self._most:
            return self._alone.transmit(bodies, within_s)
        answer = self._endpoint.post_batch(_join(bodies), within_s)
        if answer.status == _TOO_LARGE and len(bodies) > 1:
            return self._halve(bodies, deadline)
        results = self._read(answer, bodies)
        if results is not None:
            return results
        remaining_s = deadline - time.monotonic()
        return self._alone.transmit(bodies, remaining_s) if remaining_s > 0 else [NO_TIME] * len(bodies)

    def _halve(self, bodies: Sequence[SpooledBody], deadline: float) -> Sequence[SendResult]:
        self._most = middle = len(bodies) // 2
        results: list[SendResult] = []
        for half in (bodies[:middle], bodies[middle:]):
            remaining_s = deadline - time.monotonic()
            if results and results[-1].blocked:
                results += [results[-1]] * len(half)
            elif remaining_s <= 0:
                results += [NO_TIME] * len(half)
            else:
                results += self.transmit(half, remaining_s)
        return results

    def _read(self, answer: PostAnswer, bodies: Sequence[SpooledBody]) -> Sequence[SendResult] | None:
        """Return the result of each body; None where they must be sent alone to get one."""
        status = answer.status
        if status is None or answer.result.blocked or status in RETRIED:
            return [answer.result] * len(bodies)
        states = _read_states(answer.content, bodies) if 200 <= status < 300 else None
        if states is not None:
            return [self._endpoint.judge(state.status, state.text) for state in states]
        if status in _NO_BATCHES or status < 300:
            self._most = 0
        return None


def _join(bodies: Sequence[SpooledBody]) -> bytes:
    return b'{"envelopes":[' + b",".join(body.body for body in bodies) + b"]}"


def _read_states(content: bytes, bodies: Sequence[SpooledBody]) -> tuple[_State, ...] | None:
    """Return the states of an answer; None where it has not one for each body."""
    try:
        states = _States.model_validate_json(content).outcomes
    except ValidationError:
        return None
    keys = [encode_segment(state.uid) if state.uid else body.key for state, body in zip(states, bodies, strict=False)]
    return states if len(states) == len(bodies) and keys == [body.key for body in bodies] else None
