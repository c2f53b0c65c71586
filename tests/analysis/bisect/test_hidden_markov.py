"""The sums over histories are exact: compared with an enumeration of every history of a small model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harness.analysis.bisect.hidden_markov import HiddenMarkovModel
from tests.analysis.compare.simulated_launches import Array

LEVELS = np.array([-1.0, 0.0, 1.0, 2.0])
POSITIONS = (0, 2, 3, 7)
WORTH = 0.5
logs = st.floats(-4, 0)
at_one = arrays.arrays(np.float64, 4, elements=logs)
between_two = arrays.arrays(np.float64, (4, 4), elements=logs)


def enumerated(model: HiddenMarkovModel) -> dict[tuple[int, ...], float]:
    """Return the probability of each set of steps between positions in which the level changes."""
    weights: dict[tuple[int, ...], float] = {}
    for rest in product(range(4), repeat=len(POSITIONS) - 1):
        path = (1, *rest)
        weight, changed = 1.0, []
        for step in range(1, len(POSITIONS)):
            old, new = path[step - 1], path[step]
            width = POSITIONS[step] - POSITIONS[step - 1]
            unchanged_probability = (1 - 0.2 / POSITIONS[-1]) ** width
            weight *= unchanged_probability if old == new else (1 - unchanged_probability) / 3
            weight *= np.exp(model.level_likelihoods.get(POSITIONS[step], np.zeros(4))[new])
            weight *= np.exp(model.step_likelihoods.get(POSITIONS[step], np.zeros((4, 4)))[old, new])
            changed += [step] if old != new else []
        weights[tuple(changed)] = weights.get(tuple(changed), 0.0) + weight
    total = sum(weights.values())
    return {changed: weight / total for changed, weight in weights.items()}


@given(at_one, at_one, at_one, between_two)
def test_probabilities_are_those_of_all_histories(second: Array, third: Array, last: Array, between: Array) -> None:
    model = HiddenMarkovModel(LEVELS, WORTH, POSITIONS, {2: second, 3: third, 7: last}, {3: between})
    probabilities = enumerated(model)
    assert model.no_change_probability == pytest.approx(probabilities[()])
    assert model.several_changes_probability == pytest.approx(
        sum(p for steps, p in probabilities.items() if len(steps) > 1), abs=1e-9
    )
    for first, start in enumerate(POSITIONS):
        unchanged = model.unchanged_since(start)
        for step in range(first, len(POSITIONS)):
            probability_without_step = sum(
                p
                for steps, p in probabilities.items()
                if not any(first < step_position <= step for step_position in steps)
            )
            assert unchanged[POSITIONS[step]] == pytest.approx(probability_without_step)


def test_a_change_between_measured_commits_is_equally_likely_at_each_of_them() -> None:
    unchanged = HiddenMarkovModel(LEVELS, WORTH, POSITIONS, {7: np.array([0.0, -9.0, 0.0, 0.0])}, {}).unchanged_since(0)
    assert -np.diff(unchanged)[3:7] == pytest.approx([float(unchanged[3] - unchanged[7]) / 4] * 4)


def test_changes_below_the_smallest_effect_are_ignored() -> None:
    extreme = HiddenMarkovModel(LEVELS, 2.5, (0, 1), {1: np.array([-9.0, -9.0, 0.0, -9.0])}, {})
    assert extreme.no_change_probability == pytest.approx(1.0, abs=1e-9)


def test_the_expected_change_is_computed_from_the_levels() -> None:
    sure = np.full(4, -50.0)
    sure[3] = 0.0
    model = HiddenMarkovModel(LEVELS, WORTH, (0, 2, 5), {2: np.roll(sure, -2), 5: sure}, {})
    assert model.change(0, 2) == pytest.approx(0.0, abs=1e-6)
    assert model.change(2, 5) == pytest.approx(2.0, abs=1e-6)


def test_extreme_likelihoods_stay_finite() -> None:
    at = {position: 1e5 * np.roll(np.array([0.0, -1.0, -2.0, -3.0]), position) for position in (2, 3, 7)}
    model = HiddenMarkovModel(LEVELS, WORTH, POSITIONS, at, {})
    assert 0 <= model.no_change_probability <= 1
    assert np.isfinite(model.unchanged_since(0)).all()
