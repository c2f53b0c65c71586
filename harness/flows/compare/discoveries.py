"""Reports of changes, held back until it is known whether they survive among all benchmarks.

A discovery is final as soon as it is one by final evidence alone. Evidence is final when no pair can follow, and what
others bring later only adds discoveries. So a change is reported when that is known, and never taken back; until
then its report waits, and its pairs stay in their journal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from harness.analysis.compare.discovery import ProvenChange, select_discovered_changes
from harness.core.result import Report

Key = TypeVar("Key", bound=Hashable)


class _Earlier(Struct, frozen=True):
    """Change that was reported before an interruption."""

    index: int


class FalseDiscoveryFilter(Generic[Key]):
    """Filter of the changes that were measured to the end: holds back each until it is known whether it survives.

    Used by all devices at once.

    Args:
        total: Comparisons in all, on all devices.
        q: Largest expected share of false ones among the reported regressions, and among the reported improvements.
        report: Called once with each change, when it is known whether it survives.
        earlier: Changes that were reported before an interruption.
    """

    def __init__(
        self, total: int, q: float, report: Callable[[Key, Report], None], earlier: Sequence[ProvenChange] = ()
    ) -> None:
        self._total = total
        self._q = q
        self._report = report
        self._lock = threading.Lock()
        self._final: dict[Key | _Earlier, ProvenChange] = {
            _Earlier(index): change for index, change in enumerate(earlier)
        }
        self._waiting: dict[Key, Report] = {}
        self._discoveries: frozenset[Key] = frozenset()

    def final(self) -> frozenset[Key]:
        """Return the discoveries by final evidence alone: whatever is still measured, they will stay.

        The set is the same object until a change is added.
        """
        return self._discoveries

    def final_with(self, changes: Mapping[Key, ProvenChange]) -> frozenset[Key]:
        """Return the discoveries if these changes were final now."""
        with self._lock:
            return self._select(changes)

    def add(self, key: Key, change: ProvenChange, report: Report) -> None:
        """Add a change whose last pair was measured. Reports it, and others, if that makes them discoveries."""
        with self._lock:
            self._final[key] = change
            self._waiting[key] = report
            self._discoveries = discoveries = self._select({})
            ready = {waiting: self._waiting.pop(waiting) for waiting in list(self._waiting) if waiting in discoveries}
        for discovery, waited in ready.items():
            self._report(discovery, _as_discovery(waited))

    def close(self) -> None:
        """Report the rest, which does not survive: no evidence can follow."""
        with self._lock:
            rejected, self._waiting = self._waiting, {}
        for key, waited in rejected.items():
            self._report(key, waited)

    def _select(self, changes: Mapping[Key, ProvenChange]) -> frozenset[Key]:
        known: dict[Key | _Earlier, ProvenChange] = dict(self._final)
        known.update(changes.items())
        discoveries = select_discovered_changes(known, self._total, self._q)
        return frozenset(key for key in discoveries if not isinstance(key, _Earlier))


def _as_discovery(report: Report) -> Report:
    comparison = report.result.comparison
    if comparison is None:
        return report
    discovered = comparison.model_copy(update={"discovered": True})
    return report.model_copy(update={"result": report.result.model_copy(update={"comparison": discovered})})
