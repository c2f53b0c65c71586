"""Levels of a series of costs in measured order: where it becomes worse or better and stays so, beyond its noise.

A series is divided into blocks of equal size, of which the medians count: a spike moves no median. A level change is
the split into two parts, or the stretch within, in which the ranks of the medians differ most from the rest
(Pettitt, Applied Statistics 28, 1979, with each sum of ranks divided by its standard deviation; for stretches Olshen et
al., Biostatistics 5, 2004). Where nothing changes, blocks are exchangeable and every order of ranks is equally likely,
whatever their distribution: `_CRITICAL` has the quantiles of the largest sum, from 100,000 and more random orders each.
Splits have 0.8 % and stretches 0.2 %, so that a steady series has a change, for the better or worse, in 1 % of cases;
each part of a long series that is looked at too adds as much.

Noise that depends on the noise before is not exchangeable. So a change also has to be larger than `MARGIN`, and than
4.5 times its standard error, computed from the rest of the noise and its correlation from block to block (as of a
first-order autoregression: Priestley, Spectral Analysis and Time Series, 1981, section 5.3).

Below ten values no order is rare enough. Then only a gap counts: two or more values, all worse by a quarter or more
than all values before, and apart from them by twice what either of both groups spreads.

`tests/analysis/test_level_changes.py` simulates how often that errs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from msgspec import Struct

from harness.core.order_statistics import median, median_deviation

MARGIN: Final = math.log(1.05)
"""Smallest difference of levels, as a log ratio: what a reader would act on (`harness.analysis.quality`)."""

FEWEST: Final = 5
"""Values from which on a gap can be seen, with two on either side and no chance of one in ten."""

_CRITICAL: Final = {
    10: (2.7246, math.inf),
    12: (2.9058, math.inf),
    16: (3.0155, 3.4573),
    24: (3.1656, 3.7714),
    32: (3.2425, 3.9359),
    64: (3.4049, 4.2632),
}
"""Quantiles of the largest standardised sum of ranks by the number of blocks: of splits, and of stretches. Sums are
discrete: each lies between two. No stretch of ten or twelve blocks is rare enough."""

_SHORTEST: Final = 3
"""Blocks on either side of a change, so that one alone shows nothing."""
_STANDARD_ERRORS: Final = 4.5
_OF_MEDIAN: Final = 1.2533
"""Standard error of the median of normal values, relative to that of the mean."""
_GAP: Final = math.log(1.25)
_GAP_SPREADS: Final = 2.0
_MOST_IN_GAPS: Final = 64
"""Values up to which gaps are looked for: of more, ranks show as much."""
_WINDOWS: Final = ((0.0, 0.5), (0.25, 0.75), (0.5, 1.0))
"""Parts of a series that are looked at where the whole shows no change: several that are about as large hide each other
(seeded binary segmentation: Kovács et al., Biometrika 110, 2023)."""
_FEWEST_IN_WHOLE: Final = 1024
_EARLY: Final = (0.0, 0.125)
_FEWEST_FOR_EARLY: Final = 4096
"""From so many values on, the first eighth is looked at too: blocks of the whole are too large for it."""
_DEEPEST: Final = 4


class Level(Struct, frozen=True):
    """Stretch of a series without a change.

    Attributes:
        start: Place of its first value.
        end: Place after its last.
        cost: Median of its values.
    """

    start: int
    end: int
    cost: float


def find_levels(costs: Sequence[float], margin: float = MARGIN) -> tuple[Level, ...]:
    """Return the levels of a series in order, which cover it; a single one where nothing changes.

    Args:
        costs: Logarithms of at least one figure in measured order, more is worse.
        margin: Smallest difference of neighbouring levels.
    """
    ends = sorted({0, len(costs), *_find_changes(costs, 0, margin, 0)})
    levels = [_level(costs, start, end) for start, end in pairwise(ends)]
    while len(levels) > 1:
        steps = [abs(after.cost - before.cost) for before, after in pairwise(levels)]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] >= margin:
            break
        levels[smallest : smallest + 2] = [_level(costs, levels[smallest].start, levels[smallest + 1].end)]
    return tuple(levels)


def _level(costs: Sequence[float], start: int, end: int) -> Level:
    return Level(start, end, median(costs[start:end]))


def _find_changes(costs: Sequence[float], offset: int, margin: float, depth: int) -> Iterator[int]:
    """Yield the places of changes in a part of a series, and in the parts between them."""
    change = _find_change_anywhere(costs, margin)
    if change is None or depth == _DEEPEST:
        return
    ends = sorted({0, len(costs), *change})
    yield from (offset + end for end in ends[1:-1])
    for start, end in pairwise(ends):
        yield from _find_changes(costs[start:end], offset + start, margin, depth + 1)


def _find_change_anywhere(costs: Sequence[float], margin: float) -> tuple[int, ...] | None:
    """Return the places of a change of a series, else of a part of it; None where nothing changes."""
    change = _find_change(costs, margin)
    windows: tuple[tuple[float, float], ...] = _WINDOWS if len(costs) >= _FEWEST_IN_WHOLE else ()
    windows += (_EARLY,) if len(costs) >= _FEWEST_FOR_EARLY else ()
    for low, high in windows:
        if change is not None:
            break
        start, end = int(low * len(costs)), int(high * len(costs))
        part = _find_change(costs[start:end], margin)
        change = None if part is None else tuple(start + place for place in part)
    return change


def _find_change(costs: Sequence[float], margin: float) -> tuple[int, ...] | None:
    """Return the places, one or two, at which a series changes most; None where it does not."""
    count = max((size for size in _CRITICAL if size <= len(costs)), default=0)
    change = _find_ranked_change(costs, count, margin) if count else None
    if change is None and FEWEST <= len(costs) <= _MOST_IN_GAPS:
        gap = _find_gap(costs)
        return None if gap is None else (gap,)
    return change


def _find_ranked_change(costs: Sequence[float], count: int, margin: float) -> tuple[int, ...] | None:
    bounds = [place * len(costs) // count for place in range(count + 1)]
    blocks = [median(costs[start:end]) for start, end in pairwise(bounds)]
    start, end, ratio = _find_extreme_stretch(_rank(blocks))
    if ratio < 1:
        return None
    inside, outside = blocks[start:end], blocks[:start] + blocks[end:]
    level, rest = median(inside), median(outside)
    residuals = [cost - (level if start <= place < end else rest) for place, cost in enumerate(blocks)]
    error = _compute_error(residuals, len(inside), len(outside))
    if abs(level - rest) < max(margin, _STANDARD_ERRORS * error):
        return None
    reach = max(1, _SHORTEST * len(costs) // count)
    places = [_place_exactly(costs, bounds[edge], reach, rest, level) for edge in (start,) if edge]
    places += [_place_exactly(costs, bounds[edge], reach, level, rest) for edge in (end,) if edge < count]
    return tuple(places)


def _rank(values: Sequence[float]) -> list[float]:
    """Return the rank of each value less their mean; equal values share theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, start = [0.0] * len(values), 0
    for end in range(1, len(order) + 1):
        if end == len(order) or values[order[end]] != values[order[start]]:
            for place in order[start:end]:
                ranks[place] = (start + end - len(values)) / 2
            start = end
    return ranks


