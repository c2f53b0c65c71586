"""Runs that persons ask for: what a lab offers, what is asked for, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from harness.core.values import Value

MOST_ATTEMPTS: Final = 5
"""How often a lab begins one request: those that went away with it are counted."""
_MOST: Final = 2000

Name = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Text on one line."""
Words = Annotated[str, Field(max_length=300)]


class RequestState(StrEnum):
    """State of a request."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """True while it may still be measured."""
        return self in {RequestState.QUEUED, RequestState.RUNNING}


class OfferedSpecification(Value):
    """Specification that a lab measures for whoever asks.

    Attributes:
        name: Its name.
        benchmarks: Titles of its benchmarks.
    """

    name: Name
    benchmarks: Annotated[tuple[Name, ...], Field(min_length=1, max_length=_MOST)]


class LabOffer(Value):
    """What a lab measures for whoever asks: the allow list of its dispatcher.

    Attributes:
        specifications: Its specifications.
        device_classes: Classes of its devices that are there now.
    """

    specifications: Annotated[tuple[OfferedSpecification, ...], Field(max_length=_MOST)]
    device_classes: Annotated[tuple[Name, ...], Field(max_length=_MOST)] = ()

    def explain_refusal(self, specification: str, benchmark: str, device_class: str) -> str:
        """Return why this is not on offer; empty where it is. Compares names, and opens nothing."""
        offered = next((each for each in self.specifications if each.name == specification), None)
        if offered is None:
            return "no lab offers this specification"
        if benchmark and benchmark not in offered.benchmarks:
            return "the specification has no such benchmark"
        return "" if device_class in self.device_classes else "no lab has a device of this class now"


class RunRequest(Value):
    """Request of a person to measure something.

    Attributes:
        id: Unique.
        person: Name of the token of whoever asked.
        asked: When, Unix seconds.
        specification: Name of an offered specification.
        benchmark: Title of the only benchmark to measure; empty for all.
        device_class: Class of the devices, any of which may measure it.
        state: Its state.
        attempts: How often a lab began it.
        started: When a lab began it last; null before.
        finished: When it ended; null before.
        results: Uids of its results, which are in the store.
        reason: Why it failed or waits again, or what failed of it; empty where all went well.
    """

    id: str
    person: str
    asked: float
    specification: str
    benchmark: str = ""
    device_class: str
    state: RequestState
    attempts: int = 0
    started: float | None = None
    finished: float | None = None
    results: tuple[str, ...] = ()
    reason: str = ""


class RequestPage(Value):
    """Part of all requests, newest first.

    Attributes:
        rows: The requests of this part.
        total: Number of all.
    """

    rows: tuple[RunRequest, ...]
    total: int


def merge_offers(offers: Sequence[LabOffer]) -> LabOffer:
    """Return what any of several labs offers, by name. A lab need not have all devices of the others."""
    specifications: dict[str, dict[str, None]] = {}
    for specification in (each for offer in offers for each in offer.specifications):
        specifications.setdefault(specification.name, {}).update(dict.fromkeys(specification.benchmarks))
    return LabOffer(
        specifications=tuple(
            OfferedSpecification(name=name, benchmarks=tuple(titles)[:_MOST])
            for name, titles in sorted(specifications.items())[:_MOST]
        ),
        device_classes=tuple(sorted({name for offer in offers for name in offer.device_classes}))[:_MOST],
    )
