"""Points of a series from results, and standard errors of points that can be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.statistics import PRIOR_SCALE, PredictableScale, log_ratios
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Comparison
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.result import Result
from harness.core.series import FigureEffect, SeriesPoint

Array = NDArray[np.float64]

_OF_MEDIAN: Final = math.sqrt(math.pi / 2)
"""Standard error of a median of normal values, in those of a mean."""

_EXACT_ERROR: Final = 1e-6
"""Standard error of a difference between counts, which were compared exactly."""

_KNOWN: Final = 0.5
"""Standard error of what was not measured, in those of the other points: it is known, but one build is one build."""

_TRUSTED: Final = 8
"""Number of differences of neighbours that the stated errors count for."""


def series_point(
    result: Result, commit: str, order: int, *, control: str, control_order: int | None
) -> SeriesPoint | None:
    """Make the point that the result of a comparison adds to a series; None where nothing was compared.

    Programs that are the same bytes differ by nothing: that is a point at 0 without an error, of no metric.

    Args:
        result: Result of the treatment.
        commit: Id of the treatment's commit.
        order: Its place in the history.
        control: Id of the control's commit.
        control_order: Its place in the history, if it has one.

    Raises:
        ValueError: A pair does not have five finite statistics above zero on each side.
    """
    comparison, device = result.comparison, result.device
    if comparison is None or device is None or not (result.ok or comparison.identical):
        return None
    figures = _figures(comparison)
    direction = Direction.HIGHER if comparison.higher_is_better else Direction.LOWER
    measured = MetricInfo(name=comparison.metric, unit=comparison.unit, direction=direction)
    return SeriesPoint(
        benchmark=result.benchmark.digest,
        title=result.benchmark.title,
        device=device.identity,
        metric=None if comparison.identical else measured,
        commit=commit,
        order=order,
        control=control,
        control_order=control_order,
        verdict=comparison.effective_verdict,
        effect=_effect(comparison, figures),
        standard_error=figures[ESTIMATED_STATISTIC].standard_error if figures else None,
        pairs=len(comparison.pairs),
        result=result.uid,
        figures=figures,
    )


def _figures(comparison: Comparison) -> tuple[FigureEffect, ...]:
    """Return the median of the pairs in each of the five figures, with its standard error; empty without pairs."""
    if comparison.identical:
        return (FigureEffect(log_ratio=0.0),) * len(STATISTICS)
    scales = [PredictableScale() for _ in STATISTICS]
    for pair in comparison.pairs:
        for scale, ratio in zip(scales, log_ratios(pair), strict=True):
            scale.add(ratio)
    factor = _OF_MEDIAN / math.sqrt(max(1, len(comparison.pairs)))
    is_exact = comparison.low is not None and comparison.low == comparison.high
    medians = ((scale.median(), _EXACT_ERROR if is_exact else factor * scale.next()) for scale in scales)
    return tuple(
        FigureEffect(log_ratio=median, standard_error=error) for median, error in medians if median is not None
    )


def _effect(comparison: Comparison, figures: Sequence[FigureEffect]) -> Effect | None:
    """Return the difference that the comparison states; without pairs there is none."""
    if comparison.identical:
        return Effect(log_ratio=0.0, low_log_ratio=0.0, high_log_ratio=0.0)
    if not figures:
        return None
    return comparison.effect or Effect(log_ratio=figures[ESTIMATED_STATISTIC].log_ratio)


@dataclass(frozen=True, slots=True)
class PointLevel:
    """A point on the scale of a whole series, whatever control it was compared with.

    Attributes:
        commit: The commit.
        order: Its place in the history.
        level: Log ratio to the first control.
        error: Standard error as the comparison states it, as a log ratio; None for what was not measured: a control
            compared with itself, or programs that are the same bytes.
        pairs: How many pairs it comes from.
    """

    commit: str
    order: int
    level: float
    error: float | None = None
    pairs: int = 0


def standard_errors(samples: Sequence[PointLevel]) -> Array:
    """Estimate the standard errors of samples of one series: at least as large as neighbours seem to differ.

    The error that a comparison states of itself is drawn up to what is usual in the series, for a few pairs that happen
    to agree are not exact; and all of them are stretched when neighbours differ by more than they allow, which they do
    when two builds of the same code are not equally fast. The spread is that of first differences, in which a change of
    level counts once (von Neumann, Ann. Math. Statist. 12, 1941), by their median, in which it does not count at all.
    """
    pairs = np.array([sample.pairs or math.nan for sample in samples], dtype=np.float64)
    stated = np.array([sample.error or math.nan for sample in samples], dtype=np.float64)
    known = ~np.isnan(stated * pairs)
    usual = float(np.median((stated * np.sqrt(pairs))[known])) if known.any() else PRIOR_SCALE
    typical = float(np.nanmedian(stated)) if not np.isnan(stated).all() else PRIOR_SCALE
    pooled = np.where(known, usual / np.sqrt(np.where(known, pairs, 1.0)), typical)
    own = np.where(np.isnan(stated), _KNOWN * typical, np.fmax(stated, pooled))
    steps = np.diff([sample.level for sample in samples]) / np.hypot(own[1:], own[:-1])
    if not steps.size:
        return own
    spread = (float(np.median(np.abs(steps))) / 0.6745) ** 2
    return np.asarray(own * math.sqrt(max(1.0, (_TRUSTED + steps.size * spread) / (_TRUSTED + steps.size))))
