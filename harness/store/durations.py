"""How long benchmarks took, by the results of a tree."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.core.durations import DurationQuery, measured_duration_s
from harness.core.errors import EnvironmentProblem
from harness.store.canonical_json import load_result
from harness.store.index import find_newest_good


def read_durations(folder: Path, query: DurationQuery, titles: Mapping[str, str]) -> Mapping[str, float]:
    """Return how long benchmarks took, in seconds by their digests, as the newest good results say.

    Of each title only the newest result is read: benchmarks that were defined otherwise before are not known.

    Args:
        folder: The tree.
        query: The benchmarks and devices.
        titles: Titles of the benchmarks, by their digests: the index has no digests.
    """
    found: dict[str, float] = {}
    missing = {titles[digest] for digest in query.benchmarks}
    for entry in find_newest_good(folder, frozenset(query.devices)):
        title = f"{entry.model}/{entry.identifier}"
        if title not in missing or (entry.verdict is not None) is not query.pairs:
            continue
        missing.discard(title)
        try:
            result = load_result(folder / entry.path)
        except EnvironmentProblem:  # whoever reads it for its figures says what is wrong
            continue
        seconds = measured_duration_s(result, pairs=query.pairs)
        if seconds is not None and result.benchmark.digest in query.benchmarks:
            found[result.benchmark.digest] = seconds
        if not missing:
            break
    return found
