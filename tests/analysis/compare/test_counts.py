"""Counts that never vary are compared exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from harness.analysis.compare.counts import CountTest
from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.recompute import draw_conclusion
from harness.analysis.compare.statistics import launch_statistics
from harness.core.comparison import Pair, Parameters
from harness.core.metric import is_counted
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS


def counted(control: Sequence[float], treatment: Sequence[float], index: int = 0) -> Pair:
    """Return a pair of launches with these counts in their iterations."""
    return Pair(
        index=index,
        control_first=index % 2 == 0,
        control=launch_statistics(control),
        treatment=launch_statistics(treatment),
        control_launch=index,
        treatment_launch=index,
        seconds=1.0,
    )


def measure(
    control: float, treatment: float, parameters: Parameters = PARAMETERS, *, higher_is_better: bool = False
) -> SequentialTest:
    """Measure pairs of counts until there is a verdict."""
    test = SequentialTest(parameters, higher_is_better, exact=True)
    while test.verdict() is None:
        test.add(counted([control] * 7, [treatment] * 7, test.pairs))
    return test


def test_equal_counts_are_no_change_after_one_pair() -> None:
    conclusion = draw_conclusion(test := measure(123_456_789, 123_456_789))
    assert (test.pairs, conclusion.verdict) == (1, Verdict.NO_CHANGE)
    assert (conclusion.difference, conclusion.low, conclusion.high) == (0.0, 0.0, 0.0)
    assert conclusion.reason == "every launch of both sides counted 123,456,789"
    assert conclusion.notes == ()


@pytest.mark.parametrize(
    ("treatment", "higher_is_better", "verdict"),
    [
        (1_000_001, False, Verdict.REGRESSION),
        (999_999, False, Verdict.IMPROVEMENT),
        (999_999, True, Verdict.REGRESSION),
        (1_000_001, True, Verdict.IMPROVEMENT),
    ],
)
def test_a_difference_of_one_in_a_million_is_proven_by_four_pairs(
    treatment: float, higher_is_better: bool, verdict: Verdict
) -> None:
    conclusion = draw_conclusion(test := measure(1_000_000, treatment, higher_is_better=higher_is_better))
    assert (test.pairs, conclusion.verdict) == (4, verdict)
    assert conclusion.low == conclusion.high == pytest.approx(treatment / 1_000_000 - 1)
    assert "counted 1,000,000, and every one of the treatment" in conclusion.reason
    evidence = conclusion.evidence.regression if verdict is Verdict.REGRESSION else conclusion.evidence.improvement
    assert evidence == pytest.approx(4**4 / 2)


def test_a_gate_lets_fewer_counts_pass_after_one_pair() -> None:
    gate = PARAMETERS.model_copy(update={"gate": True})
    assert (measure(1000, 999, gate).decided, measure(1000, 999, gate).pairs) == (Verdict.NO_CHANGE, 1)
    assert measure(1000, 1001, gate).decided is Verdict.REGRESSION


def test_a_precision_that_is_asked_for_is_reached_at_once() -> None:
    assert measure(1000, 1000, PARAMETERS.model_copy(update={"precision": 1e-6})).pairs == 1


def test_counts_that_vary_are_estimated_like_times() -> None:
    chance = np.random.default_rng(5)
    test = SequentialTest(PARAMETERS, higher_is_better=False, exact=True)
    for index in range(40):
        first, second = chance.integers(99_000, 101_000, (2, 7)).tolist()
        test.add(counted(first, second, index))
    assert test.decided is Verdict.NO_CHANGE
    low, high = test.interval()
    assert low is not None
    assert high is not None
    assert low < 0 < high
    assert "reject" in test.reason()


def test_a_count_that_varies_later_keeps_its_verdict_and_gets_an_interval() -> None:
    test = measure(1000, 1001, PARAMETERS.model_copy(update={"alpha": 0.01}))
    for index in range(4, 12):
        test.add(counted([1000] * 7, [1001 + index % 2] * 7, index))
    assert test.verdict() is Verdict.REGRESSION
    low, high = test.interval()
    assert low != high


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
def test_counts_that_differ_between_launches_of_one_program_are_seldom_a_change(share: float) -> None:
    """The worst that can happen: constant in each launch, and one of two counts whatever the build."""
    chance, changes, trials = np.random.default_rng(8), 0, 4000
    for counts in 1000 + (chance.random((trials, 4, 2)) < share):
        test = CountTest(PARAMETERS, higher_is_better=False)
        for number, (control, treatment) in enumerate(counts.tolist()):
            test.add(counted([control], [treatment], number))
            if (verdict := test.verdict()) is not None:
                changes += verdict is Verdict.REGRESSION
                break
    assert changes <= trials * PARAMETERS.alpha


def test_evidence_of_equal_programs_is_expected_to_be_at_most_one() -> None:
    """Every possible course of two counts with equal chances, for one to four pairs."""
    for pairs in range(1, 5):
        total = 0.0
        for course in range(4**pairs):
            test = CountTest(PARAMETERS, higher_is_better=False)
            for number in range(pairs):
                sides = course >> (2 * number)
                test.add(counted([1000 + (sides & 1)], [1000 + (sides >> 1 & 1)], number))
            total += math.exp(test.log_regression)
        assert total / 4**pairs <= 1 + 1e-9


@pytest.mark.parametrize(
    ("name", "unit", "expected"),
    [
        ("NET instructions", "", True),
        ("NET peak memory", "bytes", True),
        ("NET top1", "", True),
        ("NET latency", "", False),
        ("NET latency", "us", False),
        ("NET tokens per second", "tokens/s", False),
        ("NET latency", "cycles", True),
    ],
)
def test_times_without_a_unit_are_no_counts(name: str, unit: str, *, expected: bool) -> None:
    assert is_counted(name, unit) is expected
