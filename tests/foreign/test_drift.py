"""Samples that move in one direction: the real case, its chance, and how often steady ones are called so."""

from __future__ import annotations

import random

import pytest

from harness.analysis.summary import collect
from harness.core.metric import Metric, Observation
from harness.foreign.drift import FASTER_LEVEL, LARGE_LEVEL, compute_probability, find_drift

DECODE = (6.416, 6.21, 3.307, 2.749, 3.378)
PREFILL = (185.509, 202.869, 185.019, 93.141, 92.109)


def _metrics(**samples: tuple[float, ...]) -> tuple[Metric, ...]:
    observations = [
        Observation(type="LLM", metric=name, unit="tokens/s" if name.endswith("rate") else "ms", samples=values)
        for name, values in samples.items()
    ]
    return collect([observations])[0]


def test_the_published_phone_throttled() -> None:
    main, other = _metrics(decode_rate=DECODE, prefill_rate=PREFILL)
    drift = find_drift(main, (main, other), warmup=1)
    assert drift is not None
    assert drift.slower
    assert (round(drift.early, 2), round(drift.late, 2)) == (6.31, 3.05)
    assert drift.probability == 4 / 120


def test_its_decode_rates_alone_are_enough_since_they_fall_by_half() -> None:
    (main,) = _metrics(decode_rate=DECODE)
    drift = find_drift(main, ())
    assert drift is not None
    assert drift.probability == 7 / 120
    assert drift.change < -0.5


def test_the_same_order_of_closer_samples_is_not_enough() -> None:
    (main,) = _metrics(decode_rate=tuple(rate**0.25 for rate in DECODE))
    assert find_drift(main, ()) is None


@pytest.mark.parametrize("name", ["latency", "rate"])
def test_directions_count(name: str) -> None:
    (main,) = _metrics(**{name: (10.0, 12.0, 14.0, 16.0, 18.0)})
    drift = find_drift(main, ())
    assert drift is not None
    assert drift.slower == (name == "latency")


def test_a_slow_warm_up_is_excused() -> None:
    (main,) = _metrics(latency=(30.0, 20.0, 15.0, 10.0, 10.1, 9.9, 10.0, 10.2))
    assert find_drift(main, (), warmup=3) is None


def test_small_trends_and_zeros_are_left_alone() -> None:
    for samples in ((10.0, 10.1, 10.2, 10.3, 10.4), (0.0, 1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0)):
        (main,) = _metrics(latency=samples)
        assert find_drift(main, ()) is None


def test_the_rarest_order_has_one_chance() -> None:
    assert compute_probability([1.0, 2.0, 3.0, 4.0]) == (1 / 24, 24)
    assert compute_probability([1.0, 1.0, 1.0]) == (1.0, 6)


@pytest.mark.parametrize("count", [4, 5, 6, 30])
def test_steady_samples_are_rarely_called_drifting(count: int) -> None:
    """However they are distributed: here with a spread that is large enough for the wider of the limits."""
    chance = random.Random(count)
    trials, called = 400, 0
    for _ in range(trials):
        samples = tuple(chance.lognormvariate(0.0, 0.8) for _ in range(count))
        (main,) = _metrics(latency=samples)
        called += find_drift(main, ()) is not None
    bound = LARGE_LEVEL + FASTER_LEVEL
    assert called / trials <= bound + 3 * (bound * (1 - bound) / trials) ** 0.5
