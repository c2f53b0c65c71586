"""Clocks that are too coarse for the margin: a tie of rounded figures is no proof that nothing changed."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.operators import compare_operators
from harness.analysis.compare.recompute import draw_conclusion, recompute, replay
from harness.analysis.compare.resolution import Resolution
from harness.analysis.compare.statistics import launch_statistics
from harness.core.comparison import Comparison, OperatorMedians, Pair, Parameters
from harness.core.metric import is_metered
from harness.core.verdict import Verdict
from tests.analysis.compare.test_decisions_under_noise import likely_at_most
from tests.presentation.comparison_samples import CONTROL

PARAMETERS = Parameters(seed=0)
TEN_NS = 10.0
"""Clock step relative to a 90 ns model."""


def simulate_launch(chance: random.Random, base: float, noise: float, step: float) -> list[float]:
    level = base * (1 + chance.gauss(0, noise))
    return [round(level * (1 + abs(chance.gauss(0, noise))) / step) * step for _ in range(20)]


def pairs_of(
    chance: random.Random, base: float, change: float, noise: float, step: float, *, rate: bool = False
) -> list[Pair]:
    def figures(scale: float) -> tuple[float, ...]:
        times = simulate_launch(chance, base * scale, noise, step)
        return launch_statistics([1e6 / time for time in times] if rate else times, higher_is_better=rate)

    return [
        Pair(
            index=index,
            control_first=chance.random() < 0.5,
            control=figures(1.0),
            treatment=figures(1.0 + change),
            control_launch=None,
            treatment_launch=None,
            seconds=1.0,
        )
        for index in range(PARAMETERS.max_pairs)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "change", "noise", "step"),
    [
        pytest.param(20.0, 0.02, 0.004, 1.0, id="20 us in whole us"),
        pytest.param(20.0, 0.02, 0.002, 1.0, id="quieter"),
        pytest.param(19.8, 0.02, 0.004, 1.0, id="19.8 us in whole us"),
        pytest.param(90.0, 0.04, 0.005, TEN_NS, id="90 ns"),
        pytest.param(90.0, 0.04, 0.01, TEN_NS, id="90 ns, noisier"),
        pytest.param(500.0, 0.015, 0.001, TEN_NS, id="500 ns"),
        pytest.param(2000.0, 0.0102, 0.0005, TEN_NS, id="2 us"),
    ],
)
@pytest.mark.parametrize("rate", [False, True], ids=["time", "rate"])
def test_a_change_above_the_margin_is_rarely_called_no_change(
    base: float, change: float, noise: float, step: float, *, rate: bool
) -> None:
    trials = 40
    chance = random.Random(1)
    verdicts = Counter(
        replay(pairs_of(chance, base, change, noise, step, rate=rate), PARAMETERS, higher_is_better=rate).decided
        for _ in range(trials)
    )
    assert verdicts[Verdict.NO_CHANGE] <= likely_at_most(PARAMETERS.beta, trials)


@pytest.mark.parametrize("step", [1e-6, TEN_NS / 1e3])
def test_a_clock_finer_than_the_margin_allows_no_change(step: float) -> None:
    test = replay(pairs_of(random.Random(2), 20.0, 0.0, 0.002, step), PARAMETERS, higher_is_better=False)
    assert test.decided is Verdict.NO_CHANGE
    assert not draw_conclusion(test).notes


def test_a_coarse_clock_is_explained_with_a_remedy() -> None:
    conclusion = draw_conclusion(
        replay(pairs_of(random.Random(1), 90.0, 0.0, 0.05, TEN_NS), PARAMETERS, higher_is_better=False)
    )
    assert conclusion.verdict is Verdict.UNDECIDED
    assert "steps of 0.1" in conclusion.reason
    (note,) = conclusion.notes
    assert note.code == "coarse"
    assert "--margin" in (note.hint or "")


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("pairs", [1, 2, 4, 8])
def test_few_figures_of_a_fine_clock_are_not_said_to_come_in_steps(pairs: int, noise: float) -> None:
    """16 us in whole ns, beside other programs: eight figures that spread by a tenth lie a percent apart by chance."""
    chance = random.Random(3)
    for _ in range(30):
        test = replay(pairs_of(chance, 16_000.0, 0.0, noise, 1.0)[:pairs], PARAMETERS, higher_is_better=False)
        conclusion = draw_conclusion(test)
        assert "coarse" not in {note.code for note in conclusion.notes}
        assert "steps" not in conclusion.reason


@pytest.mark.parametrize(
    ("base", "noise", "step"), [(90.0, 0.05, TEN_NS), (20.0, 0.004, 1.0), (1000.0, 0.02, 41.67), (90.0, 0.0, TEN_NS)]
)
def test_four_pairs_of_a_coarse_clock_show_its_steps(base: float, noise: float, step: float) -> None:
    chance = random.Random(3)
    for _ in range(10):
        test = replay(pairs_of(chance, base, 0.0, noise, step)[:4], PARAMETERS, higher_is_better=False)
        assert "coarse" in {note.code for note in draw_conclusion(test).notes}


def test_steps_larger_than_the_figures_are_not_called_constant() -> None:
    resolution = Resolution()
    for figure in (1.0, 1.0, 3.0, 3.0):
        resolution.add(figure)
    assert "steps as large as themselves" in (resolution.explain_coarseness(PARAMETERS) or "")


def test_constant_figures_hide_a_change_within_their_step() -> None:
    conclusion = draw_conclusion(
        replay(pairs_of(random.Random(1), 90.0, 0.02, 0.001, TEN_NS), PARAMETERS, higher_is_better=False)
    )
    assert conclusion.verdict is Verdict.UNDECIDED
    assert "do not vary" in conclusion.reason
    assert (conclusion.low, conclusion.high) == (None, None)


def test_constant_counts_are_equal() -> None:
    pairs = pairs_of(random.Random(1), 90.0, 0.0, 0.001, TEN_NS)
    assert replay(pairs, PARAMETERS, higher_is_better=False, exact=True).decided is Verdict.NO_CHANGE


@pytest.mark.parametrize(
    ("unit", "counted"),
    [
        *((unit, False) for unit in ("us", "items/s", "ms/token", "s per image", "mJ", "mJ/inference", "mW", "Wh")),
        *((unit, True) for unit in ("", "bytes", "MiB", "%", "dB", "cycles")),
    ],
)
def test_only_times_rates_and_energy_have_a_clock_resolution(unit: str, *, counted: bool) -> None:
    assert is_metered(unit) is not counted


def test_a_regression_is_detected_with_any_clock() -> None:
    test = replay(pairs_of(random.Random(1), 90.0, 0.2, 0.01, TEN_NS), PARAMETERS, higher_is_better=False)
    assert test.decided is Verdict.REGRESSION


@pytest.mark.slow
@pytest.mark.parametrize("step", [10.0, 2.0])
def test_the_interval_of_rounded_figures_covers_the_true_effect(step: float) -> None:
    trials, missed = 40, 0
    chance = random.Random(5)
    for _ in range(trials):
        low, high = replay(
            pairs_of(chance, 94.4, 0.005, 0.004, step)[:40], PARAMETERS, higher_is_better=False
        ).interval()
        missed += (low is not None and low > 0.005) or (high is not None and high < 0.005)
    assert missed <= likely_at_most(0.05, trials)


@given(st.floats(1e-9, 1e9), st.lists(st.integers(50, 200), min_size=2, max_size=40, unique=True))
@settings(max_examples=50)
def test_no_resolution_is_underestimated(step: float, counts: list[int]) -> None:
    resolution = Resolution()
    for count in counts:
        resolution.add(count * step)
    assert resolution.log_step >= 1 / min(counts) - 1e-6


def test_resolution_is_recomputed_from_stored_pairs() -> None:
    pairs = tuple(pairs_of(random.Random(1), 90.0, 0.0, 0.05, TEN_NS))
    stored = Comparison(
        control=CONTROL, metric="NET latency", unit="ns", parameters=PARAMETERS, pairs=pairs, verdict=Verdict.NO_CHANGE
    )
    again = recompute(recompute(stored))
    assert again.verdict is Verdict.UNDECIDED
    assert [note.code for note in again.notes] == ["coarse"]
    assert not recompute(stored, PARAMETERS.model_copy(update={"margin": 0.5, "tail_margin": 0.5})).notes


def test_an_operator_of_a_few_microseconds_is_not_called_unchanged() -> None:
    chance = random.Random(3)
    medians = [
        OperatorMedians(
            pair=index,
            control={"tiny": float(round(chance.gauss(5.0, 0.1))), "large": float(round(chance.gauss(5000, 5)))},
            treatment={"tiny": float(round(chance.gauss(5.1, 0.1))), "large": float(round(chance.gauss(5000, 5)))},
        )
        for index in range(60)
    ]
    verdicts = {comparison.name: comparison.verdict for comparison in compare_operators(medians, PARAMETERS)}
    assert verdicts == {"tiny": Verdict.UNDECIDED, "large": Verdict.NO_CHANGE}


def test_time_of_lost_launches_counts_against_the_budget() -> None:
    test = SequentialTest(Parameters(seed=0, max_seconds=10.0), higher_is_better=False)
    pairs = pairs_of(random.Random(1), 20.0, 0.0, 0.05, 1e-6)
    for pair in pairs[:4]:
        test.add(pair)
    assert test.verdict() is None
    test.update_overhead(7.0)
    assert test.seconds == 11.0
    assert test.verdict() is Verdict.UNDECIDED
    assert "budget of 10 s" in test.reason()
