"""Synthetic series with recorded, simulated or no noise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.analysis.compare.statistics import PredictableScale
from harness.core.comparison import ESTIMATED_STATISTIC
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.series import FigureEffect, Series, SeriesKey, SeriesPoint
from harness.core.verdict import Verdict
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import Array

KEY = SeriesKey(benchmark="mobilenet", device="pixel", metric="NET latency")
PAIRS = 10


def paired(figures: Array) -> Array:
    """Return ln(first / second) of the lower quartiles of neighbouring launches: shape (launches / 2,)."""
    quartiles = np.log(figures[:, 1])
    return np.asarray(quartiles[0::2] - quartiles[1::2])


def paired_figures(figures: Array) -> Array:
    """Return ln(first / second) of the five figures of neighbouring launches: shape (launches / 2, 5)."""
    logs = np.log(figures)
    return np.asarray(logs[0::2] - logs[1::2])


def recorded_noise() -> Array:
    """Return recorded log ratios of pairs of equal builds."""
    return paired(recorded(0).figures())


def tossed(noise: Array, chance: np.random.Generator, pairs: int) -> Array:
    """Return successive pairs, each in random order: of one figure, or of five in the second axis."""
    start = chance.integers(0, len(noise) - pairs + 1)
    sides = chance.choice([-1.0, 1.0], pairs)
    return np.asarray((noise[start : start + pairs].T * sides).T)


def made_point(
    order: int, log_ratio: float, error: float | None, *, control_order: int = 0, pairs: int = PAIRS
) -> SeriesPoint:
    """Return a point of commit `c<order>` against `c<control_order>`; without an error, of identical builds."""
    return SeriesPoint(
        benchmark=KEY.benchmark,
        title="mobilenet/quantised",
        device=KEY.device,
        metric=None if error is None else MetricInfo(name=KEY.metric),
        commit=f"c{order}",
        order=order,
        control=f"c{control_order}",
        control_order=control_order,
        effect=Effect(log_ratio=log_ratio),
        standard_error=error,
        pairs=pairs,
    )


def at_level(point: SeriesPoint, log_ratio: float) -> SeriesPoint:
    """Return the same point with another log ratio."""
    return point.model_copy(update={"effect": Effect(log_ratio=log_ratio)})


def log_ratio_of_point(point: SeriesPoint) -> float:
    assert point.effect is not None
    return point.effect.log_ratio


def point(order: int, log_ratios: Sequence[float], *, control_order: int = 0) -> SeriesPoint:
    """Return the point of some pairs."""
    scale = PredictableScale()
    for ratio in log_ratios:
        scale.add(ratio)
    error = math.sqrt(math.pi / 2) * scale.next() / math.sqrt(len(log_ratios))
    median = float(np.median(log_ratios))
    return made_point(order, median, error, control_order=control_order, pairs=len(log_ratios))


def figures_point(order: int, log_ratios: Array, *, verdict: Verdict = Verdict.UNDECIDED) -> SeriesPoint:
    """Return the point of some pairs with five figures each: shape (pairs, 5)."""
    figures = []
    for column in log_ratios.T.tolist():
        single = point(order, column)
        figures.append(FigureEffect(log_ratio=log_ratio_of_point(single), standard_error=single.standard_error))
    quartile = figures[ESTIMATED_STATISTIC]
    made = made_point(order, quartile.log_ratio, quartile.standard_error, pairs=len(log_ratios))
    return made.model_copy(update={"figures": tuple(figures), "verdict": verdict})


def series(points: Sequence[SeriesPoint], *, higher_is_better: bool = False) -> Series:
    """Return the series of some points."""
    gain = MetricInfo(name=KEY.metric, direction=Direction.HIGHER)
    if higher_is_better:
        points = [point.model_copy(update={"metric": gain}) if point.metric else point for point in points]
    return Series(key=KEY, points=tuple(points))


def noisy_points(
    levels: Sequence[float], noise: Array, chance: np.random.Generator, pairs: int = PAIRS
) -> list[SeriesPoint]:
    """Return points of commits 1, 2, ... with given log ratios to commit 0, with noise."""
    return [
        point(order, (level + tossed(noise, chance, pairs)).tolist()) for order, level in enumerate(levels, start=1)
    ]


def clear_points(
    levels: Sequence[float], *, control_order: int = 0, first: int = 1, error: float = 0.002
) -> list[SeriesPoint]:
    """Return points with given log ratios to the control, with reproducible noise of a tenth of the error."""
    return [
        made_point(order, level + 0.1 * error * math.cos(2.4 * order), error, control_order=control_order)
        for order, level in enumerate(levels, start=first)
    ]
