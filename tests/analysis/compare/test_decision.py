from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.evidence import Floats
from harness.analysis.compare.inversion import Inversion
from harness.analysis.compare.recompute import draw_conclusion
from harness.core.comparison import STATISTICS, Pair, Parameters
from harness.core.levels import RESERVE
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, feed_pairs, flat, pair, swapped

NOISE = (0.004, -0.006, 0.001, 0.009, -0.003, -0.008, 0.002, 0.005, -0.001, -0.004)
ratios = st.tuples(*(st.floats(min_value=-0.1, max_value=0.1),) * len(STATISTICS))
measured = st.lists(ratios, min_size=1, max_size=25).map(
    lambda slots: [pair(slot, index=index) for index, slot in enumerate(slots)]
)
effects = st.sampled_from([-0.03, -0.005, 0.0, 0.005, 0.03])
some = settings(max_examples=50)


def noisy(effect: float, pairs: int = 100) -> list[Pair]:
    return flat(effect + NOISE[index % len(NOISE)] for index in range(pairs))


def until_verdict(
    pairs: list[Pair], parameters: Parameters = PARAMETERS, *, higher_is_better: bool = False
) -> SequentialTest:
    test = SequentialTest(parameters, higher_is_better)
    for measured_pair in pairs:
        test.add(measured_pair)
        if test.verdict() is not None:
            break
    return test


def without_slot_effect(series: Sequence[float], sides: Sequence[int]) -> list[float]:
    """Return the log ratios less what earlier pairs say of their order, computed as in the definition."""
    rest = []
    for index, (ratio, side) in enumerate(zip(series, sides, strict=True)):
        past = list(zip(series[:index], sides[:index], strict=True))
        second, first = ([earlier for earlier, order in past if order == sign] for sign in (1, -1))
        fewer = min(len(first), len(second))
        slot = 0.5 * (statistics.median(second) - statistics.median(first)) * (1 - 1 / fewer) if fewer else 0.0
        rest.append(ratio - side * slot)
    return rest


def e_process_by_definition(series: Sequence[float], sign: int, effect: float) -> list[float]:
    """Return the evidence after each pair, computed by products as in the definition."""
    products, evidence = dict.fromkeys((0.3, 0.8, 2.0), 1.0), []
    for index, ratio in enumerate(series):
        past = series[:index]
        center = statistics.median(past) if past else 0.0
        spread = 1.4826 * statistics.median([abs(value - center) for value in past]) if past else 0.0
        scale = (2 * 0.01 + index * spread) / (2 + index)
        z = max(-2.5, min(2.5, sign * (ratio - effect) / scale))
        products = {bet: product * math.exp(bet * z) / math.cosh(bet * z) for bet, product in products.items()}
        evidence.append(statistics.fmean(products.values()))
    return evidence


def test_the_evidence_matches_its_definition() -> None:
    chance = np.random.default_rng(7)
    series = 0.004 + 0.01 * chance.standard_t(3, (30, 5))
    pairs = [pair(row.tolist(), index=index) for index, row in enumerate(series)]
    evidence = feed_pairs(pairs).evidence()
    sides = [1 if measured_pair.control_first else -1 for measured_pair in pairs]
    every = [without_slot_effect(series[:, column].tolist(), sides) for column in range(5)]
    margin = math.log(1.01)

    def mean(columns: Sequence[Sequence[float]], sign: int, effect: float) -> list[float]:
        return [
            statistics.fmean(values)
            for values in zip(*(e_process_by_definition(c, sign, effect) for c in columns), strict=True)
        ]

    def largest(sign: int, effect: float) -> float:
        typical = max(1.0, *mean(every[:3], sign, effect))
        return min(typical, max(1.0, *mean(every[1:2], sign, effect)) / 12 * (1 / 0.034))

    assert evidence.regression == pytest.approx((1 - RESERVE) * mean(every, 1, 0.0)[-1])
    assert evidence.improvement == pytest.approx((1 - RESERVE) * mean(every, -1, 0.0)[-1])
    tolerance = 1e-4  # the evidence allows for the steps of the clock
    assert evidence.not_worse == pytest.approx(largest(-1, margin), rel=tolerance)
    assert evidence.not_better == pytest.approx(largest(1, -margin), rel=tolerance)
    assert evidence.tail == pytest.approx(max(1.0, *mean(every[4:], -1, math.log(1.05))), rel=tolerance)


