"""Disturbances of a series of launches, the largest first."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.disturbances import find_disturbances
from harness.core.comparison import Pair
from harness.core.result import Launch
from tests.analysis.compare.simulated_launches import QUIET, Change, simulated_pairs
from tests.analysis.test_quality import launch
from tests.presentation.self_check_samples import CHECK


def kinds(launches: Sequence[Launch], *pairs: Sequence[Pair]) -> list[str]:
    return [disturbance.kind for disturbance in find_disturbances(launches, [CHECK], pairs, 2)]


def test_a_quiet_device_has_none() -> None:
    launches = [launch(index, busy=0.51) for index in range(10)]
    assert kinds(launches, simulated_pairs(QUIET, Change(), 1, 60)) == []


def test_neighbours_frequency_and_heat_are_ordered_by_size() -> None:
    launches = [
        launch(index, busy=0.8, frequency_mhz=(3000.0 - 150 * index,), throttled=(0, index % 2)) for index in range(10)
    ]
    found = find_disturbances(launches, [CHECK], [], 2)
    assert [disturbance.kind for disturbance in found] == ["heat", "frequency", "neighbours"]
    assert found[2].message == "other programs used 30 % of the CPU time of the device"


def test_an_effect_of_the_order_is_told_with_its_benchmark() -> None:
    found = find_disturbances([], [CHECK, CHECK.model_copy(update={"title": "b", "slot_effect": -0.03})], [], 2)
    assert [disturbance.message for disturbance in found] == ["the second launch of a pair was 3.0 % faster (b)"]


def test_a_device_that_warms_up_drifts() -> None:
    pairs = [
        pair.model_copy(
            update={
                side: tuple(figure * (1 + 0.002 * index) for figure in getattr(pair, side))
                for side in ("control", "treatment")
            }
        )
        for index, pair in enumerate(simulated_pairs(QUIET, Change(), 1, 60))
    ]
    assert kinds([], pairs) == ["drift"]
