"""Reporters: receivers of results, and what a reporter may offer beside its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct

from harness.core.protocols.progress import Progress

if TYPE_CHECKING:  # commands that measure nothing load no result
    from harness.core.device_doubt import DeviceDoubt
    from harness.core.result import Report


class Reporter(Protocol):
    """A receiver of results, which gets them one by one as they appear. Used by one thread at a time."""

    name: str

    def report(self, report: Report) -> str | None:
        """Report one result, and return its place, if it has one.

        Raises:
            ReporterFailed: It could not be reported; the result is safe elsewhere.
        """

    def close(self) -> None:
        """Report the rest: a table, an index. Called once, also after failures.

        Raises:
            ReporterFailed: As above.
        """


@runtime_checkable
class ResultArchive(Protocol):
    """A reporter that keeps results for good: a result counts as stored when `report` has returned.

    It gets results before the other reporters, which find the place that it returned in `Report.place`: a folder of
    this machine. Where there are several, the first that returns one names the place. Ask `is_archive`: a reporter may
    also say False.
    """

    keeps_results: bool


@runtime_checkable
class Cataloguing(Protocol):
    """An archive that can list what it keeps, so that nothing is kept twice."""

    def stored_uids(self) -> frozenset[str]:
        """Return the identifiers of all results that it keeps.

        Raises:
            EnvironmentProblem: They cannot be read.
        """


@runtime_checkable
class DoubtKeeping(Protocol):
    """A reporter that keeps, beside results, of which devices they are in doubt."""

    def keep_doubts(self, doubts: Sequence[DeviceDoubt]) -> None:
        """Keep doubts; the same ones may come again. Results are not changed.

        Raises:
            HarnessError: They cannot be kept; they come again with the next run.
        """


def is_archive(reporter: Reporter) -> bool:
    """Return whether a reporter keeps results for good (`ResultArchive`)."""
    return isinstance(reporter, ResultArchive) and reporter.keeps_results


@runtime_checkable
class Preparable(Protocol):
    """A reporter that can find out before the first measurement that it will not be able to report."""

    def prepare(self) -> None:
        """Check that results can be written where they are to go, by writing there. Called before anything is measured.

        Raises:
            EnvironmentProblem: They cannot; the hint says what to do. Nothing is measured then.
        """


@runtime_checkable
class Rewriting(Protocol):
    """A reporter that writes all of its output anew with each result, as a page does."""

    def defer(self) -> None:
        """Write nothing before `close`: all results exist, and come at once. Called before the first."""


@runtime_checkable
class DeliveryCounting(Protocol):
    """A reporter that knows what it could not report: one that tries again later, or that reports all results at once.

    Of other reporters the failures of `report` are counted.
    """

    @property
    def unreported(self) -> int:
        """Number of results that it was given in this run and that are not reported now."""


class FlushOutcome(Struct, frozen=True):
    """Outcome of sending everything that waited.

    Attributes:
        sent: Results that were received.
        waiting: Results that still wait.
        refused: Results that were refused for good.
        reasons: Why results wait or were refused; each reason once.
    """

    sent: int = 0
    waiting: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True when everything was received."""
        return self.waiting == 0 and self.refused == 0


@runtime_checkable
class Spooling(Protocol):
    """A reporter that keeps results that it could not deliver, to send them later."""

    def flush(self, progress: Progress) -> FlushOutcome:
        """Send everything that waits, instead of reporting: no other method is called before or after.

        Raises:
            ReporterFailed: What waits cannot be read.
        """
