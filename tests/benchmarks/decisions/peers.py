"""Decision rules of other tools on the same launches: each rule as its source has it, for one budget of launches.

What a rule gets are figures of launches in the order of time. Tools that pool iterations get launches here, which is
kinder to them: iterations of a launch are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import STATISTICS, Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.simulated_launches import Array, coin, pairs_of

Bools = NDArray[np.bool_]
Order = Callable[[np.random.Generator, int], Bools]
_QUARTILE, _MEDIAN, _MEAN = (STATISTICS.index(name) for name in ("p25", "median", "mean"))
_FAI_PEP_RUNS, _FAI_PEP_LATEST = 10, 2


@dataclass(frozen=True, slots=True)
class Rule:
    """Decision rule.

    Attributes:
        name: Whose it is.
        order: Which launches are the changed program's, of so many.
        test: Verdict, and how many launches it needed, from figures (launches, 5) and that order.
        budgets: Launches it gets, in budgets: more than one where a history is needed.
    """

    name: str
    order: Order
    test: Callable[[Array, Bools], tuple[Verdict, int]]
    budgets: int = 1


def blocked(_: np.random.Generator, launches: int) -> Bools:
    """All of the treatment, then all of the control: FAI-PEP's order, and how tools that compare two runs are used."""
    return np.asarray(np.arange(launches) < launches // 2)


def alternating(_: np.random.Generator, launches: int) -> Bools:
    """Control, treatment, control, treatment: Pinpoint's order."""
    return np.asarray(np.arange(launches) % 2 == 1)


def threshold(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
    """A fixed threshold of 5 % on the ratio of means (PyTorch's compiler dashboard)."""
    ratio = figures[treatment, _MEAN].mean() / figures[~treatment, _MEAN].mean()
    return _directed(abs(ratio - 1) > 0.05, ratio), len(figures)


def mann_whitney(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
    """Google Benchmark's compare.py -U: Mann-Whitney on the repetitions, 5 %."""
    treatment_figures, control_figures = figures[treatment, _MEAN], figures[~treatment, _MEAN]
    return _directed(
        float(stats.mannwhitneyu(treatment_figures, control_figures).pvalue) < 0.05,
        treatment_figures.mean() / control_figures.mean(),
    ), len(figures)


def pyperf(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
    """Pyperf's compare_to: Student's t test with equal variances, 95 %."""
    treatment_figures, control_figures = figures[treatment, _MEAN], figures[~treatment, _MEAN]
    return _directed(
        float(stats.ttest_ind(treatment_figures, control_figures).pvalue) < 0.05,
        treatment_figures.mean() / control_figures.mean(),
    ), len(figures)


def pinpoint(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
    """Chrome's Pinpoint: 10 attempts, doubled to 160; different once Kolmogorov-Smirnov or Mann-Whitney is at 1 %.

    Its table of p values above which it stops early with "same" is left out: that saves attempts and finds no more.
    """
    treatment_figures, control_figures = figures[treatment, _MEAN], figures[~treatment, _MEAN]
    attempts = 10
    while True:
        treatment_attempts, control_attempts = treatment_figures[:attempts], control_figures[:attempts]
        p = min(
            float(stats.ks_2samp(treatment_attempts, control_attempts, method="asymp").pvalue),
            float(stats.mannwhitneyu(treatment_attempts, control_attempts).pvalue),
        )
        if p <= 0.01 or 2 * attempts > min(160, len(treatment_figures)):
            return _directed(p <= 0.01, treatment_attempts.mean() / control_attempts.mean()), 2 * attempts
        attempts *= 2


def wilcoxon(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
    """The best of the simple rules: Wilcoxon's signed-rank test of pairs that a coin ordered, once, 1 % each way."""
    treatment_figures, control_figures = figures[treatment, _QUARTILE], figures[~treatment, _QUARTILE]
    ratios = np.log(treatment_figures / control_figures)
    return _directed(float(stats.wilcoxon(ratios).pvalue) < 0.02, float(np.exp(np.median(ratios)))), len(figures)


def fai_pep_order(_: np.random.Generator, launches: int) -> Bools:
    """Ten runs, the treatment's block before the control's in each; only in the last two is the treatment changed."""
    block = launches // (2 * _FAI_PEP_RUNS)
    index = np.arange(launches)
    return np.asarray((index // block % 2 == 0) & (index // (2 * block) >= _FAI_PEP_RUNS - _FAI_PEP_LATEST))


def fai_pep(figures: Array, _: Bools) -> tuple[Verdict, int]:
    """FAI-PEP's delay detector (`delay_detector.py`, `regression_detectors.py`), as it was meant.

    The differences of medians of the last two runs must each be above the 90th percentile of the "p90 differences"
    (treatment's p90 minus control's p10) of the eight runs before, plus a tenth of their range. Improvements are
    unknown to it.
    """
    runs = figures[:, _MEDIAN].reshape(_FAI_PEP_RUNS, 2, -1)
    middle = np.median(runs[:, 0], axis=1) - np.median(runs[:, 1], axis=1)
    widest = np.percentile(runs[:, 0], 90, axis=1) - np.percentile(runs[:, 1], 10, axis=1)
    earlier = np.sort(widest[:-_FAI_PEP_LATEST])
    limit = earlier[len(earlier) * 9 // 10] + int((earlier[-1] - earlier[0]) / 10)
    regressed = bool((middle[-_FAI_PEP_LATEST:] > limit).all())
    return (Verdict.REGRESSION if regressed else Verdict.NO_CHANGE), len(figures) * _FAI_PEP_LATEST // _FAI_PEP_RUNS


def harness_rule(alpha: float) -> Callable[[Array, Bools], tuple[Verdict, int]]:
    """This harness, at a level for each direction."""

    def test(figures: Array, treatment: Bools) -> tuple[Verdict, int]:
        return _until_verdict(figures, treatment, Parameters(seed=0, alpha=alpha, max_pairs=len(figures) // 2))

    return test


def _until_verdict(figures: Array, treatment: Bools, parameters: Parameters) -> tuple[Verdict, int]:
    test = SequentialTest(parameters, higher_is_better=False)
    for pair in pairs_of(figures, treatment):
        test.add(pair)
        if test.verdict() is not None:
            break
    return test.verdict() or Verdict.UNDECIDED, 2 * test.pairs


def _directed(different: bool, ratio: float) -> Verdict:
    if not different:
        return Verdict.NO_CHANGE
    return Verdict.REGRESSION if ratio > 1 else Verdict.IMPROVEMENT


OURS = Rule("harness, alpha 1 %", coin, harness_rule(0.01))
RULES = (
    OURS,
    Rule("harness, alpha 5 %", coin, harness_rule(0.05)),
    Rule("Wilcoxon, all pairs", coin, wilcoxon),
    Rule("fixed 5 % threshold", blocked, threshold),
    Rule("Mann-Whitney, blocked", blocked, mann_whitney),
    Rule("pyperf's t test, blocked", blocked, pyperf),
    Rule("Pinpoint, alternating", alternating, pinpoint),
    Rule("FAI-PEP's delay detector", fai_pep_order, fai_pep, budgets=5),
)
