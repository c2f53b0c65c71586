"""Which regressions survive among all benchmarks of a run, on all its devices, and when that is known.

A result is told as soon as it is there. A regression is one only if it survives, and that may become known later, when
others have left: until then its report waits, and its pairs stay in their journal. What was told is never taken back
(see `harness.analysis.compare.discovery`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.analysis.compare.discovery import discoveries
from harness.core.comparison import Comparison
from harness.core.result import Report

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """A regression that needs no telling."""

    index: int


class Discoveries(Generic[Key]):
    """The regressions that left, those that wait to be told among them. Used by all devices at once.

    Args:
        total: Comparisons in all, on all devices.
        q: Largest expected share of false ones among the reported regressions.
        tell: Told each regression once, when it is known whether it survives.
        earlier: Evidence of regressions that were told before the interruption of what is gone on with.
    """

    def __init__(
        self, total: int, q: float, tell: Callable[[Key, Report], None], earlier: Sequence[float] = ()
    ) -> None:
        self._total = total
        self._q = q
        self._tell = tell
        self._lock = threading.Lock()
        self._final: dict[Key | _Earlier, float] = {_Earlier(index): value for index, value in enumerate(earlier)}
        self._waiting: dict[Key, Report] = {}

    def settled(self) -> frozenset[Key]:
        """The discoveries by final evidence alone: whatever is still measured, they will stay."""
        return self.if_these_left({})

    def if_these_left(self, evidence: Mapping[Key, float]) -> frozenset[Key]:
        """The discoveries, if these regressions left now, with this evidence."""
        with self._lock:
            known: dict[Key | _Earlier, float] = dict(self._final)
            known.update(evidence.items())
            found = discoveries(known, self._total, self._q)
        return frozenset(key for key in found if not isinstance(key, _Earlier))

    def leave(self, key: Key, comparison: Comparison, report: Report) -> None:
        """A regression by its own pairs, of which none can follow. Tells it, and others, if that settles them."""
        with self._lock:
            self._final[key] = comparison.evidence.regression
            self._waiting[key] = report
        found = self.settled()
        with self._lock:
            ready = {one: self._waiting.pop(one) for one in list(self._waiting) if one in found}
        for one, waited in ready.items():
            self._tell(one, _discovered(waited))

    def close(self) -> None:
        """No evidence can follow: tell the rest, which does not survive."""
        with self._lock:
            rest, self._waiting = self._waiting, {}
        for one, waited in rest.items():
            self._tell(one, waited)


def _discovered(report: Report) -> Report:
    comparison = report.result.comparison
    if comparison is None:
        return report
    found = comparison.model_copy(update={"discovered": True})
    return report.model_copy(update={"result": report.result.model_copy(update={"comparison": found})})
