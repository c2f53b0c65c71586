"""Whether the samples of a figure from elsewhere move in one direction: a phone that becomes slower, or warms up.

It finds weaker signs than `harness.analysis.throttling`, which goes first, and errs more often.

The rule is an exact permutation test of a linear trend. Where nothing changed while a tool measured, its iterations are
exchangeable: every order of them is equally likely, whatever their distribution (Pitman, Supplement to JRSS 4, 1937;
Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed., 2005, section 3.6). The statistic is the sum
of the logarithms of times, minus those of rates, weighted by the place in the order; its p-value is the share of all
orders with at least as large a sum. Several metrics of the same iterations (a prefill rate beside a decode rate) are
added, since an order of iterations is one order of all of them: one test for each result, with nothing to correct for.

Five samples have 120 orders. Their ranks alone hardly show that a phone throttled after two of them: 12 of the orders
have these two first. The sizes of two metrics do: of 6.416, 6.21, 3.307, 2.749, 3.378 tokens/s with the prefill rates
of the same iterations 4 orders of 120 are as extreme (3.3 %). Beyond seven samples, seven blocks of equal size are
ordered instead of samples, by their means; samples that are left over at the end are not used.

A trend counts where it is unlikely and large: p at most 5 % for slower and 1 % for faster samples, and halves that
differ by a tenth; p at most 10 % where the second half is slower by half. Of those decode rates alone 7 orders of 120
are as extreme (5.8 %). So the notes are wrong for at most 6 % of files in which nothing changed, for at most 11 % of
those whose samples spread so much that their halves differ by half, and for nearly none whose samples spread by a few
percent. Neighbouring iterations that depend on each other are not exchangeable; for them the
tenth is what protects, and what is noted is true of the samples in any case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import Final

from msgspec import Struct

from harness.core.metric import Direction, Metric

SLOWER_LEVEL: Final = 0.05
FASTER_LEVEL: Final = 0.01
"""Four samples have 24 orders, and are never called faster; the first iterations of many tools are slow by design."""

LARGE_RATIO: Final = 1.5
LARGE_LEVEL: Final = 0.1
"""A file whose second half is so much slower misleads by its median, whatever made it so: an error costs little."""

SMALLEST_RATIO: Final = 1.1
"""Ratio of the halves: `harness.presentation.speeds` calls nothing faster below it either."""

_FEWEST: Final = 4
"""Samples from which on the rarest order has less than 5 %."""
_BLOCKS: Final = 7
"""5,040 orders take some milliseconds."""


class SampleDrift(Struct, frozen=True):
    """Movement of the samples of a metric.

    Attributes:
        slower: Whether they become slower, else faster.
        early: Geometric mean of the first half of what was ordered, in the unit of the metric.
        late: That of the second half.
        probability: Share of the orders that are at least as extreme.
        orders: Number of the orders.
    """

    slower: bool
    early: float
    late: float
    probability: float
    orders: int

    @property
    def change(self) -> float:
        """Relative change of the figure from the first half to the second: -0.5 is half of it."""
        return self.late / self.early - 1


def find_drift(main: Metric, others: Sequence[Metric], warmup: int = 0) -> SampleDrift | None:
    """Return how the samples of a metric move; None where they are steady, too few, or not all above zero.

    Args:
        main: The metric that the result is about: a time or rate.
        others: Other metrics of the result; those with as many samples are taken to come from the same iterations.
        warmup: Samples at the beginning that the file calls warm-up: slow ones show nothing, fast ones do.
    """
    metrics = [main, *(each for each in others if len(each.samples) == len(main.samples) and each.name != main.name)]
    usable = [each for each in metrics if each.is_timed and each.samples and min(each.samples) > 0]
    if not usable or usable[0] is not main:
        return None
    slower = _test(main, usable, 0, slower=True)
    return slower or _test(main, usable, warmup, slower=False)


def _test(main: Metric, metrics: Sequence[Metric], skipped: int, *, slower: bool) -> SampleDrift | None:
    logarithms = _average_blocks([math.log(sample) for sample in main.samples[skipped:]])
    half = len(logarithms) // 2
    if len(logarithms) < _FEWEST:
        return None
    early, late = (math.fsum(part) / half for part in (logarithms[:half], logarithms[-half:]))
    cost = (late - early) * _sign(main)
    if (cost if slower else -cost) < math.log(SMALLEST_RATIO):
        return None
    sums = [_average_blocks([_sign(each) * math.log(sample) for sample in each.samples[skipped:]]) for each in metrics]
    costs = [math.fsum(parts) * (1 if slower else -1) for parts in zip(*sums, strict=True)]
    probability, orders = compute_probability(costs)
    limit = (LARGE_LEVEL if cost >= math.log(LARGE_RATIO) else SLOWER_LEVEL) if slower else FASTER_LEVEL
    if probability > limit:
        return None
    return SampleDrift(slower, math.exp(early), math.exp(late), probability, orders)


def compute_probability(values: Sequence[float]) -> tuple[float, int]:
    """Return the share of all orders of some values that rise at least as much as this one, and their number.

    Args:
        values: At most eight; more have too many orders.
    """
    middle = (len(values) - 1) / 2
    weights = [place - middle for place in range(len(values))]
    observed = sum(weight * value for weight, value in zip(weights, values, strict=True))
    tolerance = 1e-12 * sum(map(abs, values))  # equal sums of the same terms differ in their last bits
    orders = math.factorial(len(values))
    extreme = sum(
        sum(weight * value for weight, value in zip(weights, order, strict=True)) >= observed - tolerance
        for order in permutations(values)
    )
    return extreme / orders, orders


def _average_blocks(values: Sequence[float]) -> Sequence[float]:
    """Return the means of seven blocks of equal size, or up to seven values as they are."""
    if len(values) <= _BLOCKS:
        return values
    size = len(values) // _BLOCKS
    return [math.fsum(values[place : place + size]) / size for place in range(0, size * _BLOCKS, size)]


def _sign(metric: Metric) -> int:
    return -1 if metric.direction is Direction.HIGHER else 1
