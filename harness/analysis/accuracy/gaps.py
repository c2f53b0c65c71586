"""Numeric gap between outputs: what one example adds to it, and the statistics over examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from harness.analysis.accuracy.arrays import Floats
from harness.analysis.accuracy.intervals import CONFIDENCE, Interval, mean_interval, median_interval, ratio_interval
from harness.core.evaluation import Statistic
from harness.core.metric import Direction

NO_DIFFERENCE: Final = "there is no difference"
ZERO_REFERENCE: Final = "the reference is zero everywhere"
NO_EXAMPLES: Final = "no example has finite outputs"
_OUT_OF_RANGE: Final = "it exceeds the range of 64-bit numbers"

Kind = tuple[str, str, Direction]
"""Name of a statistic, its unit and which way is better."""

LOWER, HIGHER = Direction.LOWER, Direction.HIGHER
_KINDS: Final[tuple[Kind, ...]] = (
    ("sqnr", "dB", HIGHER),
    ("sqnr_median", "dB", HIGHER),
    ("sqnr_worst", "dB", HIGHER),
    ("cosine_similarity", "", HIGHER),
    ("cosine_similarity_worst", "", HIGHER),
    ("relative_l2_error", "", LOWER),
    ("max_absolute_error", "", LOWER),
    ("mean_absolute_error", "", LOWER),
    ("max_relative_error", "", LOWER),
    ("l2_error", "", LOWER),
)


class ExampleGap(NamedTuple):
    """Sums over the elements of one example, from which every numeric statistic follows.

    Attributes:
        signal: Sum of squares of the reference.
        other: Sum of squares of the other side.
        noise: Sum of squares of the difference.
        surplus: Sum of squares of the other side minus that of the reference, without cancellation.
        absolute: Sum of absolute differences.
        elements: Number of elements.
        largest: Largest absolute difference.
        largest_relative: Largest absolute difference relative to the largest magnitude of the reference's output.
    """

    signal: float
    other: float
    noise: float
    surplus: float
    absolute: float
    elements: int
    largest: float
    largest_relative: float


def measure_gap(reference: Floats, other: Floats) -> ExampleGap:
    """Measure the gap of one output of one example; both are finite and of the same shape."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _sum_up(reference, other)


def _sum_up(reference: Floats, other: Floats) -> ExampleGap:
    errors = other - reference
    magnitudes = np.abs(errors)
    largest = float(magnitudes.max(initial=0.0))
    scale = float(np.abs(reference).max(initial=0.0))
    return ExampleGap(
        signal=float(np.square(reference).sum()),
        other=float(np.square(other).sum()),
        noise=float(np.square(errors).sum()),
        surplus=float((errors * (other + reference)).sum()),
        absolute=float(magnitudes.sum()),
        elements=errors.size,
        largest=largest,
        largest_relative=largest / scale if scale else (math.inf if largest else 0.0),
    )


def join_gaps(gaps: Sequence[ExampleGap]) -> ExampleGap:
    """Return the gap of several outputs of one example together, as if they were one long output.

    The largest relative difference stays relative to the output that it is in.
    """
    return ExampleGap(
        signal=sum(gap.signal for gap in gaps),
        other=sum(gap.other for gap in gaps),
        noise=sum(gap.noise for gap in gaps),
        surplus=sum(gap.surplus for gap in gaps),
        absolute=sum(gap.absolute for gap in gaps),
        elements=sum(gap.elements for gap in gaps),
        largest=max((gap.largest for gap in gaps), default=0.0),
        largest_relative=max((gap.largest_relative for gap in gaps), default=0.0),
    )


def gap_statistics(gaps: Sequence[ExampleGap]) -> tuple[Statistic, ...]:
    """Return the statistics over examples with finite outputs (docs/accuracy.md defines each)."""
    if not gaps:
        return tuple(build_statistic(kind, 0, None, None, NO_EXAMPLES) for kind in _KINDS)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return tuple(_compute(np.array(gaps, dtype=np.float64)))


