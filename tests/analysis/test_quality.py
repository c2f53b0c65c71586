from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.quality import (
    assess_quality,
    between_launches,
    find_impossible,
    split_by_launch,
    spread,
    trend,
    within_launches,
)
from harness.analysis.summary import collect
from harness.core.device import DeviceState
from harness.core.launch_interval import interval_of
from harness.core.metric import Metric, Observation
from harness.core.note import Note
from harness.core.result import Launch, Outcome

untimed = settings(deadline=None)  # a busy machine is no finding
positive = st.floats(min_value=1e-3, max_value=1e9)
Launches = Sequence[Sequence[float]]


def metric_of(launches: Launches, *, metric: str = "latency", unit: str = "ms") -> Metric:
    observations = [[Observation(type="NET", metric=metric, unit=unit, samples=tuple(samples))] for samples in launches]
    return collect(observations)[0][0]


def assess(
    metrics: Sequence[Metric], launches: Sequence[Launch], cores: int, threads: int | None = None
) -> tuple[Note, ...]:
    """Assess samples that are round numbers here, on which there is a test of its own."""
    return tuple(note for note in assess_quality(metrics, launches, cores, threads) if note.code != "steps")


def notes_on(launches: Launches, **about: str) -> tuple[Note, ...]:
    return assess([metric_of(launches, **about)], [], cores=2)


def codes(notes: Sequence[Note]) -> list[str]:
    return [note.code for note in notes]


def measured(seed: int, *, sd: float, between: float = 0.0, launches: int = 5, iterations: int = 50) -> Launches:
    """A simulated runner of 10 ms whose iterations vary by `sd` and whose launches vary by `between`."""
    chance = random.Random(seed)
    levels = [10 * (1 + chance.gauss(0, between)) for _ in range(launches)]
    return [[level * (1 + abs(chance.gauss(0, sd))) for _ in range(iterations)] for level in levels]


def launch(
    index: int = 0,
    *,
    wall_s: float = 1.0,
    cpu_s: float | None = 1.0,
    busy: float | None = None,
    of_cpus: int | None = None,
    frequency_mhz: tuple[float, ...] | None = None,
    cpus: tuple[int, ...] | None = None,
    temperature_c: float | None = None,
    throttled: tuple[int, int] = (0, 0),
) -> Launch:
    after = DeviceState(
        time=wall_s,
        busy=busy,
        cpus=of_cpus,
        frequency_mhz=frequency_mhz,
        temperature_c=temperature_c,
        throttle_count=throttled[1],
    )
    before = DeviceState(time=0.0, throttle_count=throttled[0])
    return Launch(
        index=index,
        outcome=Outcome.OK,
        started=0.0,
        wall_s=wall_s,
        cpu_s=cpu_s,
        cpus=cpus,
        before=before,
        after=after,
    )


def state_notes(*launches: Launch, cores: int = 2) -> tuple[Note, ...]:
    return assess([metric_of([[1.0] * 10])], launches, cores)


@untimed
@given(positive, st.lists(st.integers(min_value=1, max_value=30), min_size=1, max_size=8))
def test_constant_samples_are_never_noisy_and_have_no_trend(value: float, sizes: list[int]) -> None:
    assert set(codes(notes_on([[value] * size for size in sizes]))) <= {"few_samples"}


many_launches = st.lists(st.lists(positive, min_size=1, max_size=12), min_size=1, max_size=6)


@untimed
@given(many_launches, st.sampled_from([2.0**-20, 0.5, 1024.0]))
def test_the_unit_does_not_matter(launches: Launches, factor: float) -> None:
    metric, scaled = metric_of(launches), metric_of([[factor * sample for sample in samples] for samples in launches])
    assert within_launches(metric) == pytest.approx(within_launches(scaled))
    assert between_launches(metric) == pytest.approx(between_launches(scaled))
    assert trend(metric) == pytest.approx(trend(scaled))


@untimed
@given(many_launches, st.randoms(use_true_random=False))
def test_noise_does_not_depend_on_the_order_of_launches_and_of_samples_in_them(
    launches: Launches, chance: random.Random
) -> None:
    shuffled = [chance.sample(samples, len(samples)) for samples in chance.sample(launches, len(launches))]
    metric, shuffled_metric = metric_of(launches), metric_of(shuffled)
    assert within_launches(metric) == within_launches(shuffled_metric)
    assert between_launches(metric) == between_launches(shuffled_metric)


