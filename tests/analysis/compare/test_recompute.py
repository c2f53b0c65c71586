from __future__ import annotations

import pytest

from harness.analysis.compare.recompute import draw_conclusion, recompute, replay
from harness.core.build import BuildInfo
from harness.core.comparison import GAIN_STATISTICS, STATISTICS, Comparison, Pair, Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, feed_pairs, flat
from tests.analysis.compare.simulated_launches import QUIET, Change, simulated_pairs


def stored(pairs: list[Pair], verdict: Verdict = Verdict.UNDECIDED, *, identical: bool = False) -> Comparison:
    return Comparison(
        control=BuildInfo(source="installed", commit="1.5.1"),
        metric="NET latency",
        parameters=PARAMETERS,
        pairs=tuple(pairs),
        verdict=verdict,
        identical=identical,
    )


def test_a_stored_comparison_is_recomputed_with_the_same_verdict() -> None:
    pairs = simulated_pairs(QUIET, Change(every=0.02), seed=5, pairs=20)
    test = feed_pairs(pairs)
    again = recompute(Comparison.model_validate_json(stored(pairs).model_dump_json()))
    assert (again.verdict, again.reason) == (Verdict.REGRESSION, test.reason())
    assert (again.difference, (again.low, again.high)) == (test.difference(), test.interval())
    assert again.evidence == test.evidence()
    assert again.pairs == tuple(pairs)


def test_other_parameters_are_stored_with_their_verdict() -> None:
    wide = Parameters(seed=1, margin=0.2, tail_margin=0.3, alpha=1e-9)
    again = recompute(stored(flat([0.03, -0.03] * 15)), wide)
    assert (again.verdict, again.parameters) == (Verdict.NO_CHANGE, wide)


def test_too_few_pairs_for_stricter_parameters_are_undecided_with_a_reason() -> None:
    again = recompute(stored(flat([0.5] * 8), Verdict.REGRESSION), Parameters(seed=1, alpha=1e-4))
    assert again.verdict is Verdict.UNDECIDED
    assert "8 pairs did not suffice" in again.reason


def test_only_pairs_that_were_used_are_shown() -> None:
    pairs = flat([0.5] * 20)
    assert recompute(stored(pairs), Parameters(seed=1, max_pairs=6)).pairs == tuple(pairs[:6])


def test_pairs_beyond_a_smaller_budget_are_not_used() -> None:
    assert replay(flat([0.5] * 20), Parameters(seed=1, max_pairs=6), higher_is_better=False).pairs == 6


def test_a_verdict_waiting_for_precision_is_concluded() -> None:
    test = feed_pairs(flat([0.5] * 9), Parameters(seed=1, precision=1e-6))
    assert test.verdict() is None
    assert draw_conclusion(test).verdict is Verdict.REGRESSION


@pytest.mark.parametrize("higher_is_better", [False, True])
def test_the_direction_of_the_metric_is_preserved(higher_is_better: bool) -> None:
    recomputed_input = stored(flat([0.5] * 8)).model_copy(update={"higher_is_better": higher_is_better})
    assert recompute(recomputed_input).verdict is (Verdict.IMPROVEMENT if higher_is_better else Verdict.REGRESSION)


def test_pairs_of_a_rate_keep_their_figure_names() -> None:
    gain = stored(flat([0.5] * 8)).model_copy(update={"higher_is_better": True, "statistics": GAIN_STATISTICS})
    assert recompute(gain).statistics == GAIN_STATISTICS


def test_pairs_stored_without_figure_names_are_read() -> None:
    text = stored(flat([-0.5] * 8)).model_copy(update={"higher_is_better": True}).model_dump(exclude={"statistics"})
    older = recompute(Comparison.model_validate(text))
    assert (older.statistics, older.verdict) == (STATISTICS, Verdict.REGRESSION)


def test_identical_builds_are_not_recomputed() -> None:
    same = stored([], Verdict.NO_CHANGE, identical=True)
    assert recompute(same) is same


@pytest.mark.parametrize(
    ("margin", "verdict", "notes"),
    [(0.3, Verdict.REGRESSION, ["below_margin"]), (0.1, Verdict.REGRESSION, []), (0.01, Verdict.REGRESSION, [])],
)
def test_a_proven_change_below_a_chosen_margin_is_a_regression_and_says_why(
    margin: float, verdict: Verdict, notes: list[str]
) -> None:
    comparison = recompute(stored(flat([0.17] * 12)), Parameters(seed=1, margin=margin))
    assert comparison.verdict is verdict
    assert [note.code for note in comparison.notes] == notes
    assert recompute(comparison, PARAMETERS).notes == ()


def test_a_change_within_the_margin_that_nobody_chose_has_no_such_note() -> None:
    comparison = recompute(stored(flat([0.005] * 20)), PARAMETERS)
    assert (comparison.verdict, comparison.notes) == (Verdict.REGRESSION, ())
