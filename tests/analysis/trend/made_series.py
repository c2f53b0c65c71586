"""Series made to say what a test wants, of noise that was recorded, simulated or none."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.analysis.compare.scale import PredictableScale
from harness.core.trend import Point, Series, SeriesKey
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import Array

KEY = SeriesKey(benchmark="mobilenet", device="pixel", metric="NET latency")
PAIRS = 10


def paired(figures: Array) -> Array:
    """ln(first / second) of the lower quartiles of neighbouring launches: shape (launches / 2,)."""
    quartiles = np.log(figures[:, 1])
    return np.asarray(quartiles[0::2] - quartiles[1::2])


def recorded_noise() -> Array:
    """Log ratios of pairs of equal builds."""
    return paired(recorded(0).figures())


def tossed(noise: Array, chance: np.random.Generator, pairs: int) -> Array:
    """Successive pairs, each in the order that a coin says."""
    start = chance.integers(0, noise.size - pairs + 1)
    return np.asarray(noise[start : start + pairs] * chance.choice([-1.0, 1.0], pairs))


def point(order: int, log_ratios: Sequence[float], *, control_order: int = 0) -> Point:
    """The point of these pairs."""
    scale = PredictableScale()
    for ratio in log_ratios:
        scale.add(ratio)
    return Point(
        commit=f"c{order}",
        order=order,
        control=f"c{control_order}",
        control_order=control_order,
        difference=float(np.median(log_ratios)),
        error=math.sqrt(math.pi / 2) * scale.next() / math.sqrt(len(log_ratios)),
        pairs=len(log_ratios),
    )


def series(points: Sequence[Point], *, higher_is_better: bool = False) -> Series:
    """A series of them."""
    return Series(key=KEY, higher_is_better=higher_is_better, points=tuple(points))


def noisy_points(levels: Sequence[float], noise: Array, chance: np.random.Generator, pairs: int = PAIRS) -> list[Point]:
    """Commits 1, 2, ... at these log ratios to commit 0, with noise."""
    return [
        point(order, (level + tossed(noise, chance, pairs)).tolist()) for order, level in enumerate(levels, start=1)
    ]


def clear_points(
    levels: Sequence[float], *, control_order: int = 0, first: int = 1, error: float = 0.002
) -> list[Point]:
    """Commits at these log ratios to the control, with noise that is the same in every test: a tenth of the error."""
    return [
        Point(
            commit=f"c{order}",
            order=order,
            control=f"c{control_order}",
            control_order=control_order,
            difference=level + 0.1 * error * math.cos(2.4 * order),
            error=error,
            pairs=PAIRS,
        )
        for order, level in enumerate(levels, start=first)
    ]