@untimed
@given(st.lists(positive, min_size=9, max_size=40))
def test_reversing_time_negates_the_trend(samples: list[float]) -> None:
    forth, back = trend(metric_of([samples])), trend(metric_of([samples[::-1]]))
    assert forth * back <= 0


@untimed
@given(st.lists(positive, min_size=1, max_size=40))
def test_spread_is_the_scaled_median_deviation(samples: list[float]) -> None:
    median = float(np.median(samples))
    expected = 1.4826 * float(np.median(np.abs(np.asarray(samples) - median))) / median
    assert spread(samples) == pytest.approx(expected)


def test_spread_estimates_the_deviation_of_a_normal_distribution() -> None:
    chance = np.random.default_rng(1)
    assert spread(chance.normal(100.0, 3.0, 100_000).tolist()) == pytest.approx(0.03, rel=0.02)


def test_a_few_outliers_do_not_make_a_measurement_noisy() -> None:
    steady = [10.0 + 0.01 * (i % 7) for i in range(50)]
    assert notes_on([[*steady[:-5], 90.0, 80.0, 70.0, 60.0, 50.0]] * 3) == ()


def test_samples_are_separated_by_launch() -> None:
    assert split_by_launch(metric_of([[1.0, 2.0], [], [3.0]])) == ([1.0, 2.0], [3.0])


@pytest.mark.parametrize("seed", range(10))
def test_a_quiet_machine_is_trusted_on_both_sides(seed: int) -> None:
    for side in (0, 1):
        assert notes_on(measured(2 * seed + side, sd=0.02, between=0.005)) == ()


@pytest.mark.parametrize("seed", range(5))
def test_a_crowded_machine_is_not_trusted(seed: int) -> None:
    notes = notes_on(measured(seed, sd=0.9))
    noisy = next(note for note in notes if note.code == "noisy")
    assert not noisy.trust
    assert "within a launch" in noisy.message
    assert "--cpus" in (noisy.hint or "")


def test_launches_that_disagree_are_not_trusted() -> None:
    notes = notes_on([[10.0] * 10, [10.2] * 10, [10.7] * 10])
    assert codes(notes) == ["noisy"]
    assert "differs by 6.9 % from launch to launch (limit 5 %)" in notes[0].message


def test_one_bad_launch_of_many_does_not_affect_the_rest() -> None:
    assert notes_on([*[[10.0] * 10] * 11, [20.0] * 10]) == ()
    assert codes(notes_on([*[[10.0] * 10] * 8, [20.0] * 10])) == ["noisy"]


def test_few_samples_are_noted_and_a_single_one_is_not_trusted() -> None:
    few = notes_on([[1.0, 1.0], [1.0]])
    assert [(note.code, note.trust) for note in few] == [("few_samples", True)]
    assert "3 samples" in few[0].message
    assert [(note.code, note.trust) for note in notes_on([[1.0]])] == [("few_samples", False)]
    assert notes_on([[1.0] * 5]) == ()


@pytest.mark.parametrize(
    ("samples", "message", "trust"),
    [
        (
            [3.0] * 10,
            "every sample of NET latency is the same: what its clock rounds away is not seen",
            True,
        ),
        ([3.0, 4.0] * 5, "NET latency comes in steps of 28.6 % of its median, and may be wrong by one", False),
        ([30.0, 31.0, 33.0] * 5, "NET latency comes in steps of 3.2 % of its median, and may be wrong by one", True),
    ],
)
def test_samples_in_steps_are_noted(samples: list[float], message: str, trust: bool) -> None:
    notes = assess_quality([metric_of([samples] * 5)], [], cores=2)
    told = [(note.message, note.trust) for note in notes if note.code == "steps"]
    assert told == [(message, trust)]


@pytest.mark.parametrize("samples", [[100.0, 101.0] * 5, [3.0, 4.0, 5.0, 6.0], [3.0] * 4, [0.0] * 10])
def test_fine_steps_and_few_equal_samples_are_not_noted(samples: list[float]) -> None:
    assert "steps" not in codes(assess_quality([metric_of([samples])], [], cores=2))


