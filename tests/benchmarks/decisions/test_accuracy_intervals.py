"""Coverage of the intervals of an evaluation, beside that of the intervals that were not taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from harness.analysis.accuracy.distributions import student_quantile
from harness.analysis.accuracy.intervals import (
    Interval,
    mcnemar_p_value,
    mean_interval,
    median_interval,
    paired_difference_interval,
    proportion_interval,
    ratio_interval,
)
from tests.benchmarks.figures import claim

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
TRIALS = 3000
COUNTS = (5, 10, 30, 100, 300)
ERRORS: dict[str, tuple[Draw, float, float]] = {
    "normal, standard deviation 20 %": (lambda chance, n: chance.normal(5, 1, n), 5.0, 0.07),
    "lognormal, factor 1.6": (lambda chance, n: chance.lognormal(0, 0.5, n), math.exp(0.125), 0.08),
    "exponential": (lambda chance, n: chance.exponential(1, n), 1.0, 0.09),
    "lognormal, factor 2.7": (lambda chance, n: chance.lognormal(0, 1, n), math.exp(0.5), 0.14),
}
pytestmark = pytest.mark.benchmark


def misses(interval: Interval | None, truth: float) -> bool:
    return interval is None or not interval.low <= truth <= interval.high


def student(values: Array) -> Interval:
    half = student_quantile(0.95, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return Interval(float(values.mean() - half), float(values.mean() + half))


@pytest.mark.parametrize("kind", ERRORS)
def test_means_of_positive_errors(kind: str) -> None:
    draw, mean, limit = ERRORS[kind]
    rows = []
    for count in COUNTS:
        chance = np.random.default_rng(count)
        samples = [draw(chance, count) for _ in range(TRIALS)]
        ours, plain = (sum(misses(f(values), mean) for values in samples) / TRIALS for f in (mean_interval, student))
        rows.append((ours, plain))
    print(f"\n| {kind} | " + " | ".join(f"{100 * ours:.1f} ({100 * plain:.1f})" for ours, plain in rows) + " |")
    claim(f"intervals over ten examples or more that miss the mean, {kind}", max(ours for ours, _ in rows[1:]), limit)


@pytest.mark.parametrize("spread", [0.3, 0.6, 1.0])
def test_pooled_ratios(spread: float) -> None:
    truth = math.exp(0.5**2 / 2 - spread**2 / 2 - 0.25**2 / 2)
    shares, widths = [], []
    for count in COUNTS:
        chance, missed, halves = np.random.default_rng(count), 0, []
        for _ in range(TRIALS):
            signal = chance.lognormal(0, 0.5, count)
            interval = ratio_interval(signal, chance.lognormal(0, spread, count) * np.sqrt(signal))
            missed += misses(interval, truth)
            halves.append(0 if interval is None else 5 * math.log10(interval.high / interval.low))
        shares.append(missed / TRIALS)
        widths.append(float(np.median(halves)))
    figures = (f"{100 * share:.1f} (±{width:.1f} dB)" for share, width in zip(shares, widths, strict=True))
    print(f"\n| SQNR, errors within a factor {math.exp(spread):.1f} | " + " | ".join(figures) + " |")
    claim("intervals over ten examples or more that miss the SQNR", max(shares[1:]), 0.08 if spread < 1 else 0.12)


@pytest.mark.parametrize("count", [20, 100, 1000])
def test_proportions_near_one(count: int) -> None:
    """Exactly, over a grid of proportions: the worst coverage of Clopper and Pearson's interval, and of Wilson's."""
    z, worst = NormalDist().inv_cdf(0.975), [1.0, 1.0]
    ends = [proportion_interval(hits, count) for hits in range(count + 1)]
    for share in np.linspace(0.8, 0.9999, 400):
        weights = stats.binom.pmf(np.arange(count + 1), count, share)
        hits = np.arange(count + 1) / count
        center, root = (
            (hits + z * z / (2 * count)) / (1 + z * z / count),
            np.sqrt(hits * (1 - hits) / count + (z / (2 * count)) ** 2) * z / (1 + z * z / count),
        )
        exact = np.array([not misses(interval, share) for interval in ends])
        wilson = (center - root <= share) & (share <= center + root)
        worst = [min(worst[0], weights[exact].sum()), min(worst[1], weights[wilson].sum())]
    print(f"\n| {count} examples | worst coverage: Clopper and Pearson {worst[0]:.3f}, Wilson {worst[1]:.3f} |")
    claim("exact intervals that miss a proportion near one", 1 - worst[0], 0.05)


@pytest.mark.parametrize(("gained", "lost"), [(0.02, 0.02), (0.01, 0.04), (0.0, 0.02), (0.1, 0.15)])
@pytest.mark.parametrize("count", [50, 200, 1000])
def test_paired_differences(count: int, gained: float, lost: float) -> None:
    chance = np.random.default_rng(count)
    counts = chance.multinomial(count, [gained, lost, 1 - gained - lost], TRIALS)[:, :2].tolist()
    missed = sum(misses(paired_difference_interval(a, b, count), gained - lost) for a, b in counts) / TRIALS
    rejected = sum(mcnemar_p_value(a, b) <= 0.05 for a, b in counts) / TRIALS
    print(f"\n| {count} examples, {gained:.0%} gained, {lost:.0%} lost | missed {100 * missed:.1f} % | ", end="")
    print(f"McNemar's test rejects equality in {100 * rejected:.1f} % |")
    claim("intervals that miss the difference in accuracy", missed, 0.065)
    if gained == lost:
        claim("equal accuracies that the test calls unequal", rejected, 0.05)


@pytest.mark.parametrize("count", [6, 20, 100])
def test_medians(count: int) -> None:
    chance = np.random.default_rng(count)
    missed = sum(
        misses(median_interval(sorted(chance.exponential(1, count).tolist())), math.log(2)) for _ in range(TRIALS)
    )
    claim(f"intervals over {count} examples that miss the median", missed / TRIALS, 0.05)
