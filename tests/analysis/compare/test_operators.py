"""Operators of a comparison: which of them changed, with as little trust in chance as the benchmark itself."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.operators import compare_operators, decide_operators, operator_notes, restrict_to_pairs
from harness.analysis.compare.recompute import recompute
from harness.core.comparison import Comparison, OperatorComparison, OperatorMedians, Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, flat
from tests.presentation.comparison_samples import CONTROL

NOISE = (0.001, -0.004, 0.003, 0.0, -0.002, 0.005, -0.001, 0.002, -0.005, 0.004, -0.003)


def simulate_operators(changes: Mapping[str, float], pairs: int, *, median_us: float = 100.0) -> list[OperatorMedians]:
    """Return pairs whose operators have given changes, each with its own noise."""
    return [
        OperatorMedians(
            pair=index,
            control=dict.fromkeys(changes, median_us),
            treatment={
                name: median_us * math.exp(math.log1p(change) + NOISE[(index + 3 * number) % len(NOISE)])
                for number, (name, change) in enumerate(changes.items())
            },
        )
        for index in range(pairs)
    ]


def by_name(comparisons: Iterable[OperatorComparison]) -> dict[str, OperatorComparison]:
    return {operator.name: operator for operator in comparisons}


def quiet(count: int) -> dict[str, float]:
    return {f"conv #{number}": 0.0 for number in range(1, count + 1)}


def test_a_single_changed_operator_is_found_among_many() -> None:
    comparisons = by_name(compare_operators(simulate_operators({**quiet(40), "softmax #1": 0.08}, 24), PARAMETERS))
    assert [name for name, operator in comparisons.items() if operator.discovered] == ["softmax #1"]
    softmax = comparisons["softmax #1"]
    assert softmax.verdict is Verdict.REGRESSION
    assert softmax.low is not None
    assert softmax.high is not None
    assert softmax.low < 0.08 < softmax.high
    assert softmax.difference == pytest.approx(0.08, abs=0.005)
    assert {operator.verdict for name, operator in comparisons.items() if name != "softmax #1"} == {Verdict.NO_CHANGE}


def test_improved_and_regressed_operators_are_both_found() -> None:
    comparisons = by_name(compare_operators(simulate_operators({"a": 0.05, "b": -0.05, "c": 0.0}, 20), PARAMETERS))
    verdicts = {name: (operator.verdict, operator.discovered) for name, operator in comparisons.items()}
    assert verdicts == {
        "a": (Verdict.REGRESSION, True),
        "b": (Verdict.IMPROVEMENT, True),
        "c": (Verdict.NO_CHANGE, False),
    }


def test_operators_keep_their_medians_and_order() -> None:
    pairs = simulate_operators({"first": 0.0, "second": 0.0}, 3)
    first, second = compare_operators(pairs, PARAMETERS)
    assert (first.name, second.name) == ("first", "second")
    assert first.pairs == (0, 1, 2)
    assert first.control == (100.0, 100.0, 100.0)
    assert first.treatment == tuple(medians.treatment["first"] for medians in pairs)


def test_evidence_must_be_stronger_among_more_operators() -> None:
    few = by_name(compare_operators(simulate_operators({"slow": 0.1, **quiet(3)}, 9), PARAMETERS))
    many = by_name(compare_operators(simulate_operators({"slow": 0.1, **quiet(70)}, 9), PARAMETERS))
    assert few["slow"].verdict is many["slow"].verdict is Verdict.REGRESSION
    assert few["slow"].discovered
    assert not many["slow"].discovered


def test_the_note_says_how_many_pairs_a_discovery_takes() -> None:
    pairs = simulate_operators({"slow": 0.1, **quiet(70)}, 9)
    comparisons = compare_operators(pairs, PARAMETERS)
    (note,) = operator_notes(pairs, comparisons, Verdict.REGRESSION, PARAMETERS)
    assert note.code == "operators_unproven"
    assert "9 pairs (showing one among 71 takes at least 12)" in note.message
    assert "--precision" in (note.hint or "")
    assert operator_notes(pairs, comparisons, Verdict.NO_CHANGE, PARAMETERS) == ()


def test_the_stated_number_of_pairs_suffices() -> None:
    comparisons = by_name(compare_operators(simulate_operators({"slow": 0.3, **quiet(70)}, 12), PARAMETERS))
    assert comparisons["slow"].discovered


def test_operators_of_one_side_are_kept() -> None:
    pairs = [
        OperatorMedians(pair=index, control={"a": 5.0, "old": 7.0}, treatment={"a": 5.0, "new": 3.0})
        for index in range(10)
    ]
    comparisons = by_name(compare_operators(pairs, PARAMETERS))
    assert (comparisons["new"].control, comparisons["new"].treatment) == ((), (3.0,) * 10)
    assert (comparisons["old"].control, comparisons["old"].treatment) == ((7.0,) * 10, ())
    assert [comparisons[name].is_shared for name in ("a", "new", "old")] == [True, False, False]
    assert [comparisons[name].verdict for name in ("new", "old")] == [Verdict.UNDECIDED] * 2


def test_pairs_in_which_one_side_lacks_an_operator_do_not_count() -> None:
    pairs = [
        OperatorMedians(pair=3, control={"a": 5.0}, treatment={"b": 1.0}),
        *simulate_operators({"a": 0.0, "b": 0.0}, 2),
    ]
    assert by_name(compare_operators(pairs, PARAMETERS))["a"].pairs == (0, 1)


def test_an_operator_alternating_between_sides_is_neither_new_nor_removed() -> None:
    pairs = [
        OperatorMedians(pair=0, control={"a": 5.0, "c": 1.0}, treatment={"c": 1.0}),
        OperatorMedians(pair=1, control={"c": 1.0}, treatment={"a": 5.0, "c": 1.0}),
    ]
    assert by_name(compare_operators(pairs, PARAMETERS))["a"] == OperatorComparison(
        name="a", evidence=by_name(compare_operators(pairs, PARAMETERS))["a"].evidence
    )


def test_a_side_without_operators_is_noted_and_not_compared() -> None:
    pairs = [OperatorMedians(pair=index, control={}, treatment={"a": 1.0}) for index in range(9)]
    assert compare_operators(pairs, PARAMETERS) == ()
    (note,) = operator_notes(pairs, (), Verdict.REGRESSION, PARAMETERS)
    assert note.code == "operators_unavailable"
    assert "control" in note.message


def test_the_note_says_why_a_side_reported_none() -> None:
    pairs = [OperatorMedians(pair=0, control={}, treatment={"a": 5.0})]
    reasons = {"control": "this library was built without its event tracer"}
    (note,) = operator_notes(pairs, (), Verdict.UNDECIDED, PARAMETERS, reasons)
    assert "the control reported no operators (this library was built without its event tracer)" in note.message
    assert "harness profile" in (note.hint or "")


def test_medians_below_the_clock_resolution_give_no_evidence() -> None:
    pairs = [OperatorMedians(pair=index, control={"a": 0.0}, treatment={"a": 1.0}) for index in range(30)]
    (operator,) = compare_operators(pairs, PARAMETERS)
    assert operator.control == (0.0,) * 30
    assert (operator.verdict, operator.difference, operator.discovered) == (Verdict.UNDECIDED, None, False)


differences = st.floats(min_value=-0.2, max_value=0.2)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(differences, differences), min_size=1, max_size=5))
def test_evidence_of_every_operator_is_exact_over_all_assignments(slots: list[tuple[float, float]]) -> None:
    def pair(index: int, sign: int, ratios: Sequence[float]) -> OperatorMedians:
        treatment = {str(number): 50.0 * math.exp(sign * ratio) for number, ratio in enumerate(ratios)}
        return OperatorMedians(pair=index, control={"0": 50.0, "1": 50.0}, treatment=treatment)

    every_toss = [
        compare_operators([pair(n, sign, slot) for n, (sign, slot) in enumerate(zip(signs, slots, strict=True))], ALONE)
        for signs in itertools.product((-1, 1), repeat=len(slots))
    ]
    for place in (0, 1):
        assert statistics.fmean(comparisons[place].evidence.regression for comparisons in every_toss) == pytest.approx(
            1.0
        )
        assert statistics.fmean(comparisons[place].evidence.improvement for comparisons in every_toss) == pytest.approx(
            1.0
        )


ALONE = Parameters(seed=1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(differences, min_size=3, max_size=3), min_size=1, max_size=20))
def test_exchanging_the_sides_mirrors_every_verdict(rows: list[list[float]]) -> None:
    def sides(row: list[float]) -> tuple[dict[str, float], dict[str, float]]:
        return dict.fromkeys("abc", 20.0), {
            name: 20.0 * math.exp(log_ratio) for name, log_ratio in zip("abc", row, strict=True)
        }

    forth = [OperatorMedians(pair=n, control=sides(row)[0], treatment=sides(row)[1]) for n, row in enumerate(rows)]
    back = [OperatorMedians(pair=n, control=sides(row)[1], treatment=sides(row)[0]) for n, row in enumerate(rows)]
    mirror = {Verdict.REGRESSION: Verdict.IMPROVEMENT, Verdict.IMPROVEMENT: Verdict.REGRESSION}
    original, exchanged = (
        by_name(compare_operators(forth, PARAMETERS)),
        by_name(compare_operators(back, PARAMETERS)),
    )
    for name in "abc":
        assert exchanged[name].verdict is mirror.get(original[name].verdict, original[name].verdict)
        assert exchanged[name].discovered == original[name].discovered
        assert exchanged[name].evidence.improvement == pytest.approx(original[name].evidence.regression)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_equal_builds_raise_few_operator_alarms() -> None:
    """Compare equal builds 200 times on a noisy machine; false alarms must be rare."""
    chance = np.random.default_rng(20)
    operators, pairs, alarms = 30, 16, 0
    for _ in range(200):
        level = np.cumsum(0.01 * chance.standard_normal((2 * pairs, 1)), axis=0)
        noise = 0.02 * chance.standard_t(3, (2 * pairs, operators))
        medians = np.exp(level + noise) * np.geomspace(1, 500, operators)
        medians = np.round(medians)  # as XNNPACK reports them
        first = chance.random(pairs) < 0.5
        rows = [(2 * n, 2 * n + 1) if control_first else (2 * n + 1, 2 * n) for n, control_first in enumerate(first)]
        comparisons = compare_operators(
            [
                OperatorMedians(
                    pair=n,
                    control={str(place): float(value) for place, value in enumerate(medians[control])},
                    treatment={str(place): float(value) for place, value in enumerate(medians[treatment])},
                )
                for n, (control, treatment) in enumerate(rows)
            ],
            PARAMETERS,
        )
        alarms += any(operator.discovered for operator in comparisons)
    assert alarms <= 200 * 2 * PARAMETERS.fdr / 4, (
        "the two directions may be wrong in 5 % of cases each; bets are cautious"
    )


def comparison(changes: Mapping[str, float], pairs: int) -> Comparison:
    stored = Comparison(
        control=CONTROL,
        metric="NET latency",
        unit="us",
        parameters=PARAMETERS,
        pairs=tuple(flat([0.1 + log_ratio for log_ratio in NOISE] * 3)[:pairs]),
        verdict=Verdict.UNDECIDED,
        operators=compare_operators(simulate_operators(changes, pairs), PARAMETERS),
    )
    return recompute(stored)


def test_operators_of_a_stored_comparison_are_decided_again() -> None:
    stored = comparison({"slow": 0.1, **quiet(5)}, 20)
    blank = [
        OperatorComparison(**operator.model_dump(include={"name", "unit", "pairs", "control", "treatment"}))
        for operator in stored.operators
    ]
    again = recompute(stored.model_copy(update={"operators": tuple(blank)}))
    assert again == stored
    assert by_name(again.operators)["slow"].discovered


def test_a_smaller_budget_drops_later_pairs_of_operators() -> None:
    stored = comparison({"slow": 0.1, **quiet(70)}, 20)
    short = recompute(stored, PARAMETERS.model_copy(update={"max_pairs": 9}))
    assert by_name(short.operators)["slow"].pairs == tuple(range(9))
    assert not any(operator.discovered for operator in short.operators)
    assert [note.code for note in short.notes] == ["operators_unproven"]
    assert recompute(short, PARAMETERS).notes == short.notes, "the pairs that were cut are gone"
    assert stored.notes == ()


def test_restricting_to_all_pairs_changes_nothing() -> None:
    comparisons = compare_operators(simulate_operators({"slow": 0.1, **quiet(5)}, 12), PARAMETERS)
    assert decide_operators(restrict_to_pairs(comparisons, set(range(12))), PARAMETERS) == comparisons