def test_a_summary_without_samples_is_assessed_by_its_own_figures() -> None:
    def ready(**summary: float | None) -> tuple[Note, ...]:
        return assess([Metric(name="NET latency", type="NET", metric="latency", unit="us", summary=summary)], [], 2)

    assert ready(p50=100.0, MAD=1.0, n=50.0) == ()
    assert codes(ready(p50=100.0, MAD=20.0)) == ["noisy"]
    assert codes(ready(mean=100.0, n=3.0)) == ["few_samples"]


def test_a_launch_that_begins_slower_is_warming_up() -> None:
    assert notes_on([[12.0] * 7 + [10.0] * 43] * 3) == ()  # not most of the first third
    notes = notes_on([[11.0] * 20 + [10.0] * 30] * 3)
    assert [(note.code, note.hint) for note in notes] == [("warming_up", "raise `warmup`")]
    assert "10.0 % slower" in notes[0].message


def test_a_median_of_the_warm_up_is_not_trusted() -> None:
    (note,) = notes_on([[18.0] * 14 + [1.2] * 6] * 3)
    assert (note.code, note.trust) == ("warming_up", False)
    assert note.error == pytest.approx(14.0)
    assert "15 times as slow in the first third of a launch as in the last" in note.message
    (rate,) = notes_on([[50.0] * 30 + [100.0] * 20] * 3, metric="throughput", unit="images/s")
    assert (rate.code, rate.trust) == ("warming_up", False)
    assert rate.error == pytest.approx(1.0)
    (short,) = notes_on([[11.0] * 20 + [10.0] * 30] * 3)
    assert (short.trust, short.error) == (True, None), "the median is of what came after it"


def test_a_launch_that_ends_slower_is_slowing_down() -> None:
    assert codes(notes_on([[10.0] * 30 + [11.0] * 20] * 3)) == ["slowing_down"]


def test_a_rising_rate_is_warming_up() -> None:
    assert codes(notes_on([[90.0] * 20 + [100.0] * 30] * 3, metric="throughput", unit="images/s")) == ["warming_up"]


def test_a_trend_needs_most_launches_to_agree() -> None:
    rising, flat = [11.0] * 20 + [10.0] * 30, [10.0] * 50
    assert notes_on([rising, flat, flat, flat]) == ()
    assert codes(notes_on([rising, rising, rising, rising, flat])) == ["warming_up"]


@pytest.mark.parametrize("seed", range(20))
def test_random_variation_is_no_trend(seed: int) -> None:
    assert "warming_up" not in codes(notes_on(measured(seed, sd=0.08, launches=1)))


def test_without_a_timed_metric_nothing_is_assessed() -> None:
    accuracy = metric_of([[0.9]], metric="accuracy", unit="")
    assert assess([accuracy], [launch(busy=1.0, throttled=(0, 5))], 2) == ()
    assert assess([], [], 2) == ()


def test_zero_and_enormous_samples_are_assessed_without_a_warning() -> None:
    assert codes(notes_on([[0.0] * 10] * 2)) == ["impossible"]
    assert codes(notes_on([[-1.7e308, 1.7e308] * 5, [1.7e308] * 10])) == ["impossible", "noisy"]
    assert math.isinf(within_launches(metric_of([[-1.0, 0.0, 1.0]])))


def test_a_time_that_is_not_positive_is_not_trusted() -> None:
    (note,) = notes_on([[2.0, 2.0, -123.0, 2.0, 2.0]] * 2)[:1]
    assert (note.code, note.trust) == ("impossible", False)
    assert "was -123 ms in 2 of 10 samples" in note.message
    (note,) = notes_on([[2.0, -5.0, -123.0, 2.0, 2.0]])[:1]
    assert "was between -123 ms and -5 ms in 2 of 5 samples" in note.message


@pytest.mark.parametrize(
    ("metric", "unit", "samples", "is_wrong"),
    [
        ("latency", "ms", [0.0] * 4, True),
        ("latency", "ms", [-1.0, -1.0, 2.0], True),
        ("latency", "ms", [-1.0, 2.0, 2.0], False),
        ("dropped_frames", "frames/s", [0.0] * 4, False),
        ("av_drift", "ms", [-1.0] * 4, False),
    ],
)
def test_a_latency_of_nothing_was_not_measured(metric: str, unit: str, samples: list[float], is_wrong: bool) -> None:
    found = find_impossible([metric_of([samples], metric=metric, unit=unit)])
    assert (found is not None) == is_wrong


