"""Sensitivity of comparisons, from recorded pairs of equal builds: false alarms, the smallest change, their cost.

Three kinds of samples, none of which assumes anything about the noise:

- *stretches*: the recorded pairs, one comparison after the other. Each is a real comparison with the sides as they
  were; but five minutes hold few of them.
- *relabelled* samples: a run of neighbouring pairs from a random place, in its order, in which the coin decides again
  which launch is the control's. This shows what the noise of the machine does to the decision, not whether the two
  sides differ systematically.
- samples with an *imposed* change: the same, with every figure of the treatment multiplied. The decision is the one of
  `harness compare`, up to its budget, with everything in it that may stop early.

Samples overlap where the recording is not much longer than the budget; so figures describe the minutes that were
recorded, and their intervals say only how many samples were drawn.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.evidence import fewest_pairs
from harness.analysis.compare.final_test import level_on_the_way
from harness.analysis.compare.recompute import replay
from harness.analysis.compare.slot import side_of
from harness.analysis.compare.statistics import log_ratios, median_deviation
from harness.core.comparison import ESTIMATED_STATISTIC, Comparison, Pair, Parameters
from harness.core.effect import relative_change
from harness.core.metric import is_counted
from harness.core.self_check import BenchmarkCheck, Rate, VerdictCost
from harness.core.verdict import Verdict

FEWEST_PAIRS: Final = 20
"""Recorded pairs below which nothing is estimated: their scale alone is uncertain by a sixth."""

SHARES: Final = (0.8, 0.9, 0.95)
"""Shares of comparisons that find the smallest change."""

_SHOWN_CHANGE: Final = 0.02
"""Change whose cost is reported."""

_CHANGES: Final = tuple(0.002 * 1.1**step for step in range(66))
"""Changes that are tried, from 0.2 % to about 100 %."""


_RESOLUTION: Final = 1e-9
"""Of the ends of an interval of a rate."""


class Recording(Struct, frozen=True):
    """Pairs of equal builds, and how they are decided.

    Attributes:
        pairs: The pairs, in measured order.
        parameters: How to decide; the budget in pairs is that of the comparisons that are asked about.
        higher_is_better: Whether larger values are better.
        exact: Whether the metric is counted.
    """

    pairs: Sequence[Pair]
    parameters: Parameters
    higher_is_better: bool = False
    exact: bool = False

    def decide(self, pairs: Sequence[Pair]) -> SequentialTest:
        """Return the test of pairs, as far as it wants them."""
        test = SequentialTest(self.parameters, self.higher_is_better, exact=self.exact)
        for pair in pairs:
            test.add(pair)
            if test.verdict() is not None:
                break
        return test

    def resample(self, source: random.Random) -> list[Pair]:
        """Return as many neighbouring pairs as the budget allows, from a random place, with sides tossed again.

        Behind the last pair comes the first one.
        """
        start, count = source.randrange(len(self.pairs)), len(self.pairs)
        return [
            _toss_again(self.pairs[(start + step) % count], control_first=source.random() < 0.5)
            for step in range(self.parameters.max_pairs)
        ]

    def impose(self, pairs: Sequence[Pair], change: float) -> list[Pair]:
        """Return the pairs with a treatment that is worse by a relative change."""
        factor = 1 / (1 + change) if self.higher_is_better else 1 + change
        return [
            pair.model_copy(update={"treatment": tuple(factor * figure for figure in pair.treatment)}) for pair in pairs
        ]


def check_benchmark(comparison: Comparison, *, title: str, digest: str, trials: int, seed: int = 0) -> BenchmarkCheck:
    """Return what a recorded comparison of equal builds shows about other comparisons.

    Args:
        comparison: Equal builds, measured beyond their verdict.
        title: The benchmark.
        digest: Its digest.
        trials: Number of samples for each estimate.
        seed: Of the samples.
    """
    parameters = comparison.parameters.model_copy(
        update={"max_pairs": Parameters(seed=0).max_pairs, "max_seconds": None, "precision": None}
    )
    exact = is_counted(comparison.metric, comparison.unit)
    recording = Recording(comparison.pairs, parameters, comparison.higher_is_better, exact)
    pairs = comparison.pairs
    whole = replay(
        pairs, parameters.model_copy(update={"max_pairs": len(pairs) or 1}), comparison.higher_is_better, exact=exact
    )
    stretches = list(split(recording))
    check = BenchmarkCheck(
        title=title,
        digest=digest,
        metric=comparison.metric,
        pairs=len(pairs),
        seconds=math.fsum(pair.seconds for pair in pairs),
        budget=parameters.max_pairs,
        spread=_spread(pairs),
        slot_effect=_slot_effect(pairs),
        verdict=whole.decided or Verdict.UNDECIDED,
        evidence=max(whole.evidence().regression, whole.evidence().improvement),
        told_apart=rate_of(sum(verdict.is_change for verdict in stretches), len(stretches)),
    )
    if len(pairs) < FEWEST_PAIRS or comparison.is_exact:
        return check
    step = relative_change(whole.log_step) if math.isfinite(whole.log_step) else None
    source = random.Random(seed)  # noqa: S311 - samples, not secrets
    samples = [recording.resample(source) for _ in range(trials)]
    tests = [recording.decide(sample) for sample in samples]
    detectable = _detectable([_threshold(recording, sample) for sample in samples], step)
    smallest = detectable[str(0.9)]
    return check.model_copy(
        update={
            "relabelled": rate_of(sum(_is_change(test) for test in tests), trials),
            "detectable": detectable,
            "confirmed": None if smallest is None else _confirm(recording, smallest, trials, source),
            "clock_step": step,
            "costs": (
                _cost(recording, 0.0, Verdict.NO_CHANGE, tests),
                _cost(
                    recording,
                    _SHOWN_CHANGE,
                    Verdict.REGRESSION,
                    [recording.decide(recording.impose(sample, _SHOWN_CHANGE)) for sample in samples],
                ),
            ),
        }
    )


def split(recording: Recording) -> Iterator[Verdict]:
    """Yield the verdicts of the recorded pairs, one comparison after the other.

    The one that the end of the recording cuts short is undecided. Were it dropped, only verdicts that come early would
    count: of equal programs on a noisy machine those are the false ones. Fewer pairs than show a change are dropped.
    """
    test = SequentialTest(recording.parameters, recording.higher_is_better, exact=recording.exact)
    for pair in recording.pairs:
        test.add(pair)
        if (verdict := test.verdict()) is not None:
            yield verdict
            test = SequentialTest(recording.parameters, recording.higher_is_better, exact=recording.exact)
    if test.pairs >= fewest_pairs(level_on_the_way(recording.parameters.alpha)):
        yield Verdict.UNDECIDED


def rate_of(count: int, trials: int) -> Rate:
    """Return a rate with its exact 95 % interval (Clopper and Pearson, Biometrika 26, 1934)."""
    if not trials:
        return Rate(count=0, trials=0, low=0.0, high=1.0)
    low = _solve(lambda share: _at_least(count, trials, share), 0.025) if count else 0.0
    high = _solve(lambda share: _at_least(count + 1, trials, share), 0.975) if count < trials else 1.0
    return Rate(count=count, trials=trials, low=low, high=high)


def _at_least(count: int, trials: int, share: float) -> float:
    """Return the probability of at least so many successes."""
    terms = (
        math.lgamma(trials + 1)
        - math.lgamma(k + 1)
        - math.lgamma(trials - k + 1)
        + k * math.log(share)
        + (trials - k) * math.log1p(-share)
        for k in range(count, trials + 1)
    )
    return math.fsum(map(math.exp, terms))


def _solve(increasing: Callable[[float], float], value: float) -> float:
    """Return where an increasing function of a probability has a value, to nine digits."""
    low, high = 0.0, 1.0
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < value else (low, middle)
    return (low + high) / 2


def _toss_again(pair: Pair, *, control_first: bool) -> Pair:
    if control_first == pair.control_first:
        return pair
    return pair.model_copy(
        update={"control_first": control_first, "control": pair.treatment, "treatment": pair.control}
    )


def _threshold(recording: Recording, sample: Sequence[Pair]) -> float:
    """Return the smallest of the tried changes that a sample shows; infinite where it shows none.

    A larger change is shown wherever a smaller one is, up to what `no change` takes away below the margin.
    """

    def shows(change: float) -> bool:
        return recording.decide(recording.impose(sample, change)).decided is Verdict.REGRESSION

    place = bisect_left(_CHANGES, True, key=shows)
    return _CHANGES[place] if place < len(_CHANGES) else math.inf


def _detectable(thresholds: Sequence[float], step: float | None) -> dict[str, float | None]:
    """Return the change that is shown in each share of the samples: at least a step of the clock."""
    ordered = sorted(thresholds)
    changes = {share: ordered[math.ceil(share * len(ordered)) - 1] for share in SHARES}
    return {
        str(share): max(change, step) if step is not None and math.isfinite(change) else None
        for share, change in changes.items()
    }


def _confirm(recording: Recording, change: float, trials: int, source: random.Random) -> Rate:
    samples = (recording.impose(recording.resample(source), change) for _ in range(trials))
    return rate_of(sum(recording.decide(sample).decided is Verdict.REGRESSION for sample in samples), trials)


def _cost(recording: Recording, change: float, verdict: Verdict, tests: Sequence[SequentialTest]) -> VerdictCost:
    pairs = median(test.pairs for test in tests)
    seconds = median(pair.seconds for pair in recording.pairs)
    reached = sum(test.decided is verdict for test in tests)
    return VerdictCost(
        change=change, verdict=verdict, rate=rate_of(reached, len(tests)), pairs=pairs, seconds=pairs * seconds
    )


def _is_change(test: SequentialTest) -> bool:
    return test.decided is not None and test.decided.is_change


def _spread(pairs: Sequence[Pair]) -> float:
    ratios = sorted(log_ratios(pair)[ESTIMATED_STATISTIC] for pair in pairs)
    return 1.4826 * median_deviation(ratios) if ratios else 0.0


def _slot_effect(pairs: Sequence[Pair]) -> float:
    if not pairs:
        return 0.0
    return relative_change(median(side_of(pair) * log_ratios(pair)[ESTIMATED_STATISTIC] for pair in pairs))
