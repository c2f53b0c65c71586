"""Limits of requests: how many each sender may send, and how much of a body is read."""

from __future__ import annotations

import asyncio
import math
import time
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import ClientDisconnect, Request

from harness.server.answers import RequestRefused
from harness.server.config import ServerLimits

_MOST_SENDERS: Final = 10_000
_RETRY: Final = {"Retry-After": "2"}


class SenderRates:
    """Token buckets: each sender may send `rate` requests a second, and `burst` of them at once.

    Used by the event loop only.
    """

    def __init__(self, limits: ServerLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, sender: str, cost: float = 1.0) -> float:
        """Count a request; return 0 if it may be answered, else the seconds after which one may."""
        now = self._clock()
        level, then = self._levels.pop(sender, (self._limits.burst, now))
        level = min(self._limits.burst, level + (now - then) * self._limits.rate)
        may = level >= 1.0
        self._levels[sender] = (level - cost if may else level, now)
        if len(self._levels) > _MOST_SENDERS:
            self._levels.popitem(last=False)  # idle for longest: its bucket is as good as full
        return 0.0 if may else max(1.0, math.ceil((1.0 - level) / self._limits.rate))


class BodyReader:
    """Reads bodies of all requests, within the limits of one and of all together. Used by the event loop only."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._pending = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Give the body of a request as it was sent; its bytes count until the context ends.

        Raises:
            RequestRefused: It is too large (413), too slow (408), or all bodies together are too large (503).
        """
        parts: list[bytes] = []
        size = 0
        try:
            async for part in stream_body(request, self._limits.body_bytes, self._limits.body_s):
                size += len(part)
                self._pending += len(part)
                if self._pending > self._limits.pending_bytes:
                    raise RequestRefused(503, "the server is reading too much at once", headers=_RETRY)
                parts.append(part)
            yield b"".join(parts)
        finally:
            self._pending -= size


async def stream_body(request: Request, limit_bytes: int, limit_s: float) -> AsyncIterator[bytes]:
    """Yield the parts of a body.

    Raises:
        RequestRefused: It is larger or slower than the limits (413, 408), or was cut off (400).
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit_bytes:
        raise _too_large(limit_bytes)
    size = 0
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limit_s
    parts = aiter(request.stream())
    try:
        while True:
            part = await asyncio.wait_for(anext(parts), max(0.0, deadline - loop.time()))
            size += len(part)
            if size > limit_bytes:
                raise _too_large(limit_bytes)
            if part:
                yield part
    except StopAsyncIteration:
        return
    except TimeoutError as error:
        raise RequestRefused(
            408, f"the body took longer than {limit_s:g} s", headers={"Connection": "close"}
        ) from error
    except ClientDisconnect as error:
        raise RequestRefused(400, "the body was cut off") from error


def decompress(body: bytes, limit_bytes: int) -> bytes:
    """Return what gzip compressed, without producing more than the limit.

    Raises:
        RequestRefused: It is no gzip (400), or too large (413).
    """
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(body, limit_bytes + 1)
    except zlib.error as error:
        raise RequestRefused(400, "the body is not compressed by gzip, as its Content-Encoding says") from error
    if len(content) > limit_bytes or unpacker.unconsumed_tail:
        raise _too_large(limit_bytes)
    if not unpacker.eof or unpacker.unused_data:
        raise RequestRefused(400, "the body is cut off, or has something behind what gzip compressed")
    return content


def _too_large(limit_bytes: int) -> RequestRefused:
    shown = f"{limit_bytes >> 20} MiB" if limit_bytes >= 1 << 20 else f"{limit_bytes} bytes"
    return RequestRefused(
        413, f"the body is larger than {shown}", hint="send fewer results at once", headers={"Connection": "close"}
    )