def _find_extreme_stretch(ranks: Sequence[float]) -> tuple[int, int, float]:
    """Return start and end of the most unusual stretch, and its sum of ranks relative to the critical one."""
    count = len(ranks)
    scale = math.sqrt(sum(rank * rank for rank in ranks) / count)
    if scale == 0:
        return 0, count, 0.0
    sums = [0.0, *accumulate(ranks)]
    of_splits, of_stretches = _CRITICAL[count]
    best = (0, count, 0.0)
    for start in range(count - _SHORTEST + 1):
        for end in range(start + _SHORTEST, min(count, start + count - _SHORTEST) + 1):
            if start and end == count:
                continue  # the split before it is the same
            width = end - start
            size = abs(sums[end] - sums[start]) / (scale * math.sqrt(width * (count - width) / count))
            ratio = size / (of_stretches if start else of_splits)
            if ratio > best[2]:
                best = (start, end, ratio)
    return best


def _compute_error(residuals: Sequence[float], inside: int, outside: int) -> float:
    """Return the standard error of the difference of two levels, from what is left of the noise of the blocks."""
    count = len(residuals)
    deviation = 1.4826 * median_deviation(sorted(residuals)) * count / (count - 2)
    ranks = _rank(residuals)
    squares = sum(rank * rank for rank in ranks)
    correlation = sum(before * after for before, after in pairwise(ranks)) / squares if squares else 0.0
    correlation += (1 + 4 * correlation) / count  # it is too low by that in short series (Marriott and Pope, 1954)
    correlation = min(max(correlation, 0.0), 0.95)
    return deviation * _OF_MEDIAN * math.sqrt((1 + correlation) / (1 - correlation) * (1 / inside + 1 / outside))


def _place_exactly(costs: Sequence[float], place: int, reach: int, before: float, after: float) -> int:
    """Return the place within reach at which a series best changes from one level to another, by least deviations."""
    start, end = max(1, place - reach), min(len(costs) - 1, place + reach)
    gains = [abs(cost - after) - abs(cost - before) for cost in costs[start:end]]
    totals = [0.0, *accumulate(gains)]
    return start + max(range(len(totals)), key=totals.__getitem__)


def _find_gap(costs: Sequence[float]) -> int | None:
    """Return the place from which on all values are much worse than all before it."""
    for place in range(2, len(costs) - 1):
        early, late = costs[:place], costs[place:]
        gap = min(late) - max(early)
        if gap >= max(_GAP, _GAP_SPREADS * max(max(early) - min(early), max(late) - min(late))):
            return place
    return None
