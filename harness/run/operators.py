"""What one launch says about its operators."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from harness.core.metric import Observation, convert


def operator_medians(observations: Iterable[Observation]) -> dict[str, float]:
    """The median of each operator by name, in microseconds, in the order in which they were told.

    A program that summarised its samples itself told the median as `p50`.
    """
    found: dict[str, float] = {}
    for one in observations:
        median = statistics.median(one.samples) if one.samples else (one.summary or {}).get("p50")
        microseconds = None if median is None else convert(median, one.unit, "us")
        if one.of_operator and microseconds is not None:
            found[one.type] = microseconds
    return found