def test_a_throttled_launch_is_not_trusted() -> None:
    notes = state_notes(launch(), launch(1, throttled=(3, 4)))
    assert [(note.code, note.trust) for note in notes] == [("throttled", False)]
    assert "1 of 2 launches" in notes[0].message


def test_throttling_before_the_launch_is_ignored() -> None:
    assert state_notes(launch(throttled=(3, 3))) == ()


def test_a_falling_frequency_is_noted() -> None:
    notes = state_notes(launch(frequency_mhz=(3000.0, 3000.0)), launch(1, frequency_mhz=(2000.0, 2400.0)))
    assert [(note.code, note.trust) for note in notes] == [("frequency", True)]
    assert "20 %" in notes[0].message


def test_a_rising_frequency_and_other_cpus_are_ignored() -> None:
    assert state_notes(launch(frequency_mhz=(2000.0,)), launch(1, frequency_mhz=(3000.0,))) == ()
    pinned = (
        launch(frequency_mhz=(3000.0, 2000.0), cpus=(1,)),
        launch(1, frequency_mhz=(1000.0, 2000.0), cpus=(1,)),
    )
    assert state_notes(*pinned) == ()


def clocked(
    index: int,
    spent_ms: dict[str, dict[int, int]],
    *,
    cpus: tuple[int, ...] | None = (4, 5),
    wall_s: float = 1.0,
    after_mhz: float = 2000.0,
) -> Launch:
    """A launch around which clock domains (`little` of CPUs 0 to 3, `big` of 4 and 5) spent so long at each kHz."""
    since_boot = {domain: dict.fromkeys(spent, 7000) for domain, spent in spent_ms.items()}
    now = {domain: {khz: 7000 + ms for khz, ms in spent.items()} for domain, spent in spent_ms.items()}
    states = [
        DeviceState(
            time=time,
            residency_ms=residency,
            frequency_mhz=(after_mhz,) * 6,
            domain_cpus={"little": (0, 1, 2, 3), "big": (4, 5)},
        )
        for time, residency in ((0.0, since_boot), (wall_s, now))
    ]
    return launch(index, wall_s=wall_s, cpus=cpus).model_copy(update={"before": states[0], "after": states[1]})


def test_a_frequency_drop_within_a_launch_is_noted_even_after_recovery() -> None:
    steady = clocked(0, {"big": {1_000_000: 0, 2_000_000: 1000}})
    held_back = clocked(1, {"big": {1_000_000: 600, 2_000_000: 400}})
    notes = state_notes(steady, held_back)
    assert codes(notes) == ["frequency"]
    assert "30 %" in notes[0].message


def test_frequencies_between_launches_and_of_other_cpus_are_ignored() -> None:
    steady = clocked(0, {"big": {500_000: 0, 2_000_000: 1000}, "little": {1_000_000: 1000, 500_000: 0}})
    idle_before = clocked(1, {"big": {500_000: 2000, 2_000_000: 1000}, "little": {1_000_000: 0, 500_000: 3000}})
    assert state_notes(steady, idle_before) == ()


def test_unpinned_programs_are_assessed_by_the_fastest_domain() -> None:
    steady = clocked(0, {"big": {2_000_000: 1000, 1_000_000: 0}, "little": {1_000_000: 1000}}, cpus=None)
    slower = clocked(1, {"big": {2_000_000: 0, 1_000_000: 1000}, "little": {1_000_000: 1000}}, cpus=None)
    assert codes(state_notes(steady, slower)) == ["frequency"]


@pytest.mark.parametrize(
    "unknown",
    [
        pytest.param(clocked(1, {}, after_mhz=1000.0), id="no residency"),
        pytest.param(clocked(1, {"big": {2_000_000: -7000}}, after_mhz=1000.0), id="restarted meanwhile"),
        pytest.param(clocked(1, {"big": {2_000_000: 10}}, after_mhz=1000.0), id="counts too little"),
        pytest.param(clocked(1, {"little": {2_000_000: 1000}}, after_mhz=1000.0), id="not of its CPUs"),
        pytest.param(clocked(1, {"big": {2_000_000: 50}}, wall_s=0.05, after_mhz=1000.0), id="too short"),
    ],
)
def test_without_time_per_frequency_of_one_launch_the_frequency_afterwards_is_used(unknown: Launch) -> None:
    notes = state_notes(clocked(0, {"big": {500_000: 1000}}), unknown)
    assert codes(notes) == ["frequency"]
    assert "50 %" in notes[0].message


