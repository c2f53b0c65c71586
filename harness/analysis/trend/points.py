"""From comparisons to points, and from points to standard errors that can be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.compare.scale import PRIOR_SCALE, PredictableScale
from harness.analysis.compare.statistics import log_ratios
from harness.core.comparison import STATISTICS, Comparison
from harness.core.trend import Point

Array = NDArray[np.float64]

_ESTIMATED: Final = STATISTICS.index("p25")
"""As a comparison estimates its difference."""

_OF_MEDIAN: Final = math.sqrt(math.pi / 2)
"""Standard error of a median of normal values, in those of a mean."""

_KNOWN: Final = 0.5
"""Standard error of what was not measured, in those of the other points: it is known, but one build is one build."""

_TRUSTED: Final = 8
"""How many differences of neighbours the stated errors count for."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A point on the scale of a whole series, whatever control it was held against.

    Attributes:
        commit: The commit.
        order: Its place in the history.
        level: Log ratio to the first control.
        error: Standard error as the comparison states it, as a log ratio; None for what was not measured: a control
            held against itself, or programs that are the same bytes.
        pairs: How many pairs it comes from.
    """

    commit: str
    order: int
    level: float
    error: float | None = None
    pairs: int = 0


def point_of(comparison: Comparison, commit: str, order: int, control_order: int) -> Point | None:
    """The point that a comparison adds to a series; None where nothing was measured.

    Programs that are the same bytes differ by nothing: that is a point at 0 without an error.

    Args:
        comparison: Of a commit with the control.
        commit: The treatment, as the history calls it.
        order: Its place in the history.
        control_order: The control's place in the history.

    Raises:
        ValueError: A pair does not have five finite statistics above zero on each side.
    """
    scale = PredictableScale()
    for pair in comparison.pairs:
        scale.add(log_ratios(pair)[_ESTIMATED])
    median = 0.0 if comparison.identical else scale.median()
    if median is None:
        return None
    pairs = len(comparison.pairs)
    return Point(
        commit=commit,
        order=order,
        control=comparison.control.commit,
        control_order=control_order,
        difference=median,
        error=_OF_MEDIAN * scale.next() / math.sqrt(pairs) if pairs else None,
        pairs=pairs,
        verdict=comparison.effective_verdict,
    )


def errors(samples: Sequence[Sample]) -> Array:
    """Standard errors of samples of one series, at least as large as neighbours seem to differ.

    What a comparison states of itself is drawn up to what is usual in the series, for a few pairs that happen to agree
    are not exact; and all of them are stretched when neighbours differ by more than they allow, which they do when two
    builds of the same code are not equally fast. The spread is that of first differences, in which a change of level
    counts once (von Neumann, Ann. Math. Statist. 12, 1941), by their median, in which it does not count at all.
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
    seen = (float(np.median(np.abs(steps))) / 0.6745) ** 2
    return np.asarray(own * math.sqrt(max(1.0, (_TRUSTED + steps.size * seen) / (_TRUSTED + steps.size))))
