"""Medians with what is known about their precision, for results that a picture shows side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from harness.core.metric import Metric, main_metric
from harness.core.result import Result
from harness.core.rivals import group_rivals
from harness.presentation.distributions import LaunchDistribution
from harness.presentation.numbers import format_percent, format_quantity


class Estimate(Struct, frozen=True):
    """Median of a result.

    Attributes:
        result: The result.
        metric: Its main metric.
        median: Median, in the unit of the metric.
        low: Lower end of its interval; None where there is none.
        high: Upper end.
        basis: What the interval is: `95 % interval over launches` or `range over launches`; empty without one.
    """

    result: Result
    metric: Metric
    median: float
    low: float | None
    high: float | None
    basis: str

    @property
    def interval(self) -> str:
        """The interval in words; empty where there is none."""
        if self.low is None or self.high is None:
            return ""
        low, high = (format_quantity(end, self.metric.unit) for end in (self.low, self.high))
        return f"{low} … {high}"

    @property
    def words(self) -> str:
        """The median, and its interval in brackets."""
        text = format_quantity(self.median, self.metric.unit)
        return f"{text} ({self.interval})" if self.interval else text


def estimate(result: Result, launches: Sequence[LaunchDistribution]) -> Estimate | None:
    """Return the median of the metric that a result is about; None where it has none.

    Args:
        result: The result.
        launches: Samples of its main metric; their medians give a range where there are several launches and
            no interval, as in results of an older harness.
    """
    metric = main_metric(result.metrics)
    if not result.ok or metric is None or metric.median is None:
        return None
    if (interval := metric.interval) is not None:
        basis = f"{format_percent(interval.confidence)} interval over launches"
        return Estimate(result, metric, metric.median, interval.low, interval.high, basis)
    if len(launches) < 2:
        return Estimate(result, metric, metric.median, None, None, "")
    medians = [metric.median, *(launch.median for launch in launches)]
    return Estimate(result, metric, metric.median, min(medians), max(medians), "range over launches")


def group_estimates(
    results: Iterable[Result], launches: Mapping[str, Sequence[LaunchDistribution]]
) -> list[list[Estimate]]:
    """Group the estimates that may be compared: of the same work, in the same place, in the same unit.

    Args:
        results: In the order of measurement, which each group keeps.
        launches: Samples of each result's main metric, by its `uid`.

    Returns:
        Groups of two or more.
    """
    groups: list[list[Estimate]] = []
    for rivals in group_rivals(results):
        by_unit: dict[str, list[Estimate]] = {}
        for result in rivals:
            measured = estimate(result, launches.get(result.uid, ()))
            if measured is not None:
                by_unit.setdefault(measured.metric.unit, []).append(measured)
        groups += [group for group in by_unit.values() if len(group) > 1]
    return groups
