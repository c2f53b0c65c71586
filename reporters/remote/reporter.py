"""Reporter that spools results, and posts them in a thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from harness.core.device_doubt import DeviceDoubt, PostedDoubts
from harness.core.errors import EnvironmentProblem, ReporterFailed
from harness.core.protocols import FlushOutcome, Progress
from harness.core.result import Report, Result, make_writable
from harness.core.values import Value, replace_surrogates
from harness.files.writability import check_writable_folder
from harness.store.canonical_json import to_json_line
from reporters.remote.batches import Batches
from reporters.remote.endpoint import Endpoint, find_route
from reporters.remote.sender import Sender
from reporters.remote.spool import OneByOne, SendStatus, Spool, Transmission

_DOUBTS: Final = "/api/v1/doubts"
_LATER: Final = "`harness report --flush`, with the same --remote-reporter, sends them later"
"""What to do about results that wait."""

_RUN_S: Final = 10.0
"""The longest that sending a batch may take during a run, and the longest that its end may take."""

_FLUSH_S: Final = 120.0
"""The longest that one batch may take in a flush: megabytes arrive over a slow line too."""


class Envelope(Value):
    """Body of a request.

    Attributes:
        schema_version: Of the envelope; the result has its own.
        category: Name of this series of results; the server may file by it.
        result: The canonical result, as measured: nothing rounded, nothing left out.
    """

    schema_version: Literal["1.0"] = "1.0"
    category: str | None = None
    result: Result


class RemoteReporter:
    """Reporter that spools results, and posts them in a thread; what cannot be sent waits in the spool."""

    name = "remote"

    def __init__(self, endpoint: Endpoint, spool: Spool) -> None:
        self._endpoint = endpoint
        self._spool = spool
        self._transmission: Transmission = (
            Batches(endpoint) if endpoint.target.takes_batches else OneByOne(endpoint.post)
        )
        self._sender = Sender(spool, self._transmission, _RUN_S)
        self._given = 0
        self._entries: list[Path] = []

    def prepare(self) -> None:
        """Check that results can be spooled; the server may answer later.

        Raises:
            EnvironmentProblem: They cannot.
        """
        try:
            check_writable_folder(self._spool.folder)
        except OSError as error:
            raise EnvironmentProblem(
                f"results cannot be spooled in {self._spool.folder}: {error.strerror or error}",
                hint="free disk space or fix permissions there, or name another folder with --cache-dir",
            ) from error

    def report(self, report: Report) -> None:
        """Put one result on the disk; it is posted meanwhile, and `close` raises what became of it.

        Raises:
            ReporterFailed: It cannot be spooled.
        """
        self._given += 1
        result = make_writable(report.result)
        envelope = Envelope(category=self._endpoint.target.category, result=result)
        self._entries.append(self._spool.add(result.uid, to_json_line(envelope).encode()))
        self._sender.wake()

    def keep_doubts(self, doubts: Sequence[DeviceDoubt]) -> None:
        """Post of which devices the results are in doubt, where the server is one of the harness.

        Raises:
            ReporterFailed: It does not take them now.
        """
        target = find_route(self._endpoint.target, _DOUBTS)
        if target is None:
            return
        endpoint = Endpoint(target, self._endpoint.token)
        body = to_json_line(replace_surrogates(PostedDoubts(doubts=tuple(doubts)))).encode()
        try:
            answer = endpoint.post("doubts", body, _RUN_S)
        finally:
            endpoint.close()
        if answer.status is not SendStatus.SENT:
            raise ReporterFailed(answer.reason)

    @property
    def unreported(self) -> int:
        """Number of results of this run that wait, were refused or could not even be spooled."""
        kept = [entry for entry in self._entries if entry.exists() or (self._spool.dead / entry.name).exists()]
        return self._given - len(self._entries) + len(kept)

    def close(self) -> None:
        """Send what waits, also from earlier runs, as far as a few seconds allow.

        Raises:
            ReporterFailed: Results wait, or were refused since the reporter was created.
        """
        try:
            outcome = self._sender.finish(_RUN_S)
        finally:
            self._endpoint.close()
        reasons = "; ".join(outcome.reasons)
        if outcome.waiting:
            raise self._spooled(reasons)
        if outcome.refused:
            message = f"{outcome.refused} spooled results were refused: {reasons}"
            raise ReporterFailed(message, hint=f"they are kept in {self._spool.dead}")

    def flush(self, progress: Progress) -> FlushOutcome:
        """Send everything that waits (see `harness.core.protocols.Spooling`)."""
        try:
            waiting = len(self._spool.waiting())
            with progress.task(f"sending results to {self._endpoint.target.shown}", total=waiting) as task:
                return self._spool.drain(self._transmission, each_s=_FLUSH_S, total_s=math.inf, task=task)
        finally:
            self._endpoint.close()

    def _spooled(self, reason: str) -> ReporterFailed:
        waiting = len(self._spool.waiting())
        return ReporterFailed(f"spooled, {waiting} waiting: {reason}", hint=_LATER)
