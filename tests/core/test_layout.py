"""Layout floors: what links of one source differ by, and what that says about a difference."""

from __future__ import annotations

import math

import pytest

from harness.core.layout import LayoutDifference, LayoutFloor, layout_notes
from tests.presentation.comparison_samples import compared, made_pairs


def shown(layout: int, change: float) -> LayoutDifference:
    return LayoutDifference(layout=layout, log_ratio=math.log1p(change), is_shown=True, pairs=20)


def hidden(layout: int, low: float | None, high: float | None) -> LayoutDifference:
    return LayoutDifference(layout=layout, log_ratio=0.001, low_log_ratio=low, high_log_ratio=high, pairs=100)


def floor_of(*differences: LayoutDifference, metric: str = "NET latency") -> LayoutFloor:
    return LayoutFloor(
        build="b",
        commit="1",
        device="d",
        benchmark="x",
        title="m/a",
        metric=metric,
        time=0.0,
        differences=differences,
    )


def codes(change: float, floor: LayoutFloor | None) -> list[str]:
    comparison = compared("a", made_pairs(change, 30)).comparison
    assert comparison is not None
    return [note.code for note in layout_notes(comparison, floor)]


def test_the_floor_is_the_largest_difference_between_two_layouts() -> None:
    assert floor_of(shown(1, 0.02), shown(2, 0.01)).floor == pytest.approx(0.02)
    assert floor_of(shown(1, 0.02), shown(2, -0.01)).floor == pytest.approx(1.02 / 0.99 - 1)


def test_noise_makes_no_floor() -> None:
    floor = floor_of(hidden(1, -0.004, 0.006), hidden(2, -0.002, 0.003))
    assert floor.floor == 0
    assert floor.resolution == pytest.approx(math.expm1(0.006))
    assert floor_of(hidden(1, None, 0.006)).resolution is None


@pytest.mark.parametrize(
    ("change", "expected"), [(0.015, ["below_layout_floor"]), (-0.015, ["below_layout_floor"]), (0.05, [])]
)
def test_only_a_proven_difference_below_the_floor_is_noted(change: float, expected: list[str]) -> None:
    assert codes(change, floor_of(shown(1, 0.02))) == expected


def test_without_a_floor_or_a_change_there_is_no_note() -> None:
    assert codes(0.015, None) == codes(0.015, floor_of(hidden(1, -0.01, 0.01))) == []
    assert codes(0.0, floor_of(shown(1, 0.02))) == []
    assert codes(0.015, floor_of(shown(1, 0.02), metric="NET energy")) == []
