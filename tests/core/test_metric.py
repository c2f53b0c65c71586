from __future__ import annotations

import pytest

from harness.core.metric import Direction, convert, direction_of


@pytest.mark.parametrize(
    ("metric", "unit", "direction"),
    [
        ("latency", "us", Direction.LOWER),
        ("peak_memory", "bytes", Direction.LOWER),
        ("top1_accuracy", "%", Direction.HIGHER),
        ("generate_tokens_per_second", "", Direction.HIGHER),
        ("throughput", "img/s", Direction.HIGHER),
        ("sqnr", "dB", Direction.HIGHER),
        ("rel_l2", "", Direction.LOWER),
    ],
)
def test_the_name_tells_which_way_is_better(metric: str, unit: str, direction: Direction) -> None:
    assert direction_of(metric, unit) is direction


def test_times_convert_and_other_units_do_not() -> None:
    assert convert(1.5, "ms", "us") == 1500
    assert convert(7, "dB", "dB") == 7
    assert convert(7, "dB", "ms") is None
