"""Verdicts on energy net of idling: launches of a drifting device, each with a noisy baseline of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import STATISTICS, Pair, Parameters
from harness.core.verdict import Verdict
from harness.running.pairs import control_goes_first

pytestmark = pytest.mark.slow

_PAIRS = 60
_IDLE_W, _NET_W = 1.0, 1.5


def pairs(seed: int, slower: float) -> Iterator[Pair]:
    """Yield pairs: the idle device warms up by a fifth and wanders, and stretches of idling have 2 % of noise each."""
    random = np.random.default_rng(seed)
    wander = np.cumsum(random.normal(0, 0.003, 4 * _PAIRS)) + np.linspace(0, 0.2, 4 * _PAIRS)
    place = 0

    def launch(factor: float) -> float:
        nonlocal place
        idle = _IDLE_W + wander[place]
        whole = (idle + _NET_W * factor) * (1 + random.normal(0, 0.005))
        baseline = np.mean([idle + random.normal(0, 0.02), _IDLE_W + wander[place + 1] + random.normal(0, 0.02)])
        place += 2
        return float(10 * (whole - baseline))

    for index in range(_PAIRS):
        control_first = control_goes_first(seed, "", index)
        first, second = (launch(1.0), launch(slower)) if control_first else (launch(slower), launch(1.0))
        control, treatment = (first, second) if control_first else (second, first)
        yield Pair(
            index=index,
            control_first=control_first,
            control=(control,) * len(STATISTICS),
            treatment=(treatment,) * len(STATISTICS),
            control_launch=index,
            treatment_launch=index,
            seconds=1.0,
        )


def decide(seed: int, slower: float) -> Verdict | None:
    test = SequentialTest(Parameters(seed=seed), higher_is_better=False)
    for pair in pairs(seed, slower):
        test.add(pair)
        if (verdict := test.verdict()) is not None:
            return verdict
    return None


def test_equal_builds_are_silent_on_a_device_that_warms_up() -> None:
    verdicts = Counter(decide(seed, 1.0) for seed in range(150))
    assert verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT] <= 8, "2 % on average, 3 of 150"


def test_five_percent_more_net_energy_is_found() -> None:
    verdicts = Counter(decide(seed, 1.05) for seed in range(20))
    assert verdicts[Verdict.REGRESSION] >= 15, verdicts
