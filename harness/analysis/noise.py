"""Variation of the samples of a metric: within a launch, between launches, and from beginning to end of a launch."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from harness.core.metric import Direction, Metric

_SMALLEST_THIRD = 3
"""Samples that a third of a launch needs for a meaningful median."""

Samples = NDArray[np.float64]


def by_launch(metric: Metric) -> tuple[Samples, ...]:
    """Return the samples of each launch that has any, in order."""
    samples, launches = np.asarray(metric.samples, dtype=np.float64), np.asarray(metric.launches)
    return tuple(samples[launches == launch] for launch in dict.fromkeys(metric.launches))


def spread(samples: Samples) -> float:
    """Return the robust relative spread: 1.4826 MAD / |median|, for normal samples the coefficient of variation.

    Half of the samples may be anything without moving it far (Rousseeuw and Croux, JASA 88, 1993).
    """
    median = float(np.median(samples))
    return _relative(1.4826 * float(np.median(np.abs(samples - median))), median)


def within_launches(metric: Metric) -> float:
    """Return the spread of the iterations, in the median of the launches; 0 where no launch has three samples."""
    spreads = [spread(samples) for samples in by_launch(metric) if samples.size >= _SMALLEST_THIRD]
    if spreads:
        return float(np.median(spreads))
    deviation, median = metric.summary.get("MAD"), metric.summary.get("p50")
    if metric.samples or deviation is None or median is None:
        return 0.0
    return _relative(1.4826 * deviation, median)


def between_launches(metric: Metric) -> float:
    """Return the distance of the largest from the smallest launch median, relative to their median; 0 for one launch.

    The range grows with the number of launches by chance alone, so of ten and more the outer tenths are left out.
    """
    medians = sorted(float(np.median(samples)) for samples in by_launch(metric))
    if len(medians) < 2:
        return 0.0
    outer = len(medians) // 10
    return _relative(medians[-1 - outer] - medians[outer], float(np.median(medians)))


def trend(metric: Metric) -> float:
    """Return how much slower launches begin than they end: 0.1 is 10 % slower, -0.1 is 10 % faster, 0 is steady.

    Three quarters of the launches must agree, each by more than the spread of its last third.
    """
    changes = [_change(samples) for samples in by_launch(metric) if samples.size >= 3 * _SMALLEST_THIRD]
    if not changes:
        return 0.0
    low, high = np.percentile(changes, [25, 75])
    change = float(max(low, 0.0) + min(high, 0.0))
    return -change if metric.direction is Direction.HIGHER else change


def _change(samples: Samples) -> float:
    third = samples.size // 3
    first, last = samples[:third], samples[-third:]
    end = float(np.median(last))
    change = (float(np.median(first)) - end) / abs(end) if end else 0.0
    return change if abs(change) > spread(last) else 0.0


def _relative(deviation: float, center: float) -> float:
    if deviation == 0:
        return 0.0
    ratio = deviation / abs(center) if center else math.inf
    return math.inf if math.isnan(ratio) else ratio  # beyond the range of doubles: as noisy as can be
