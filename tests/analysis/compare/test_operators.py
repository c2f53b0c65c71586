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
from harness.core.comparison import Comparison, OperatorComparison, OperatorMedians, Parameters, Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, flat
from tests.presentation.comparison_samples import CONTROL

NOISE = (0.001, -0.004, 0.003, 0.0, -0.002, 0.005, -0.001, 0.002, -0.005, 0.004, -0.003)


def told(changes: Mapping[str, float], pairs: int, *, median_us: float = 100.0) -> list[OperatorMedians]:
    """Pairs whose operators changed so, each with noise of its own."""
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


def by_name(found: Iterable[OperatorComparison]) -> dict[str, OperatorComparison]:
    return {one.name: one for one in found}


def quiet(count: int) -> dict[str, float]:
    return {f"conv #{number}": 0.0 for number in range(1, count + 1)}


def test_a_single_changed_operator_is_found_among_many() -> None:
    found = by_name(compare_operators(told({**quiet(40), "softmax #1": 0.08}, 24), PARAMETERS))
    assert [name for name, one in found.items() if one.discovered] == ["softmax #1"]
    softmax = found["softmax #1"]
    assert softmax.verdict is Verdict.REGRESSION
    assert softmax.low is not None
    assert softmax.high is not None
    assert softmax.low < 0.08 < softmax.high
    assert softmax.difference == pytest.approx(0.08, abs=0.005)
    assert {one.verdict for name, one in found.items() if name != "softmax #1"} == {Verdict.NO_CHANGE}


def test_what_became_faster_is_found_beside_what_became_slower() -> None:
    found = by_name(compare_operators(told({"a": 0.05, "b": -0.05, "c": 0.0}, 20), PARAMETERS))
    verdicts = {name: (one.verdict, one.discovered) for name, one in found.items()}
    assert verdicts == {
        "a": (Verdict.REGRESSION, True),
        "b": (Verdict.IMPROVEMENT, True),
        "c": (Verdict.NO_CHANGE, False),
    }


def test_operators_keep_their_medians_and_the_order_of_the_treatment() -> None:
    pairs = told({"first": 0.0, "second": 0.0}, 3)
    first, second = compare_operators(pairs, PARAMETERS)
    assert (first.name, second.name) == ("first", "second")
    assert first.pairs == (0, 1, 2)
    assert first.control == (100.0, 100.0, 100.0)
    assert first.treatment == tuple(one.treatment["first"] for one in pairs)


def test_evidence_for_one_among_few_is_not_enough_among_many() -> None:
    few = by_name(compare_operators(told({"slow": 0.1, **quiet(3)}, 9), PARAMETERS))
    many = by_name(compare_operators(told({"slow": 0.1, **quiet(70)}, 9), PARAMETERS))
    assert few["slow"].verdict is many["slow"].verdict is Verdict.REGRESSION
    assert few["slow"].discovered
    assert not many["slow"].discovered


def test_without_proof_a_reader_learns_how_many_pairs_it_takes() -> None:
    pairs = told({"slow": 0.1, **quiet(70)}, 9)
    found = compare_operators(pairs, PARAMETERS)
    (note,) = operator_notes(pairs, found, Verdict.REGRESSION, PARAMETERS)
    assert note.code == "operators_unproven"
    assert "9 pairs (showing one among 71 takes at least 12)" in note.message
    assert "--precision" in (note.hint or "")
    assert operator_notes(pairs, found, Verdict.NO_CHANGE, PARAMETERS) == ()


def test_the_pairs_that_it_takes_do_show_it() -> None:
    found = by_name(compare_operators(told({"slow": 0.3, **quiet(70)}, 12), PARAMETERS))
    assert found["slow"].discovered


def test_operators_of_one_side_are_kept_as_such() -> None:
    pairs = [
        OperatorMedians(pair=index, control={"a": 5.0, "old": 7.0}, treatment={"a": 5.0, "new": 3.0})
        for index in range(10)
    ]
    found = by_name(compare_operators(pairs, PARAMETERS))
    assert (found["new"].control, found["new"].treatment) == ((), (3.0,) * 10)
    assert (found["old"].control, found["old"].treatment) == ((7.0,) * 10, ())
    assert [found[name].is_shared for name in ("a", "new", "old")] == [True, False, False]
    assert [found[name].verdict for name in ("new", "old")] == [Verdict.UNDECIDED] * 2


def test_a_pair_in_which_one_side_lacks_the_operator_does_not_count_for_it() -> None:
    pairs = [OperatorMedians(pair=3, control={"a": 5.0}, treatment={"b": 1.0}), *told({"a": 0.0, "b": 0.0}, 2)]
    assert by_name(compare_operators(pairs, PARAMETERS))["a"].pairs == (0, 1)


def test_an_operator_that_both_sides_never_had_in_one_pair_is_neither_new_nor_gone() -> None:
    pairs = [
        OperatorMedians(pair=0, control={"a": 5.0, "c": 1.0}, treatment={"c": 1.0}),
        OperatorMedians(pair=1, control={"c": 1.0}, treatment={"a": 5.0, "c": 1.0}),
    ]
    assert by_name(compare_operators(pairs, PARAMETERS))["a"] == OperatorComparison(
        name="a", evidence=by_name(compare_operators(pairs, PARAMETERS))["a"].evidence
    )


def test_a_side_without_any_operator_is_noted_and_nothing_is_compared() -> None:
    pairs = [OperatorMedians(pair=index, control={}, treatment={"a": 1.0}) for index in range(9)]
    assert compare_operators(pairs, PARAMETERS) == ()
    (note,) = operator_notes(pairs, (), Verdict.REGRESSION, PARAMETERS)
    assert note.code == "operators_unavailable"
    assert "control" in note.message