@pytest.mark.parametrize(("alpha", "pairs"), [(0.05, 6), (0.01, 8)])
@pytest.mark.parametrize(("effect", "verdict"), [(0.5, Verdict.REGRESSION), (-0.5, Verdict.IMPROVEMENT)])
def test_a_clear_change_is_decided_after_the_fewest_possible_pairs(
    alpha: float, pairs: int, effect: float, verdict: Verdict
) -> None:
    test = until_verdict(flat([effect] * 20), Parameters(seed=1, alpha=alpha))
    assert (test.verdict(), test.pairs) == (verdict, pairs)
    assert f"{pairs} pairs" in test.reason()


def test_there_is_no_verdict_without_pairs() -> None:
    test = SequentialTest(PARAMETERS, higher_is_better=False)
    assert (test.verdict(), test.difference(), test.interval()) == (None, None, (None, None))
    assert test.evidence().regression == pytest.approx(1 - RESERVE)


def test_equal_builds_show_no_change() -> None:
    test = until_verdict(noisy(0.0))
    assert test.verdict() is Verdict.NO_CHANGE
    assert "worse or better by 1 %" in test.reason()


def test_identical_figures_show_no_change() -> None:
    assert until_verdict(flat([0.0] * 20)).verdict() is Verdict.NO_CHANGE


def test_a_slower_tail_is_not_called_no_change() -> None:
    tail = [
        pair((noise,) * 4 + (0.06 + noise,), index=index)
        for index, noise in enumerate(n for _ in range(9) for n in NOISE)
    ]
    assert until_verdict(tail).verdict() is Verdict.REGRESSION
    assert feed_pairs(tail).evidence().tail < 1 / PARAMETERS.beta


def test_equivalent_statistics_do_not_hide_one_that_changed() -> None:
    """Give only the control outliers, so that the means are equal and all other statistics are 4 % worse."""
    hidden = [
        pair((0.04 + noise, 0.04 + noise, 0.04 + noise, noise / 10, -0.2), index=index)
        for index, noise in enumerate(NOISE * 10)
    ]
    test = until_verdict(hidden)
    assert test.verdict() is Verdict.REGRESSION
    assert test.evidence().not_worse == 1.0


@pytest.mark.parametrize("figure", ["median", "mean"])
def test_one_changed_statistic_prevents_no_change_although_the_estimated_one_is_equivalent(figure: str) -> None:
    position = STATISTICS.index(figure)
    changed = [
        pair(tuple(noise / 20 + 0.04 * (place == position) for place in range(5)), index=index)
        for index, noise in enumerate(NOISE * 10)
    ]
    assert until_verdict(changed).verdict() is Verdict.REGRESSION
    short = until_verdict(changed, Parameters(seed=1, max_pairs=10))
    assert short.verdict() is Verdict.UNDECIDED
    assert "one of them by itself indicates one" in short.reason()
    assert "neither" not in short.reason()


def test_a_gate_is_not_delayed_by_improved_statistics() -> None:
    better = [
        pair(tuple(noise / 20 - 0.04 * (place == 3) for place in range(5)), index=index)
        for index, noise in enumerate(NOISE)
    ]
    assert until_verdict(better, Parameters(seed=1, gate=True)).verdict() is Verdict.NO_CHANGE


def test_a_change_seen_while_measuring_for_precision_replaces_no_change() -> None:
    later = noisy(0.0, 40) + noisy(0.008, 200)
    assert until_verdict(later).verdict() is Verdict.NO_CHANGE
    precise = until_verdict(later, Parameters(seed=1, precision=1e-5, max_pairs=240))
    assert precise.verdict() is Verdict.REGRESSION


def test_a_difference_that_changes_during_measurement_has_no_interval() -> None:
    moved = noisy(0.03, 20) + noisy(-0.03, 60)
    test = until_verdict(moved, Parameters(seed=1, precision=1e-9, max_pairs=80))
    assert (test.pairs, test.is_unsteady, test.interval()) == (80, True, (None, None))
    (note,) = [note for note in draw_conclusion(test).notes if note.code == "unsteady"]
    assert not note.trust
    assert not feed_pairs(noisy(0.03, 80)).is_unsteady


