"""The load in traces: synthetic ones, whose power, begin and end are known, with what real traces have on top."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.power.meters import Floats, PowerSamples
from harness.power.steps import UnusableTrace, find_load

RATE = 1000.0
BEGAN, ENDED, LASTS = 4.0, 10.0, 14.0
IDLE_W, LOAD_W = 1.2, 3.0
VOLTAGE = 4.0


def trace(power_w: Floats, rate: float = RATE) -> PowerSamples:
    times = np.arange(len(power_w)) / rate
    return PowerSamples(times, power_w / VOLTAGE, np.full(len(power_w), VOLTAGE))


def clean(idle: float = IDLE_W, load: float = LOAD_W, delay: float = 0.1) -> Floats:
    """A load that begins and ends a little after and before the times by the clock, as behind a connection."""
    times = np.arange(int(LASTS * RATE)) / RATE
    return np.where((times >= BEGAN + delay) & (times < ENDED - delay), load, idle)


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def white(power: Floats) -> Floats:
    return power + random().normal(0, 0.5, len(power))


def heavy_tails(power: Floats) -> Floats:
    return power + 0.05 * np.clip(random().standard_t(2, len(power)), -100, 100)


def correlated(power: Floats) -> Floats:
    steps = random().normal(0, 0.02, len(power))
    noise = np.empty(len(power))
    level = 0.0
    for place, step in enumerate(steps):
        level = 0.995 * level + step
        noise[place] = level
    return power + noise


def radio(power: Floats) -> Floats:
    """Bursts of 30 ms each second, as a phone on a network has, idle or not."""
    return power + 1.5 * ((np.arange(len(power)) / RATE) % 1.0 < 0.03)


def duty_cycle(power: Floats) -> Floats:
    """A load of short iterations, with pauses between them; its mean stays."""
    wave = np.where((np.arange(len(power)) // 20) % 2 == 0, 1.6, 0.4)
    return np.where(power == LOAD_W, IDLE_W + (LOAD_W - IDLE_W) * wave, power)


def quantised(power: Floats) -> Floats:
    return np.round(white(power) / 0.25) * 0.25


NOISES: tuple[Callable[[Floats], Floats], ...] = (white, heavy_tails, correlated, radio, duty_cycle, quantised)


@pytest.mark.parametrize("noise", NOISES)
def test_begin_end_and_power_of_a_load_are_found_under_noise(noise: Callable[[Floats], Floats]) -> None:
    noisy = noise(clean())
    load = find_load(trace(noisy), BEGAN, ENDED)
    assert load.is_visible
    assert (load.began_s, load.ended_s) == pytest.approx((BEGAN + 0.1, ENDED - 0.1), abs=0.06)
    times = np.arange(len(noisy)) / RATE
    is_load = (times >= BEGAN + 0.1) & (times < ENDED - 0.1)
    assert load.load_w - np.mean(load.idle_w) == pytest.approx(noisy[is_load].mean() - noisy[~is_load].mean(), rel=0.04)


def test_spikes_are_energy_and_move_no_change_point() -> None:
    power = clean()
    power[[500, 2500, 5200, 9100, 13000]] = 40.0
    power[6000:6050] = 9.0
    load = find_load(trace(power), BEGAN, ENDED)
    assert (load.began_s, load.ended_s) == pytest.approx((BEGAN + 0.1, ENDED - 0.1), abs=0.03)
    assert load.load_w == pytest.approx(power[4100:9900].mean(), rel=0.005)


def test_a_ramp_begins_where_it_is_half_way() -> None:
    power = clean(delay=0.0)
    power[4000:4800] = np.linspace(IDLE_W, LOAD_W, 800)
    load = find_load(trace(power), BEGAN, ENDED)
    assert load.began_s == pytest.approx(4.4, abs=0.1)
    assert load.ended_s == pytest.approx(ENDED, abs=0.05)


@pytest.mark.parametrize("slope_w", [0.02, -0.02])
def test_drift_is_in_the_baseline_before_and_after(slope_w: float) -> None:
    power = clean(delay=0.0) + slope_w * np.arange(int(LASTS * RATE)) / RATE
    load = find_load(trace(power), BEGAN, ENDED)
    assert load.idle_w[1] - load.idle_w[0] == pytest.approx(slope_w * 10, rel=0.1)
    assert load.load_w - np.mean(load.idle_w) == pytest.approx(LOAD_W - IDLE_W, rel=0.01)


@pytest.mark.parametrize("noise", [white, correlated, radio])
def test_without_a_step_the_times_by_the_clock_are_used_and_the_rise_is_about_0(
    noise: Callable[[Floats], Floats],
) -> None:
    load = find_load(trace(noise(clean(load=IDLE_W))), BEGAN, ENDED)
    if not load.is_visible:
        assert (load.began_s, load.ended_s) == (BEGAN, ENDED)
    assert abs(load.load_w - np.mean(load.idle_w)) < 0.1


def test_a_load_that_is_seldom_there_by_chance_is_seldom_seen() -> None:
    idle = clean(load=IDLE_W)
    seen = [
        find_load(trace(idle + random(seed).normal(0, 0.5, len(idle))), BEGAN, ENDED).is_visible for seed in range(40)
    ]
    assert sum(seen) <= 6


def test_a_load_below_idling_stays_negative() -> None:
    load = find_load(trace(white(clean(load=0.9))), BEGAN, ENDED)
    assert load.load_w - np.mean(load.idle_w) == pytest.approx(0.9 - IDLE_W, abs=0.05)


@pytest.mark.parametrize("place", [slice(500, 3000), slice(11000, 13500)])
def test_a_second_load_beside_the_program_is_no_baseline(place: slice) -> None:
    power = white(clean())
    power[place] += 2.0
    with pytest.raises(UnusableTrace, match="something else ran"):
        find_load(trace(power), BEGAN, ENDED)


def test_a_load_far_from_the_programs_times_is_not_taken_for_it() -> None:
    power = white(clean(load=IDLE_W))
    power[11500:13500] += 3.0
    with pytest.raises(UnusableTrace, match="ran after the program"):
        find_load(trace(power), BEGAN, ENDED)


def test_a_short_load_beside_the_program_is_part_of_the_baseline() -> None:
    power = white(clean())
    power[12000:12300] += 3.0
    assert find_load(trace(power), BEGAN, ENDED).idle_w[1] == pytest.approx(IDLE_W + 3.0 * 0.3 / 4, rel=0.1)


@pytest.mark.parametrize(
    ("began", "ended", "words"),
    [(4.0, 20.0, "ended too soon"), (-1.0, 5.0, "from -1.0 s"), (6.0, 5.0, "the recording")],
)
def test_a_trace_that_does_not_cover_the_program_is_refused(began: float, ended: float, words: str) -> None:
    with pytest.raises(UnusableTrace, match=words):
        find_load(trace(clean()), began, ended)


def test_hostile_traces_are_refused() -> None:
    power = clean()
    nan = power.copy()
    nan[7] = np.nan
    with pytest.raises(UnusableTrace, match="no numbers"):
        find_load(trace(nan), BEGAN, ENDED)
    with pytest.raises(UnusableTrace, match="0 samples"):
        find_load(trace(power[:0]), BEGAN, ENDED)
    times = np.arange(len(power)) / RATE
    with pytest.raises(UnusableTrace, match="backwards"):
        find_load(PowerSamples(times[::-1].copy(), power, power), BEGAN, ENDED)
    kept = np.r_[0:6000, 8000 : len(power)]
    with pytest.raises(UnusableTrace, match=r"gap of 2\.0 s"):
        find_load(PowerSamples(times[kept], power[kept], power[kept]), BEGAN, ENDED)


def test_minutes_at_the_full_rate_of_a_monsoon_take_bounded_work() -> None:
    rate, seconds = 5000, 300
    times = np.arange(rate * seconds) / rate
    power = np.where((times >= 60) & (times < 240), 3.0, 1.0) + random().normal(0, 0.4, len(times))
    load = find_load(PowerSamples(times, power / 4, np.full(len(times), 4.0)), 59.5, 240.5)
    assert (load.began_s, load.ended_s) == pytest.approx((60, 240), abs=0.5)
    assert load.load_w == pytest.approx(3.0, rel=0.01)
