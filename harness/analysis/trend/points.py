"""Points of a series from results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from harness.analysis.compare.statistics import PredictableScale, log_ratios
from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS, Comparison
from harness.core.device_doubt import last_good_checks
from harness.core.effect import Effect
from harness.core.metric import Direction, MetricInfo
from harness.core.result import Result
from harness.core.series import FigureEffect, SeriesPoint

_OF_MEDIAN: Final = math.sqrt(math.pi / 2)
"""Standard error of a median of normal values, in those of a mean."""

_EXACT_ERROR: Final = 1e-6
"""Standard error of a difference between counts, which were compared exactly."""


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
        outputs=comparison.outputs.verdict if comparison.outputs is not None else None,
        last_good_checks=last_good_checks(result),
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
    medians = ((scale.median(), _EXACT_ERROR if comparison.is_exact else factor * scale.next()) for scale in scales)
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