def test_high_temperature_is_noted() -> None:
    assert codes(state_notes(launch(temperature_c=60.0), launch(1, temperature_c=91.0))) == ["hot"]


def test_a_machine_busy_with_other_programs_is_not_trusted() -> None:
    notes = state_notes(launch(busy=0.9, cpu_s=1.0))
    assert [(note.code, note.trust) for note in notes] == [("busy", False)]
    assert "up to 40 %" in notes[0].message


def test_busy_share_is_relative_to_the_usable_cpus() -> None:
    """A runner on one of two CPUs that may be used, of a machine of four: nobody else used anything."""
    alone, beside = (launch(busy=busy, cpu_s=1.0, of_cpus=4) for busy in (0.25, 0.5))
    assert state_notes(alone) == ()
    assert "up to 25 %" in state_notes(beside)[0].message


def test_the_runner_itself_does_not_count_as_busy() -> None:
    assert state_notes(launch(busy=1.0, cpu_s=2.0)) == ()
    assert state_notes(launch(busy=0.6, cpu_s=1.0)) == ()


def test_one_busy_launch_of_three_is_noted_but_trusted() -> None:
    notes = state_notes(launch(busy=0.5), launch(1, busy=0.9), launch(2, busy=0.5))
    assert [(note.code, note.trust) for note in notes] == [("busy", True)]


def test_short_launches_are_assessed_together_because_cpu_time_has_coarse_ticks() -> None:
    def short(busy: float) -> Launch:
        return launch(wall_s=0.06, cpu_s=0.06, busy=busy)

    assert state_notes(short(1.0), *[short(0.5)] * 9) == ()
    assert codes(state_notes(*[short(1.0), short(0.9)] * 5)) == ["busy"]
    assert state_notes(*[short(1.0), short(0.9)] * 4) == ()


def test_what_the_harness_does_around_tiny_launches_is_not_called_others() -> None:
    assert state_notes(*[launch(wall_s=0.003, cpu_s=0.002, busy=0.5)] * 300) == ()


def test_missing_device_state_causes_no_note() -> None:
    blind = Launch(index=0, outcome=Outcome.OK, started=0.0, wall_s=1.0, cpu_s=1.0)
    assert state_notes(blind, launch(cpu_s=None, busy=1.0), launch(busy=None)) == ()


def spun(*shares: float, best_ms: float = 0.25) -> list[Launch]:
    """Launches around which fixed work took so much longer than at its best."""
    return [
        launch(index).model_copy(update={"spin_ms": best_ms * (1 + share), "best_spin_ms": best_ms})
        for index, share in enumerate(shares)
    ]


def test_a_cpu_that_is_slower_than_at_its_best_in_most_launches_is_not_trusted() -> None:
    (note,) = state_notes(*spun(0.6, 0.7, 0.0, 0.75, 0.5))
    assert (note.code, note.trust, note.error) == ("slowed", False, None)
    assert "in 4 of 5 launches" in note.message
    assert "60 % longer" in note.message


def test_a_single_slowed_launch_is_not_trusted_either() -> None:
    assert codes(state_notes(*spun(0.6))) == ["slowed"]


@given(st.lists(st.floats(0.0, 0.18), min_size=1, max_size=30))
def test_a_cpu_as_fast_as_on_quiet_machines_has_no_note(shares: list[float]) -> None:
    assert state_notes(*spun(*shares)) == ()


def test_a_neighbour_in_half_of_the_launches_is_no_doubt_because_the_median_is_of_the_others() -> None:
    assert state_notes(*spun(0.7, 0.0, 0.7, 0.1)) == ()


def test_a_device_that_times_no_work_has_no_note_of_its_speed() -> None:
    assert state_notes(launch(0)) == ()


def slept(*, suspends: tuple[int, int] | None = None, up_s: float = 60.0, awake_s: float | None = None) -> Launch:
    counts = suspends or (None, None)
    awake = (None, None) if awake_s is None else (500.0, 500.0 + awake_s)
    before, after = (
        DeviceState(time=0.0, uptime_s=uptime_s, awake_s=awake_part, suspend_count=count)
        for uptime_s, awake_part, count in zip((1000.0, 1000.0 + up_s), awake, counts, strict=True)
    )
    return launch().model_copy(update={"before": before, "after": after})


