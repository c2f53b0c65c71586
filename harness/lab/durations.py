"""Expected durations of jobs, by earlier results, so that the longest ones begin first.

Whoever begins the longest job last waits for it alone. Those that are not known come before all: one of them may be
the longest, and it is known afterwards.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device import CLASS
from harness.core.durations import DurationQuery
from harness.core.errors import HarnessError
from harness.lab.targets import Target
from harness.store.durations import read_durations

FindDurations = Callable[[DurationQuery], Mapping[str, float]]
"""Asks a store how long benchmarks took, in seconds by their digests."""


class HasDuration(Protocol):
    """What takes a while."""

    @property
    def expected_s(self) -> float | None:
        """Seconds that it is expected to take; None where that is not known."""


def longest_first(item: HasDuration) -> float:
    """Key by which those that take longest come first, after those of which nothing is known."""
    return -math.inf if item.expected_s is None else -item.expected_s


def expect_durations(
    benchmarks: Sequence[Benchmark],
    target: Target,
    settings: Settings,
    find: FindDurations | None = None,
    *,
    pairs: bool,
) -> Mapping[str, float]:
    """Return how long benchmarks are expected to take on the devices of a target, in seconds by their digests.

    Args:
        benchmarks: The benchmarks.
        target: The devices.
        settings: The tree of results and the database of this machine.
        find: Asks another store instead.
        pairs: Whether to expect one pair of a comparison, instead of a measurement.
    """
    devices = {place.device.identity for place in target.places}
    if pairs and not target.is_single:
        devices = {f"{CLASS}{target.label}"}
    titles = {benchmark.digest: benchmark.title for benchmark in benchmarks}
    query = DurationQuery(benchmarks=tuple(titles), devices=tuple(sorted(devices)), pairs=pairs)
    if find is not None:
        return find(query)
    known = read_durations(settings.local_reporter, query, titles)
    missing = query.model_copy(update={"benchmarks": tuple(titles.keys() - known.keys())})
    return {**_ask_database(settings, missing), **known}


def _ask_database(settings: Settings, query: DurationQuery) -> Mapping[str, float]:
    """Ask the database of `--database`, if one is named. That it cannot be read is said when it is stored into."""
    if settings.database is None or not query.benchmarks:
        return {}
    from harness.store.database.durations import load_durations  # noqa: PLC0415 - only where one is asked for
    from harness.store.database.opening import open_configured  # noqa: PLC0415

    with contextlib.suppress(HarnessError), open_configured(settings, create=False) as database:
        return load_durations(database, query)
    return {}
