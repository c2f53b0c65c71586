"""Throttling as samples show it: the published phone, launches, recovery, and what the device itself tells."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from harness.analysis.level_changes import Level
from harness.analysis.quality import assess_quality
from harness.analysis.summary import collect
from harness.analysis.throttling import MARGIN, find_throttling, judge_levels, note_throttling
from harness.core.device import DeviceState
from harness.core.metric import Metric, Observation
from harness.core.result import Launch, Outcome

PHONE = (6.42, 6.21, 3.31, 2.75, 3.38)


def rate(*launches: Sequence[float], unit: str = "tokens/s") -> Metric:
    name = "decode_rate" if unit == "tokens/s" else "latency"
    observed = [[Observation(type="LLM", metric=name, unit=unit, samples=tuple(samples))] for samples in launches]
    return collect(observed)[0][0]


def noisy(seed: int, count: int, level: float = 10.0, spread: float = 0.03) -> list[float]:
    chance = random.Random(seed)
    return [level * math.exp(chance.gauss(0, spread)) for _ in range(count)]


def launch(index: int, started: float, wall_s: float, status: int = 0, temperature_c: float | None = None) -> Launch:
    return Launch(
        index=index,
        outcome=Outcome.OK,
        started=started,
        wall_s=wall_s,
        after=DeviceState(time=started + wall_s, thermal_status=status, temperature_c=temperature_c),
    )


@pytest.mark.parametrize("launches", [(PHONE,), tuple((value,) for value in PHONE)], ids=["samples", "launches"])
def test_the_published_phone_throttled(launches: tuple[tuple[float, ...], ...]) -> None:
    (note,) = (note for note in assess_quality([rate(*launches)], [], cores=8) if note.code == "throttled")
    assert not note.trust
    assert "became 48 % lower after 2 of 5" in note.message
    assert "(6.42, 6.21, 3.31, 2.75, 3.38 tokens/s)" in note.message


def test_the_same_values_as_times_did_not() -> None:
    assert not list(note_throttling(rate(PHONE, unit="s")))


@pytest.mark.parametrize("spread", [0.05, 0.1])
def test_five_samples_of_usual_noise_rarely_look_so(spread: float) -> None:
    trials = 2000
    metrics = (rate(noisy(seed, 5, 6.0, spread)) for seed in range(trials))
    assert sum(bool(list(note_throttling(metric))) for metric in metrics) <= 0.01 * trials


def test_a_long_launch_that_falls_is_noted() -> None:
    samples = [*noisy(1, 400, 10.0), *noisy(2, 600, 12.0)]
    (note,) = note_throttling(rate(samples, unit="ms"))
    assert "% higher after " in note.message
    assert "of 1000 samples and stayed so" in note.message


def test_nothing_becomes_hot_in_two_seconds() -> None:
    assert not list(note_throttling(rate([*noisy(1, 400, 1.0), *noisy(2, 400, 2.0)], unit="ms")))
    assert not list(note_throttling(rate(*((100 / value,) for value in PHONE), unit="ms")))


def test_rates_have_no_time_and_programs_may_replay_them() -> None:
    launches = [launch(index, 0.3 * index, 0.2) for index in range(5)]
    assert list(note_throttling(rate(*((value,) for value in PHONE)), launches))
    assert list(note_throttling(rate(PHONE), launches[:1]))


def test_a_launch_that_falls_for_good_counts_among_steady_ones() -> None:
    falling = [*noisy(1, 300, 10.0), *noisy(2, 300, 13.0)]
    slow, fast = noisy(3, 600, 13.0), noisy(4, 600, 10.0)
    assert list(note_throttling(rate(falling, slow, slow, unit="ms")))
    assert not list(note_throttling(rate(falling, fast, fast, unit="ms")))


def test_launches_that_fall_one_after_the_other_are_noted() -> None:
    launches = [noisy(seed, 20, 10.0 if seed < 8 else 12.0, 0.02) for seed in range(20)]
    (note,) = note_throttling(rate(*launches, unit="ms"))
    assert "after 8 of 20 launches" in note.message


def test_a_short_disturbance_is_no_throttling_and_a_long_one_that_recovers_is() -> None:
    def disturbed(length: int) -> list[float]:
        return [*noisy(1, 500), *noisy(2, length, 13.0), *noisy(3, 1500 - length)]

    assert find_throttling(disturbed(300), 1) is None
    throttling = find_throttling(disturbed(800), 1)
    assert throttling is not None
    assert throttling.recovered
    assert throttling.change == pytest.approx(0.3, abs=0.03)


def test_steps_are_counted_and_a_slow_start_is_none() -> None:
    values = [*noisy(0, 500, 12.0), *noisy(1, 500, 10.0), *noisy(2, 500, 12.5), *noisy(3, 500, 16.0)]
    throttling = find_throttling(values, 1)
    assert throttling is not None
    assert throttling.steps == 2
    assert abs(throttling.place - 1000) < 10
    assert throttling.before == pytest.approx(10.0, rel=0.02)
    assert find_throttling(values[:1000], 1) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_loss_is_told_from_the_best_level_and_not_from_one_before_it(sign: int) -> None:
    """A disturbance at the beginning, then the best level, then heat: the end is better than the beginning was."""
    costs = [math.log(level) for level in (1.0, 1.2, 0.7, 0.8)]
    levels = [Level(100 * place, 100 * (place + 1), cost) for place, cost in enumerate(costs)]
    found = judge_levels(levels, sign, MARGIN)

    assert found is not None
    assert (found.place, found.steps, found.recovered) == (300, 1, False)
    assert sign * math.log1p(found.change) == pytest.approx(math.log(0.8 / 0.7))


def test_impossible_values_say_nothing() -> None:
    assert find_throttling([0.0, 1.0, 2.0, 3.0, 4.0], 1) is None
    assert find_throttling([1.0] * 4, 1) is None
    assert find_throttling([1.0] * 40, -1, MARGIN) is None


def test_the_device_agrees_in_the_same_note() -> None:
    launches = [
        launch(index, 10.0 * index, 9.0, status=2 if index > 1 else 0, temperature_c=88.0) for index in range(5)
    ]
    notes = assess_quality([rate(*((value,) for value in PHONE))], launches, cores=8)
    (note,) = (note for note in notes if note.code == "throttled")
    assert "the device itself lowered its clock because of heat in 3 of 5 launches, reached 88 degrees" in note.message
