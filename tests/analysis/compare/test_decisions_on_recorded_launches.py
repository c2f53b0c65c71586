"""Launches of a real MobileNetV2 runner, recorded (see `traces`): equal builds, and builds that are really slower."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness.analysis.compare.recompute import replay
from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import coin, pairs_of

PARAMETERS = Parameters(seed=1)
PAIRS = PARAMETERS.max_pairs


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["", "busy", "bursty"])
def test_equal_builds_raise_few_alarms_under_random_assignment(noise: str) -> None:
    launches = recorded(0, noise).figures()
    windows = [launches[start : start + 2 * PAIRS] for start in range(0, len(launches) - 2 * PAIRS + 1, 2 * PAIRS)]
    verdicts = [
        replay(pairs_of(window, coin(np.random.default_rng(seed), len(window))), PARAMETERS, False).decided
        for window in windows
        for seed in range(20)
    ]
    alarms = verdicts.count(Verdict.REGRESSION) + verdicts.count(Verdict.IMPROVEMENT)
    assert alarms <= 2 * PARAMETERS.alpha * len(verdicts) + 3 * (2 * PARAMETERS.alpha * len(verdicts)) ** 0.5


@pytest.mark.parametrize("percent", [1, 2, 5])
def test_a_really_slower_build_is_detected(percent: int) -> None:
    test = replay(recorded(percent).pairs(), Parameters(seed=1, precision=0.005, max_pairs=200), False)
    low, _ = test.interval()
    assert test.decided is Verdict.REGRESSION
    assert test.difference() == pytest.approx(percent / 100, abs=0.005)
    assert low is not None
    assert low > 0


def test_recorded_pairs_are_one_launch_of_each_build() -> None:
    everything = (*itertools.product(("", "busy"), (0, 1, 2, 5)), *itertools.product(("bursty",), (0, 1)))
    for noise, percent in everything:
        sides = recorded(percent, noise).treatment().tolist()
        assert len(sides) % 2 == 0
        assert all(first != second for first, second in list(itertools.pairwise(sides))[::2])