def test_without_pairs_no_coarse_clock_is_reported() -> None:
    assert draw_conclusion(SequentialTest(PARAMETERS, higher_is_better=False)).notes == ()


def test_a_change_as_large_as_the_margin_is_not_called_no_change() -> None:
    assert feed_pairs(noisy(math.log(1.01))).evidence().not_worse < 1 / PARAMETERS.beta


def test_a_gate_reports_an_improvement_as_no_change() -> None:
    gate = Parameters(seed=1, gate=True)
    assert until_verdict(noisy(-0.03)).verdict() is Verdict.IMPROVEMENT
    test = until_verdict(noisy(-0.03), gate)
    assert test.verdict() is Verdict.NO_CHANGE
    assert "better" not in test.reason()
    assert until_verdict(noisy(0.03), gate).verdict() is Verdict.REGRESSION


def test_an_exhausted_pair_budget_is_undecided_with_a_reason() -> None:
    test = until_verdict(noisy(0.007), Parameters(seed=1, max_pairs=9))
    assert (test.verdict(), test.pairs, test.is_budget_spent) == (Verdict.UNDECIDED, 9, True)
    assert "budget of 9 pairs is spent" in test.reason()


def test_a_budget_that_leaves_only_the_tail_open_says_so() -> None:
    """Its ratios are eight hundred times as noisy as those of the other statistics."""
    tail = [
        pair((noise / 20,) * 4 + (40 * noise,), index=index)
        for index, noise in enumerate(n for _ in range(3) for n in NOISE)
    ]
    test = until_verdict(tail, Parameters(seed=1, max_pairs=len(tail)))
    assert test.verdict() is Verdict.UNDECIDED
    open_part = "and rules out a change of 1 % or more, but not that the tail is worse by 5 % or more"
    assert test.reason() == f"the budget of {len(tail)} pairs is spent, {open_part}"


def test_an_exhausted_time_budget_is_undecided_with_a_reason() -> None:
    test = until_verdict(noisy(0.007), Parameters(seed=1, max_seconds=4.5))
    assert (test.verdict(), test.pairs) == (Verdict.UNDECIDED, 5)
    assert "budget of 4.5 s (5 pairs) is spent; 8 pairs are the fewest" in test.reason()


def test_measuring_continues_for_precision_after_the_verdict() -> None:
    precise = Parameters(seed=1, precision=0.004)
    first, test = until_verdict(noisy(0.03)), until_verdict(noisy(0.03), precise)
    assert first.pairs < test.pairs < 100
    assert test.verdict() is first.verdict() is Verdict.REGRESSION
    low, high = test.interval()
    assert low is not None
    assert high is not None
    assert high - low < 2 * 0.004
    assert f"{first.pairs} pairs" in test.reason()


def test_measuring_for_precision_ends_with_the_budget() -> None:
    test = until_verdict(noisy(0.03), Parameters(seed=1, precision=1e-5, max_pairs=30))
    assert (test.verdict(), test.pairs) == (Verdict.REGRESSION, 30)


@some
@given(measured, effects, st.booleans(), st.none() | st.just(0.01))
def test_a_verdict_never_changes(pairs: list[Pair], effect: float, gate: bool, precision: float | None) -> None:
    test = SequentialTest(Parameters(seed=1, alpha=0.2, beta=0.3, gate=gate, precision=precision, max_pairs=12), False)
    verdicts = []
    for measured_pair in pairs:
        moved = tuple(figure * math.exp(effect) for figure in measured_pair.treatment)
        test.add(measured_pair.model_copy(update={"treatment": moved}))
        verdicts.append(test.verdict())
    final = [verdict for verdict in verdicts if verdict is not None]
    assert len(set(final)) <= 1
    assert verdicts == [None] * (len(verdicts) - len(final)) + final


