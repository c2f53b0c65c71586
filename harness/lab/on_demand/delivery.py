"""Delivery of results to the server that persons ask."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Final

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, HarnessError
from harness.core.protocols import Display
from harness.core.result import Report
from harness.lab.on_demand.leases import Lease
from harness.lab.on_demand.request_queue import QueueSilent, RequestQueue, StoredOutcome
from harness.shell import pause
from reporters.remote import create as create_remote_reporter
from reporters.remote.reporter import RemoteReporter

CATEGORY: Final = "on demand"
"""Category of the results."""
POLL_S: Final = 3.0
"""How often the server is asked."""


class Outcomes:
    """Listener that keeps how each result ended."""

    name = "outcomes"

    def __init__(self) -> None:
        self.all: dict[str, StoredOutcome] = {}

    def report(self, report: Report) -> None:
        """Keep how a result ended."""
        result = report.result
        self.all[result.uid] = StoredOutcome(uid=result.uid, outcome=result.outcome, reason=result.reason)

    def close(self) -> None:
        """Do nothing."""


class OnceReporter:
    """Reporter of results that the server does not have: of a comparison that goes on, it has some.

    Args:
        reporter: Reports them.
        queue: Asks the server.
    """

    def __init__(self, reporter: RemoteReporter, queue: RequestQueue) -> None:
        self._reporter = reporter
        self._queue = queue
        self.name = reporter.name

    def report(self, report: Report) -> None:
        """Report a result, unless the server has it."""
        with contextlib.suppress(QueueSilent):
            if self._queue.find_outcome(report.result.uid) is not None:
                return
        self._reporter.report(report)

    def close(self) -> None:
        """Close the reporter."""
        self._reporter.close()


class ResultDelivery:
    """What a dispatcher sends to its server, whose spool keeps what the server does not take now.

    Args:
        queue: Queue of the server.
        settings: Where the spool is.
        display: Shows what happens.
    """

    def __init__(self, queue: RequestQueue, settings: Settings, display: Display) -> None:
        self._queue = queue
        self._settings = settings
        self._display = display
        self._problem = ""

    def open_reporter(self) -> RemoteReporter:
        """Return the reporter that posts results to the server, whose spool keeps what it does not take now."""
        target = f"{self._queue.results_address}|{CATEGORY}"
        reporter = create_remote_reporter(dataclasses.replace(self._settings, remote_reporter=target))
        if reporter is None:
            raise EnvironmentProblem(f"results cannot be reported to {target}", hint="look at --requests-from")
        reporter.prepare()
        return reporter

    def send_earlier(self) -> None:
        """Send results that a process before this one had measured, or that the server could not take."""
        self.open_reporter().flush(self._display)

    def warn(self, problem: HarnessError) -> None:
        """Show a problem once, however long it lasts."""
        if problem.message != self._problem:
            self._problem = problem.message
            self._display.warn(f"! {problem.message}: waiting for it")

    def forget_problem(self) -> None:
        """Show the next problem, also if it is the last one again."""
        self._problem = ""

    def wait_for_outcome(self, lease: Lease, uid: str) -> StoredOutcome | None:
        """Return the outcome of a result as the server has it, as soon as it answers."""
        while True:
            lease.check()
            try:
                return self._queue.find_outcome(uid)
            except QueueSilent as problem:
                self.warn(problem)
            pause(POLL_S)