@pytest.mark.parametrize(
    "asleep", [slept(suspends=(3, 4)), slept(awake_s=20.0), slept(up_s=5.0, awake_s=0.5), slept(awake_s=51.0)]
)
def test_a_device_that_slept_is_not_trusted(asleep: Launch) -> None:
    (note,) = [note for note in state_notes(launch(), asleep) if note.code == "slept"]
    assert not note.trust
    assert "1 of 2 launches" in note.message


@pytest.mark.parametrize(
    "awake", [slept(), slept(suspends=(3, 3)), slept(awake_s=59.0), slept(up_s=1.0, awake_s=0.0), slept(awake_s=-9.0)]
)
def test_a_device_that_may_have_been_awake_is_not_said_to_have_slept(awake: Launch) -> None:
    """Ticks are an estimate, and a device that restarted counts anew."""
    assert "slept" not in codes(state_notes(awake))


def with_states(**states: tuple[object, object]) -> Launch:
    """A launch with these values of its states before and after."""
    before, after = (DeviceState(time=0.0, **{name: pair[at] for name, pair in states.items()}) for at in (0, 1))
    return launch().model_copy(update={"before": before, "after": after})


@pytest.mark.parametrize("pair", [(True, True), (False, True), (True, False), (None, True)])
def test_a_device_in_low_power_mode_is_not_trusted(pair: tuple[bool | None, bool]) -> None:
    (note,) = [note for note in state_notes(launch(), with_states(low_power_mode=pair)) if note.code == "low_power"]
    assert not note.trust
    assert "1 of 2 launches" in note.message


def test_a_screen_that_became_brighter_is_named_and_no_doubt() -> None:
    (note,) = state_notes(with_states(brightness=(0.4, 0.45)), with_states(brightness=(0.45, 0.8)))
    assert (note.code, note.trust) == ("brightness", True)
    assert "from 40 % to 80 %" in note.message


def test_a_device_that_saves_no_power_and_stays_as_bright_has_no_note() -> None:
    assert state_notes(with_states(low_power_mode=(False, False), brightness=(0.5, 0.5)), launch()) == ()


def with_interval(metric: Metric) -> Metric:
    return metric.model_copy(update={"interval": interval_of(metric)})


def test_noise_that_the_interval_shows_is_no_doubt() -> None:
    metric = metric_of([[10.0] * 10, [12.0] * 10, [11.0] * 10])
    (doubted,) = assess([metric], [], cores=2)
    (shown,) = assess([with_interval(metric)], [], cores=2)
    assert (doubted.code, doubted.trust) == ("noisy", False)
    assert (shown.code, shown.trust, shown.message) == ("noisy", True, doubted.message)


def busy_note(share: float, threads: int | None, *metrics: Metric, cores: int = 2) -> Note:
    """Return the note on others that used a share of the machine beside a runner that used nothing."""
    metric = metric_of([[1.0] * 10])
    (note,) = assess([metric, *metrics], [launch(busy=share, cpu_s=0.0)], cores, threads)
    return note


def test_others_that_fit_beside_the_threads_are_no_doubt() -> None:
    assert busy_note(0.5, threads=2, cores=4).trust
    assert busy_note(0.4, threads=1, cores=2).trust
    assert busy_note(0.504, threads=1, cores=2).trust, "a hundredth at most"
    assert not busy_note(0.52, threads=1, cores=2).trust


def test_others_that_do_not_fit_may_have_slowed_the_median_by_what_they_took() -> None:
    note = busy_note(0.25, threads=2, cores=2)  # half of a CPU, of two threads
    assert not note.trust
    assert note.error == pytest.approx(1 / 3)


def test_two_clocks_of_one_thread_show_more_than_the_load() -> None:
    assert not busy_note(0.9, threads=1, cores=2).trust
    assert busy_note(0.9, 1, metric_of([[1.0] * 10], metric="cpu_time"), cores=2).trust


def test_threads_that_were_observed_count_where_the_runtime_tells_none() -> None:
    observed = Observation(type="RUN", metric="threads_observed", unit="", samples=(1.0,))
    (metric,) = collect([[observed]])[0]
    assert busy_note(0.4, None, metric).trust
    assert not busy_note(0.9, None, metric).trust


def test_an_unknown_number_of_threads_leaves_a_doubt_without_a_size() -> None:
    note = busy_note(0.5, threads=None)
    assert (note.trust, note.error) == (False, None)
