"""Distributions of the samples of each launch, small enough to be kept for every result of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.core.metric import Metric
from harness.core.order_statistics import median_of_ordered, quantile

_POINTS: Final = 60
"""Most samples of one launch that are kept; more dots cannot be distinguished."""


class LaunchDistribution(Struct, frozen=True):
    """Samples of one launch.

    Attributes:
        launch: Index of the launch in its result.
        count: Number of samples.
        low: Smallest.
        p25: First quartile.
        median: Median.
        p75: Third quartile.
        high: Largest.
        points: Samples in measured order, each with its place in the launch from 0 to 1: all, or some with both
            extremes.
    """

    launch: int
    count: int
    low: float
    p25: float
    median: float
    p75: float
    high: float
    points: tuple[tuple[float, float], ...]


def describe_launches(metric: Metric) -> tuple[LaunchDistribution, ...]:
    """Describe the samples of each launch, in the order of the launches; nothing without samples."""
    samples: dict[int, list[float]] = {}
    for launch, value in zip(metric.launches, metric.samples, strict=False):
        if math.isfinite(value):
            samples.setdefault(launch, []).append(value)
    return tuple(_describe_launch(launch, values) for launch, values in samples.items())


def _describe_launch(launch: int, samples: Sequence[float]) -> LaunchDistribution:
    ordered = sorted(samples)
    return LaunchDistribution(
        launch=launch,
        count=len(samples),
        low=ordered[0],
        p25=quantile(ordered, 0.25),
        median=median_of_ordered(ordered),
        p75=quantile(ordered, 0.75),
        high=ordered[-1],
        points=_select_points(samples),
    )


def _select_points(samples: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Select samples at equal distances, and the extremes."""
    count = len(samples)
    stride = max(1, -(-count // _POINTS))
    extremes = (samples.index(min(samples)), samples.index(max(samples)))
    return tuple(((index + 0.5) / count, samples[index]) for index in sorted({*range(0, count, stride), *extremes}))