@some
@given(measured, st.integers(-300, 300))
def test_the_unit_does_not_affect_the_decision(pairs: list[Pair], power: int) -> None:
    scaled = rescaled(pairs, [power] * len(pairs))
    assert feed_pairs(scaled).evidence() == feed_pairs(pairs).evidence()
    assert feed_pairs(scaled).interval() == feed_pairs(pairs).interval()


@some
@given(measured, st.lists(st.integers(-300, 300), min_size=25, max_size=25))
def test_only_ratios_affect_the_decision(pairs: list[Pair], exponents: list[int]) -> None:
    original, scaled = feed_pairs(pairs), feed_pairs(rescaled(pairs, exponents))
    # What is stated lies within the interval, whose ends know the steps of the clock, and those are scaled too.
    assert scaled.difference() == pytest.approx(original.difference(), abs=1e-6)
    for direction in ("regression", "improvement"):
        assert getattr(scaled.evidence(), direction) == getattr(original.evidence(), direction)


def rescaled(pairs: list[Pair], exponents: list[int]) -> list[Pair]:
    """Return the pairs with the figures of each scaled by a power of two."""
    return [
        measured_pair.model_copy(
            update={
                "control": tuple(math.ldexp(figure, power) for figure in measured_pair.control),
                "treatment": tuple(math.ldexp(figure, power) for figure in measured_pair.treatment),
            }
        )
        for measured_pair, power in zip(pairs, exponents[: len(pairs)], strict=True)
    ]


@some
@given(measured)
def test_exchanging_the_builds_exchanges_the_evidence(pairs: list[Pair]) -> None:
    measured_pair, other = feed_pairs(pairs), feed_pairs(map(swapped, pairs))
    assert measured_pair.evidence().regression == pytest.approx(other.evidence().improvement)
    assert measured_pair.evidence().improvement == pytest.approx(other.evidence().regression)
    assert measured_pair.evidence().not_worse == pytest.approx(other.evidence().not_better)
    difference, mirrored = measured_pair.difference(), other.difference()
    assert difference is not None
    assert mirrored is not None
    assert (1 + difference) * (1 + mirrored) == pytest.approx(1.0)
    low, high = measured_pair.interval()
    below, above = other.interval()
    assert (low is None) == (above is None)
    if low is not None and above is not None:
        assert (1 + low) * (1 + above) == pytest.approx(1.0, abs=1e-5)
    assert (high is None) == (below is None)


@some
@given(measured)
def test_an_increase_is_an_improvement_where_higher_is_better(pairs: list[Pair]) -> None:
    rate, mirrored = feed_pairs(pairs, higher_is_better=True), feed_pairs(map(swapped, pairs))
    assert rate.evidence().model_dump() == pytest.approx(mirrored.evidence().model_dump())
    assert rate.difference() == pytest.approx(feed_pairs(pairs).difference())
    assert rate.interval() == pytest.approx(feed_pairs(pairs).interval())


@some
@given(measured, effects)
def test_reciprocals_of_costs_give_the_mirrored_decision(pairs: list[Pair], effect: float) -> None:
    moved = [
        measured_pair.model_copy(
            update={"treatment": tuple(figure * math.exp(effect) for figure in measured_pair.treatment)}
        )
        for measured_pair in pairs
    ]
    mirrored = [
        measured_pair.model_copy(
            update={
                "control": tuple(1 / figure for figure in measured_pair.control),
                "treatment": tuple(1 / figure for figure in measured_pair.treatment),
            }
        )
        for measured_pair in moved
    ]
    cost, gain = feed_pairs(moved), feed_pairs(mirrored, higher_is_better=True)
    assert gain.evidence().model_dump() == pytest.approx(cost.evidence().model_dump(), rel=1e-6)
    assert gain.decided is cost.decided


def test_a_lower_rate_is_a_regression_with_a_negative_difference() -> None:
    test = until_verdict(noisy(-0.03), higher_is_better=True)
    assert test.verdict() is Verdict.REGRESSION
    assert test.difference() == pytest.approx(-0.03, abs=0.005)


def test_infinite_ratios_end_in_a_verdict_with_finite_figures() -> None:
    extreme = pair((0.0,) * 5).model_copy(update={"control": (5e-324,) * 5, "treatment": (1.7e308,) * 5})
    test = until_verdict([extreme] * 20)
    assert test.verdict() is Verdict.REGRESSION
    difference = test.difference()
    assert difference is not None
    assert math.isfinite(difference)