def build_statistic(
    kind: Kind, examples: int, value: float | None, ends: Interval | None = None, reason: str | None = None
) -> Statistic:
    """Return a statistic; what is not finite becomes None, because results store finite numbers only."""
    name, unit, direction = kind
    return Statistic(
        name=name,
        unit=unit,
        direction=direction,
        value=_finite(value),
        low=_finite(ends and ends.low),
        high=_finite(ends and ends.high),
        confidence=CONFIDENCE,
        examples=examples,
        reason=reason,
    )


def cosine_shortfall(gap: ExampleGap) -> float:
    """Return 1 - cosine similarity, from 0 to 2, without cancellation.

    With |a - b|**2 = (|a| - |b|)**2 + 2 |a| |b| (1 - cos). Two outputs that are zero point the same way; a single one
    has no direction: its cosine counts as 0.
    """
    if not gap.signal or not gap.other:
        return 1.0 if gap.noise else 0.0
    norms = math.sqrt(gap.signal), math.sqrt(gap.other)
    radial = gap.surplus / sum(norms)
    return min(max((gap.noise - radial * radial) / (2 * norms[0] * norms[1]), 0.0), 2.0)


def _compute(table: Floats) -> Iterator[Statistic]:
    """Yield the statistics in the order of `_KINDS`, from one row of sums for each example."""
    signal, _, noise, _, absolute, elements, largest, relative = table.T
    ratio, ratio_ends = _ratio(float(noise.sum()), float(signal.sum())), ratio_interval(noise, signal)
    ranked = sorted(_decibels(_ratio(*sums)) for sums in zip(noise.tolist(), signal.tolist(), strict=True))
    shortfalls = np.array([cosine_shortfall(ExampleGap(*row)) for row in table.tolist()])
    norms, means = np.sqrt(noise), absolute / np.maximum(elements, 1)
    values: tuple[tuple[float, Interval | None], ...] = (
        (_decibels(ratio), ratio_ends and Interval(_decibels(ratio_ends.high), _decibels(ratio_ends.low))),
        (ranked[(len(ranked) - 1) // 2], median_interval(ranked)),
        (ranked[0], None),
        (1 - float(shortfalls.mean()), _cosine_ends(mean_interval(shortfalls))),
        (1 - float(shortfalls.max()), None),
        (math.sqrt(ratio), ratio_ends and Interval(math.sqrt(ratio_ends.low), math.sqrt(ratio_ends.high))),
        (float(largest.max()), None),
        (float(means.mean()), mean_interval(means)),
        (float(relative.max()), None),
        (float(norms.mean()), mean_interval(norms)),
    )
    for kind, (value, ends) in zip(_KINDS, values, strict=True):
        reason = None if math.isfinite(value) else _reason(signal, noise, value)
        yield build_statistic(kind, len(table), value, ends, reason)


def _reason(signal: Floats, noise: Floats, value: float) -> str:
    """Return why a statistic is not finite."""
    if not noise.any():
        return NO_DIFFERENCE
    if not signal.any():
        return ZERO_REFERENCE
    if ((signal == 0) & (noise > 0)).any():
        return f"{ZERO_REFERENCE} in at least one example"
    return "half of the examples show no difference" if value == math.inf and not noise.all() else _OUT_OF_RANGE


def _cosine_ends(ends: Interval | None) -> Interval | None:
    return ends and Interval(max(1 - ends.high, -1.0), 1 - ends.low)


def _ratio(noise: float, signal: float) -> float:
    """Return noise / signal; 0 where both are, and infinite for noise without a signal."""
    return noise / signal if signal else (math.inf if noise else 0.0)


def _decibels(ratio: float) -> float:
    """Return the signal-to-noise ratio of a ratio of noise to signal."""
    if not 0 < ratio < math.inf:
        return math.nan if math.isnan(ratio) else (-math.inf if ratio else math.inf)
    return -10 * math.log10(ratio)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
