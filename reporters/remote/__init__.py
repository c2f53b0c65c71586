"""Post every result to a server, and lose none: `--remote_reporter 'URL|category'`.

    POST <URL>
    Authorization: Bearer <token>
    Content-Type: application/json
    Idempotency-Key: <uid of the result>
    User-Agent: edge-harness/<version>

    {"schema_version": "1.0", "category": "<category>", "result": {the canonical result}}

Any 2xx means received. A result is on the disk before it is posted (`reporters.remote.spool`, below
`<cache_dir>/spool/<digest of URL and category>`), so what cannot be sent now is sent at the end of the run, by a later
one, or by `harness report --flush`. 401, 403, 408, 429, 5xx, redirects and silence keep it there; any other 4xx means
that it will never be accepted, and moves it to `dead/` with the reason. A server sees the key again when an answer was
lost, and answers 2xx then too.

`harness.config.remote_target` says where the token comes from. Over `http://` it travels in the clear; that is for
servers on this machine or in a closed network.
"""

from __future__ import annotations

import math
import os
from typing import Final, Literal

from harness.config.remote_target import Target, find_token
from harness.config.settings import Settings, default_config_dir
from harness.core.errors import ReporterFailed, UsageError
from harness.core.protocols import Progress, Reporter
from harness.core.result import Report, Result, writable
from harness.core.values import Value
from harness.store.canonical_json import to_json_line
from reporters.remote.endpoint import Endpoint
from reporters.remote.spool import Fate, FlushOutcome, Spool

_RUN_S: Final = 10.0
"""The longest that one result may hold up a run, and the longest that its end may take."""

_FLUSH_S: Final = 120.0
"""For one result when somebody waits for exactly that: megabytes over a slow line arrive too."""


class Envelope(Value):
    """What is posted.

    Attributes:
        schema_version: Of the envelope; the result has its own.
        category: What the user calls this series of results; the server may file by it.
        result: The canonical result, as measured: nothing rounded, nothing left out.
    """

    schema_version: Literal["1.0"] = "1.0"
    category: str | None = None
    result: Result


class RemoteReporter:
    """Posts results as they appear; what cannot be sent waits in the spool."""

    name = "remote"

    def __init__(self, endpoint: Endpoint, spool: Spool) -> None:
        self._endpoint = endpoint
        self._spool = spool
        self._unreachable: str | None = None

    def report(self, report: Report) -> None:
        """Spool one result, then post it. A server that did not answer is left alone until the end of the run."""
        result = writable(report.result)
        envelope = Envelope(category=self._endpoint.target.category, result=result)
        entry = self._spool.add(result.uid, to_json_line(envelope).encode())
        if self._unreachable is not None:
            raise self._spooled(self._unreachable)
        answer = self._spool.send(entry, self._endpoint.post, _RUN_S)
        if answer.unreachable:
            self._unreachable = answer.reason
        if answer.fate is Fate.KEPT:
            raise self._spooled(answer.reason)
        if answer.fate is Fate.REFUSED:
            raise ReporterFailed(
                f"the result was refused: {answer.reason}", hint=f"it is kept in {self._spool.dead / entry.name}"
            )

    def close(self) -> None:
        """Send what waits, also from earlier runs, as far as a few seconds allow."""
        try:
            outcome = self._spool.drain(self._endpoint.post, each_s=_RUN_S, total_s=_RUN_S)
        finally:
            self._endpoint.close()
        reasons = "; ".join(outcome.reasons)
        if outcome.left:
            raise self._spooled(reasons)
        if outcome.dead:
            raise ReporterFailed(
                f"{outcome.dead} spooled results were refused: {reasons}", hint=f"they are kept in {self._spool.dead}"
            )

    def _spooled(self, reason: str) -> ReporterFailed:
        waiting = len(self._spool.waiting())
        return ReporterFailed(f"spooled, {waiting} waiting: {reason}", hint="`harness report --flush` sends them later")


def create(settings: Settings) -> Reporter | None:
    """The reporter for `--remote_reporter`, if given.

    Raises:
        UsageError: It is not `URL|category`, or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
    """
    if settings.remote_reporter is None:
        return None
    return RemoteReporter(*_connect(settings, settings.remote_reporter))


def flush(settings: Settings, progress: Progress) -> FlushOutcome:
    """Send everything that waits for the server of `--remote_reporter`.

    Raises:
        UsageError: No server is named, or it or the token cannot be one.
        EnvironmentProblem: The token's file cannot be read, or others can read it.
        ReporterFailed: The spool cannot be used.
    """
    if settings.remote_reporter is None:
        raise UsageError("no server to send results to", hint="name it with --remote_reporter 'URL|category'")
    endpoint, spool = _connect(settings, settings.remote_reporter)
    try:
        with progress.task(f"sending results to {endpoint.target.shown}", total=len(spool.waiting())) as task:
            return spool.drain(endpoint.post, each_s=_FLUSH_S, total_s=math.inf, task=task)
    finally:
        endpoint.close()


def _connect(settings: Settings, text: str) -> tuple[Endpoint, Spool]:
    target = Target.parse(text)
    token = find_token(os.environ, default_config_dir())
    return Endpoint(target, token), Spool(settings.cache_dir / "spool" / target.digest)