def test_evidence_stays_finite_however_much_there_is() -> None:
    test = feed_pairs(flat([0.5] * 1200), Parameters(seed=1, max_pairs=2000))
    assert 1e299 < test.evidence().regression < math.inf
    assert test.evidence().improvement >= 0


def test_an_invalid_pair_is_refused_without_side_effect() -> None:
    test = feed_pairs(flat(NOISE))
    before = test.evidence()
    with pytest.raises(ValueError, match="above zero"):
        test.add(pair((0.0,) * 5).model_copy(update={"control": (0.0,) * 5}))
    assert (test.evidence(), test.pairs) == (before, len(NOISE))


@pytest.mark.parametrize(
    "invalid",
    [
        {"alpha": 0},
        {"alpha": 1.5},
        {"beta": -1},
        {"margin": 0},
        {"tail_margin": -0.1},
        {"precision": 0},
        {"max_pairs": 0},
    ],
)
def test_invalid_parameters_are_refused(invalid: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Parameters.model_validate({**PARAMETERS.model_dump(), **invalid})


def slow_tails(count: int) -> list[Pair]:
    """Return pairs in which only the mean and the tail become worse."""
    return [
        pair((noise, noise, noise, 0.02 + noise, 0.2 + noise), index=index)
        for index, noise in enumerate(NOISE[index % len(NOISE)] for index in range(count))
    ]


@pytest.mark.parametrize(("higher_is_better", "tail", "change"), [(False, "p90", 0.2214), (True, "p10", -0.1813)])
def test_a_change_of_one_figure_alone_is_told_with_its_size(
    *, higher_is_better: bool, tail: str, change: float
) -> None:
    pairs = [swapped(measured_pair) for measured_pair in slow_tails(100)] if higher_is_better else slow_tails(100)
    test = until_verdict(pairs, higher_is_better=higher_is_better)
    assert test.verdict() is Verdict.REGRESSION
    assert test.figure == tail
    assert test.difference() == pytest.approx(change, abs=0.02)
    low, high = test.interval()
    assert low is not None
    assert high is not None
    assert (high < 0) if higher_is_better else (low > 0)
    words = f"difference and interval describe the largest change, which is that of {tail}"
    assert words in test.reason()
    (note,) = draw_conclusion(test).notes
    assert (note.code, note.trust) == ("figures", True)
    assert words in note.message


def test_a_figure_that_moved_the_other_way_does_not_turn_the_interval() -> None:
    better_but_for_the_tail = [
        measured_pair.model_copy(
            update={
                "treatment": (*(0.98 * figure for figure in measured_pair.treatment[:2]), *measured_pair.treatment[2:])
            }
        )
        for measured_pair in slow_tails(100)
    ]
    test = feed_pairs(better_but_for_the_tail)
    low, _ = test.interval()
    assert test.decided is Verdict.REGRESSION
    assert low is not None
    assert low > 0
    assert test.figure == "p90"
    assert "p25 -2.00 %, median +0.00 %" in test.reason()


@pytest.mark.parametrize("effect", [-0.03, 0.0, 0.03])
def test_a_difference_of_all_figures_needs_no_explanation(effect: float) -> None:
    test = until_verdict(noisy(effect))
    assert (test.figure, test.explain_figures()) == ("", None)
    assert draw_conclusion(test).notes == ()


def test_the_interval_is_computed_once_per_pair_and_only_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pair_counts = []

    def counted(log_ratios: Floats, *arguments: object) -> Inversion:
        pair_counts.append(len(log_ratios))
        return Inversion(log_ratios, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("harness.analysis.compare.decision.Inversion", counted)
    test = feed_pairs(noisy(0.01, 10))
    assert pair_counts == []
    before = test.interval()
    assert (test.interval(), test.is_unsteady, test.figure) == (before, False, "")
    assert pair_counts == [10]
    test.add(noisy(0.01, 11)[-1])
    assert test.interval() != before
    assert pair_counts == [10, 11]
