"""Lease of a request: it is one lab's as long as that renews it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.core.errors import HarnessError
from harness.lab.on_demand.request_queue import RequestLost, RequestQueue
from harness.shell import check_stopping
from harness.store.run_requests import RunRequest

_END_S: Final = 90.0
"""How long to wait for the answer to the last renewal."""


@dataclass(slots=True)
class Lease:
    """Request that is this lab's as long as it renews the lease, which a thread does.

    Attributes:
        queue: Queue of the server.
        request: The request.
        claim: Name under which this lab has it.
        lease_s: How long it is this lab's without being renewed, in seconds.
    """

    queue: RequestQueue
    request: RunRequest
    claim: str
    lease_s: float
    _ended: threading.Event = field(default_factory=threading.Event)
    _lost: list[RequestLost] = field(default_factory=list)

    @contextlib.contextmanager
    def keep(self) -> Iterator[None]:
        """Renew it until the context ends."""
        thread = threading.Thread(target=self._renew, name=f"lease of {self.request.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(_END_S)

    def check(self) -> None:
        """Raise `RequestLost` if it is no longer this lab's, and `Interrupted` if this process is being stopped."""
        check_stopping()
        if self._lost:
            raise self._lost[0]

    def _renew(self) -> None:
        while not self._ended.wait(self.lease_s / 3):
            try:
                self.queue.renew(self.request.id, self.claim, self.lease_s)
            except RequestLost as error:
                self._lost.append(error)
                return
            except HarnessError:
                continue  # it keeps the request, and says so as soon as it answers
