"""Proof of a step between neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.bisect.hidden_markov import level_grid, scale_of
from harness.analysis.bisect.proof import prove


def test_without_pairs_nothing_is_proven() -> None:
    nothing = prove([])
    assert (nothing.pairs, nothing.effect) == (0, None)
    assert nothing.evidence == pytest.approx(1.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_clear_step_is_proven_in_either_direction(sign: int) -> None:
    proof = prove([(sign * 0.03,)] * 12)
    assert proof.evidence > 100
    assert proof.effect is not None
    assert np.sign(proof.effect.log_ratio) == sign


@pytest.mark.slow
def test_false_proofs_of_equal_builds_are_as_rare_as_configured() -> None:
    chance = np.random.default_rng(1)
    noise = chance.standard_t(3, (400, 60)) * 0.01
    false = sum(prove([(ratio,) for ratio in row]).evidence >= 20 for row in noise.tolist())
    assert false <= 0.05 * 400 + 3.1 * (0.05 * 0.95 * 400) ** 0.5


def test_evidence_stays_when_later_pairs_disagree() -> None:
    step = [(0.03,)] * 12
    assert prove(step + [(-0.01,)] * 20).evidence >= prove(step).evidence


def test_zero_is_a_valid_level() -> None:
    for estimates in ([], [0.02], [-0.3, 0.1], [0.5]):
        levels = level_grid(estimates, 0.01)
        assert 0.0 in levels
        assert levels[0] <= min(0.0, *estimates, 0.0)
        assert levels[-1] >= max(0.0, *estimates, 0.0)


def test_the_scale_is_independent_of_levels() -> None:
    noise = (np.random.default_rng(2).standard_t(4, 400) * 0.02).tolist()
    assert scale_of([noise[:200], noise[200:]]) == pytest.approx(0.02, rel=0.15)
    shifted = [ratio + 0.5 for ratio in noise[200:]]
    assert scale_of([noise[:200], shifted]) == pytest.approx(scale_of([noise[:200], noise[200:]]))