def test_medians_below_the_resolution_of_the_clock_bring_no_evidence() -> None:
    pairs = [OperatorMedians(pair=index, control={"a": 0.0}, treatment={"a": 1.0}) for index in range(30)]
    (one,) = compare_operators(pairs, PARAMETERS)
    assert one.control == (0.0,) * 30
    assert (one.verdict, one.difference, one.discovered) == (Verdict.UNDECIDED, None, False)


differences = st.floats(min_value=-0.2, max_value=0.2)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(differences, differences), min_size=1, max_size=5))
def test_the_coin_makes_the_evidence_of_every_operator_exact(slots: list[tuple[float, float]]) -> None:
    def pair(index: int, sign: int, ratios: Sequence[float]) -> OperatorMedians:
        treatment = {str(number): 50.0 * math.exp(sign * ratio) for number, ratio in enumerate(ratios)}
        return OperatorMedians(pair=index, control={"0": 50.0, "1": 50.0}, treatment=treatment)

    every_toss = [
        compare_operators([pair(n, sign, slot) for n, (sign, slot) in enumerate(zip(signs, slots, strict=True))], ALONE)
        for signs in itertools.product((-1, 1), repeat=len(slots))
    ]
    for place in (0, 1):
        assert statistics.fmean(one[place].evidence.regression for one in every_toss) == pytest.approx(1.0)
        assert statistics.fmean(one[place].evidence.improvement for one in every_toss) == pytest.approx(1.0)


ALONE = Parameters(seed=1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(differences, min_size=3, max_size=3), min_size=1, max_size=20))
def test_exchanging_the_sides_mirrors_every_verdict(rows: list[list[float]]) -> None:
    def sides(row: list[float]) -> tuple[dict[str, float], dict[str, float]]:
        return dict.fromkeys("abc", 20.0), {name: 20.0 * math.exp(one) for name, one in zip("abc", row, strict=True)}

    forth = [OperatorMedians(pair=n, control=sides(row)[0], treatment=sides(row)[1]) for n, row in enumerate(rows)]
    back = [OperatorMedians(pair=n, control=sides(row)[1], treatment=sides(row)[0]) for n, row in enumerate(rows)]
    mirror = {Verdict.REGRESSION: Verdict.IMPROVEMENT, Verdict.IMPROVEMENT: Verdict.REGRESSION}
    one, other = by_name(compare_operators(forth, PARAMETERS)), by_name(compare_operators(back, PARAMETERS))
    for name in "abc":
        assert other[name].verdict is mirror.get(one[name].verdict, one[name].verdict)
        assert other[name].discovered == one[name].discovered
        assert other[name].evidence.improvement == pytest.approx(one[name].evidence.regression)


@pytest.mark.slow
def test_equal_builds_stay_silent_operator_by_operator() -> None:
    """Of 200 comparisons of equal builds on a machine that wanders and bursts, hardly one tells of an operator."""
    chance = np.random.default_rng(20)
    operators, pairs, alarms = 30, 16, 0
    for _ in range(200):
        level = np.cumsum(0.01 * chance.standard_normal((2 * pairs, 1)), axis=0)
        noise = 0.02 * chance.standard_t(3, (2 * pairs, operators))
        medians = np.exp(level + noise) * np.geomspace(1, 500, operators)
        medians = np.round(medians)  # as XNNPACK tells them
        first = chance.random(pairs) < 0.5
        rows = [(2 * n, 2 * n + 1) if control_first else (2 * n + 1, 2 * n) for n, control_first in enumerate(first)]
        found = compare_operators(
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
        alarms += any(one.discovered for one in found)
    assert alarms <= 200 * 2 * PARAMETERS.fdr / 4, (
        "the two directions may be wrong in 5 % of cases each; bets are cautious"
    )


def comparison(changes: Mapping[str, float], pairs: int) -> Comparison:
    stored = Comparison(
        control=CONTROL,
        metric="NET latency",
        unit="us",
        parameters=PARAMETERS,
        pairs=tuple(flat([0.1 + one for one in NOISE] * 3)[:pairs]),
        verdict=Verdict.UNDECIDED,
        operators=compare_operators(told(changes, pairs), PARAMETERS),
    )
    return recompute(stored)


def test_a_stored_comparison_decides_its_operators_again() -> None:
    stored = comparison({"slow": 0.1, **quiet(5)}, 20)
    blank = [
        OperatorComparison(**one.model_dump(include={"name", "unit", "pairs", "control", "treatment"}))
        for one in stored.operators
    ]
    again = recompute(stored.model_copy(update={"operators": tuple(blank)}))
    assert again == stored
    assert by_name(again.operators)["slow"].discovered


def test_a_smaller_budget_takes_the_later_pairs_of_the_operators_away_too() -> None:
    stored = comparison({"slow": 0.1, **quiet(70)}, 20)
    short = recompute(stored, PARAMETERS.model_copy(update={"max_pairs": 9}))
    assert by_name(short.operators)["slow"].pairs == tuple(range(9))
    assert not any(one.discovered for one in short.operators)
    assert [note.code for note in short.notes] == ["operators_unproven"]
    assert recompute(short, PARAMETERS).notes == short.notes, "the pairs that were cut are gone"
    assert stored.notes == ()


def test_restricting_to_all_pairs_changes_nothing() -> None:
    found = compare_operators(told({"slow": 0.1, **quiet(5)}, 12), PARAMETERS)
    assert decide_operators(restrict_to_pairs(found, set(range(12))), PARAMETERS) == found
