"""What the routes of one server share: the store, its reader and writer, limits, log and metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from msgspec import Struct, field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from harness.server.access import Access
from harness.server.access_log import AccessLog
from harness.server.answers import RequestRefused
from harness.server.config import ServerConfig
from harness.server.limiting import BodyReader
from harness.server.measuring import ServerMetrics
from harness.server.sessions import Signer
from harness.store.database.engine import Database
from harness.store.database.views.reader import History
from harness.store.database.writing import NewResult, Storing, store_results

_WAIT_S: Final = 20.0
"""Longest time that a request waits for others that write."""

AnyAnswer = TypeVar("AnyAnswer")


class Services(Struct, frozen=True):
    """What the routes of one server share.

    Attributes:
        database: The store.
        history: Reads it.
        config: Settings of the server.
        access: Rules of who may do what.
        signer: Signs cookies and forms.
        bodies: Reads bodies of requests.
        metrics: Counters.
        log: Its log.
        clock: Returns Unix seconds.
    """

    database: Database
    history: History
    config: ServerConfig
    access: Access
    signer: Signer
    bodies: BodyReader
    metrics: ServerMetrics
    log: AccessLog
    clock: Callable[[], float] = time.time
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def store(self, results: Sequence[NewResult]) -> tuple[Storing, ...]:
        """Store results in one transaction, after those of other requests.

        Raises:
            RequestRefused: Others write for too long.
            EnvironmentProblem: They cannot be stored; none of them is.
        """
        return await self.write(lambda: store_results(self.database, results, now=self.clock()))

    async def write(self, change: Callable[[], AnyAnswer]) -> AnyAnswer:
        """Make a change of the store in a thread, one at a time: readers keep the other threads.

        Raises:
            RequestRefused: Others write for too long.
        """
        try:
            await asyncio.wait_for(self._writing.acquire(), _WAIT_S)
        except TimeoutError as error:
            raise RequestRefused(503, "the store is busy", headers={"Retry-After": "5"}) from error
        try:
            return await run_in_threadpool(change)
        finally:
            self._writing.release()


def services_of(request: Request) -> Services:
    """Return what the routes of this server share."""
    services: Services = request.app.state.services
    return services
