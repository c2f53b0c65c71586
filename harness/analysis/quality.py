"""Quality of the numbers of a result: whether they can be believed, and what to do when they cannot.

Every limit is a choice, with what was measured for it: 9,500 launches of a MobileNetV2 runner on a machine that was
quiet, had a bursty neighbour, or was crowded. There the iterations of a launch had a standard deviation of 2.0 %, 2.7 %
and 89 %, and the lower quartiles of neighbouring launches of the same program one of 0.5 %, 0.9 % and 1.7 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.core.device import DeviceState
from harness.core.metric import Direction, Metric, main_metric
from harness.core.note import Note
from harness.core.order_statistics import median, median_deviation, median_of_ordered, quantile
from harness.core.result import Launch

WITHIN_LIMIT: Final = 0.10
"""Robust spread of the iterations of a launch: four times that beside a bursty neighbour, far from a crowded machine's.
At 50 iterations their median is then still known to 2 %."""

BETWEEN_LIMIT: Final = 0.05
"""Distance of the launch medians: chance makes 4 % of five launches that vary by 1.7 %. A real difference of 5 % is
what a reader would act on, so launches of one program must not show it."""

TREND_LIMIT: Final = 0.05
"""Change from the first to the last third of a launch: twice what chance makes of 50 iterations that spread by 5 %."""

FEWEST_SAMPLES: Final = 5
"""Below, neither spread nor trend can be seen: of 3 samples the spread is known to a factor of 2 at best."""

BUSY_LIMIT: Final = 0.15
"""Share of the machine that others may use: below, a pinned runner on a machine of two cores still has its core."""

FREQUENCY_LIMIT: Final = 0.10
"""Loss of clock frequency between launches that is reported: a latency that follows it would be called noisy."""

HOT_C: Final = 85.0
"""Temperature that is reported: systems on a chip begin to lower their clock between 80 and 95 degrees."""

BRIGHTNESS_LIMIT: Final = 0.1
"""Change of a screen's brightness, of its range, that is reported. A choice: nobody has measured what it costs."""

SLEEP_S: Final = 2.0
SLEEP_SHARE: Final = 0.1
"""Difference, and share of the time, by which a device may have been awake for less than it was up: the former is
counted in ticks on phones, which kernels that stop the tick of an idle CPU estimate."""

_SMALLEST_THIRD: Final = 3
"""Samples that a third of a launch needs for a meaningful median."""

_MOST_LOST: Final = 0.9
"""Share of the threads' CPU time beyond which nothing is known about their speed."""

_SHORTEST_S: Final = 0.1
"""Below, CPU time counted in ticks of 10 ms says nothing about a single launch."""


def assess_quality(
    metrics: Sequence[Metric], launches: Sequence[Launch], cores: int, threads: int | None = None
) -> tuple[Note, ...]:
    """Return the notes on the quality of a result's main metric; none unless that is a time or a rate.

    Noise between launches is no doubt where the median has an interval over them, which shows it.

    Args:
        metrics: The result's metrics.
        launches: Its launches, with the state of the device before and after each.
        cores: CPUs of the device, for states that do not name the number that their `busy` is a share of.
        threads: Threads that were asked for, for programs that do not report how many they used.

    Returns:
        Notes `impossible`, `few_samples`, `noisy`, `warming_up`, `slowing_down`, `throttled`, `frequency`, `hot`,
        `slept`, `low_power`, `brightness`, `busy` and `spoilt_by_heat`.
    """
    main = main_metric(metrics)
    if main is None or not main.is_timed:
        return ()
    sample_notes = (*_impossible(main), *_few_samples(main), *_noisy(main), *_trending(main))
    counting = [launch for launch in launches if launch.discarded is None]
    device_notes = (
        *_note_heat(counting),
        *_note_sleep(counting),
        *_note_low_power(counting),
        *_note_brightness(counting),
        *_note_load(counting, cores, _threads_by_load(metrics, threads)),
    )
    return (*sample_notes, *device_notes, *_discarded_for_heat(launches))


def split_by_launch(metric: Metric) -> tuple[Sequence[float], ...]:
    """Return the samples of each launch that has any, in order."""
    by_launch: dict[int, list[float]] = {launch: [] for launch in metric.launches}
    for launch, sample in zip(metric.launches, metric.samples, strict=True):
        by_launch[launch].append(sample)
    return tuple(by_launch.values())


def spread(samples: Sequence[float]) -> float:
    """Return the robust relative spread: 1.4826 MAD / |median|, for normal samples the coefficient of variation.

    Half of the samples may be anything without moving it far (Rousseeuw and Croux, JASA 88, 1993).
    """
    ordered = sorted(samples)
    return _relative(1.4826 * median_deviation(ordered), median_of_ordered(ordered))


def within_launches(metric: Metric) -> float:
    """Return the spread of the iterations, in the median of the launches; 0 where no launch has three samples."""
    spreads = [spread(samples) for samples in split_by_launch(metric) if len(samples) >= _SMALLEST_THIRD]
    if spreads:
        return median(spreads)
    deviation, center = metric.summary.get("MAD"), metric.summary.get("p50")
    if metric.samples or deviation is None or center is None:
        return 0.0
    return _relative(1.4826 * deviation, center)


def between_launches(metric: Metric) -> float:
    """Return the distance of the largest from the smallest launch median, relative to their median; 0 for one launch.

    The range grows with the number of launches by chance alone, so of ten and more the outer tenths are left out.
    """
    medians = sorted(median(samples) for samples in split_by_launch(metric))
    if len(medians) < 2:
        return 0.0
    outer = len(medians) // 10
    return _relative(medians[-1 - outer] - medians[outer], median_of_ordered(medians))


def trend(metric: Metric) -> float:
    """Return how much slower launches begin than they end: 0.1 is 10 % slower, -0.1 is 10 % faster, 0 is steady.

    Three quarters of the launches must agree, each by more than the spread of its last third.
    """
    changes = sorted(_change(samples) for samples in split_by_launch(metric) if len(samples) >= 3 * _SMALLEST_THIRD)
    if not changes:
        return 0.0
    change = max(quantile(changes, 0.25), 0.0) + min(quantile(changes, 0.75), 0.0)
    return -change if metric.direction is Direction.HIGHER else change


def _impossible(metric: Metric) -> Iterator[Note]:
    wrong = [sample for sample in metric.samples or (metric.median or 1.0,) if sample <= 0]
    if wrong:
        yield Note(
            code="impossible",
            message=f"{metric.name} was {f'{wrong[0]:g} {metric.unit}'.rstrip()} in {len(wrong)} of "
            f"{max(1, len(metric.samples))} samples: no time, and no rate, is zero or less",
            hint="check how the program measures time: the clock may have been set, or is too coarse",
            trust=False,
        )


def _few_samples(metric: Metric) -> Iterator[Note]:
    count = len(metric.samples) or metric.summary.get("n")
    if count is not None and count < FEWEST_SAMPLES:
        yield Note(
            code="few_samples",
            message=f"{metric.name} has {count:g} sample{'s' if count != 1 else ''}: its noise cannot be assessed",
            hint=f"raise `iter` or `repeat` to at least {FEWEST_SAMPLES} samples",
            trust=count > 1,
        )


def _noisy(metric: Metric) -> Iterator[Note]:
    within, between = within_launches(metric), between_launches(metric)
    reasons = []
    if within > WITHIN_LIMIT:
        reasons.append(f"spreads by {within:.1%} within a launch (limit {WITHIN_LIMIT:.0%})")
    if between > BETWEEN_LIMIT:
        reasons.append(f"differs by {between:.1%} from launch to launch (limit {BETWEEN_LIMIT:.0%})")
    if reasons:
        yield Note(
            code="noisy",
            message=f"{metric.name} {' and '.join(reasons)}",
            hint="close other programs, pin the runner with `cpu-list`, let the device cool down, "
            "and measure more launches (`repeat`)",
            trust=metric.interval is not None,
        )


def _trending(metric: Metric) -> Iterator[Note]:
    change = trend(metric)
    if change > TREND_LIMIT:
        yield Note(
            code="warming_up",
            message=f"{metric.name} is {change:.1%} slower in the first third of a launch than in the last: "
            "the warm-up was not over",
            hint="raise `warmup`",
        )
    elif change < -TREND_LIMIT:
        yield Note(
            code="slowing_down",
            message=f"{metric.name} is {-change:.1%} faster in the first third of a launch than in the last",
            hint="the device may be heating up: raise `cooldown`, or measure more launches with fewer iterations",
        )


def _discarded_for_heat(launches: Sequence[Launch]) -> Iterator[Note]:
    """Note discarded launches although the numbers are sound: they explain why it took so long."""
    discarded = [launch.index for launch in launches if launch.discarded is not None and launch.throttled]
    if discarded:
        yield Note(
            code="spoilt_by_heat",
            message=f"{_in_launches(discarded, launches)} did not count: throttled by heat",
            hint="give it pauses (`cooldown`), take it out of its case",
        )


def _note_heat(launches: Sequence[Launch]) -> Iterator[Note]:
    throttled = [launch.index for launch in launches if launch.throttled]
    if throttled:
        yield Note(
            code="throttled",
            message=f"the device lowered its clock because of heat in {_in_launches(throttled, launches)}",
            hint="let it cool down: raise `cooldown`, take it out of its case, use fewer iterations",
            trust=False,
        )
    drop = frequency_drop(launches)
    if drop > FREQUENCY_LIMIT:
        yield Note(
            code="frequency",
            message=f"the clock frequency fell by {drop:.0%} between launches",
            hint="fix it for the measurement (governor `performance`, turbo off), or let the device cool down",
        )
    hottest = max((_temperature(launch) for launch in launches), default=-math.inf)
    if hottest >= HOT_C:
        yield Note(
            code="hot",
            message=f"the device reached {hottest:.0f} degrees Celsius",
            hint="let it cool down: raise `cooldown`",
        )


def _note_sleep(launches: Sequence[Launch]) -> Iterator[Note]:
    slept = [launch.index for launch in launches if _has_slept(launch)]
    if slept:
        yield Note(
            code="slept",
            message=f"the device slept in {_in_launches(slept, launches)}: a program stands still then, and clocks and "
            "caches are cold afterwards",
            hint="keep it awake: plug it in, leave its screen on (`--screen on` for phones)",
            trust=False,
        )


def _note_low_power(launches: Sequence[Launch]) -> Iterator[Note]:
    saving = [launch.index for launch in launches if any(state.low_power_mode for state in _states(launch))]
    if saving:
        yield Note(
            code="low_power",
            message=f"the device was in low power mode in {_in_launches(saving, launches)}, which limits its clocks",
            hint="switch it off in its settings, and charge the device",
            trust=False,
        )


def _note_brightness(launches: Sequence[Launch]) -> Iterator[Note]:
    values = [state.brightness for launch in launches for state in _states(launch) if state.brightness is not None]
    if values and max(values) - min(values) > BRIGHTNESS_LIMIT:
        yield Note(
            code="brightness",
            message=f"the brightness of the screen went from {min(values):.0%} to {max(values):.0%} while it was "
            "measured: a bright screen heats the device and takes from its power",
            hint="switch automatic brightness off",
        )


def _states(launch: Launch) -> tuple[DeviceState, ...]:
    return tuple(state for state in (launch.before, launch.after) if state is not None)


def _has_slept(launch: Launch) -> bool:
    """Return whether a device slept during a launch: it counted that, or its clocks differ too much."""
    if launch.before is None or launch.after is None:
        return False
    falls = _increase(launch.before.suspend_count, launch.after.suspend_count)
    up_s = _increase(launch.before.uptime_s, launch.after.uptime_s)
    awake_s = _increase(launch.before.awake_s, launch.after.awake_s)
    return bool(falls) or (
        up_s is not None and awake_s is not None and up_s - awake_s > SLEEP_S + SLEEP_SHARE * up_s and awake_s >= 0
    )


def _increase(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _note_load(launches: Sequence[Launch], cores: int, threads: int | None) -> Iterator[Note]:
    shares = [share for launch in launches if (share := used_by_others(launch, cores)) is not None]
    shares_of_others = [others for seconds, others in shares if seconds >= _SHORTEST_S]
    total = sum(seconds for seconds, _ in shares)
    if not shares_of_others and total > 0:
        shares_of_others = [sum(seconds * others for seconds, others in shares) / total]
    above = [others for others in shares_of_others if others > BUSY_LIMIT]
    if not above:
        return
    cpus = next((launch.after.cpus for launch in launches if launch.after and launch.after.cpus), cores)
    error = _error_by_load(median(shares_of_others), cpus, threads)
    is_doubtful = error != 0.0 and 2 * len(above) > len(shares_of_others)
    yield Note(
        code="busy",
        message=f"other programs used up to {max(above):.0%} of the machine's CPU time while it was measured",
        hint="measure on a machine that does nothing else",
        trust=not is_doubtful,
        error=error if is_doubtful else None,
    )


def _error_by_load(share: float, cpus: int, threads: int | None) -> float | None:
    """Return by how much others may have slowed the median: not at all where there was a CPU for each thread.

    Others that used a share of the CPUs took at most what did not fit beside the threads from these.

    Returns:
        Relative error; None where it is unknown.
    """
    if threads == 0:
        return 0.0
    if threads is None or cpus < 1:
        return None
    lost = max(0.0, threads + share * cpus - cpus) / threads
    return lost / (1 - lost) if lost < _MOST_LOST else None


def _threads_by_load(metrics: Sequence[Metric], threads: int | None) -> int | None:
    """Return the number of threads that others may have slowed; 0 where two clocks of the program show it exactly."""
    medians = {metric.name: metric.median for metric in metrics}
    used = medians.get("RUN threads")
    count = threads if used is None else round(used)
    return 0 if count == 1 and medians.get("NET cpu_time") is not None else count


def used_by_others(launch: Launch, cores: int) -> tuple[float, float] | None:
    """Return the seconds between the states around a launch, and the share of CPU time that was not the runner's."""
    if launch.before is None or launch.after is None or launch.after.busy is None or launch.cpu_s is None:
        return None
    seconds = max(launch.after.time - launch.before.time, launch.wall_s)
    runners_s = launch.cpu_s + (launch.beside_cpu_s or 0.0)
    cpus = launch.after.cpus or cores
    return (seconds, launch.after.busy - runners_s / (seconds * cpus)) if seconds > 0 else None


def frequency_drop(launches: Sequence[Launch]) -> float:
    """Return the largest relative loss of frequency from an earlier launch to a later one.

    By the mean of each launch where all of them have it, else by the reading right after each.
    """
    means = [_mean_mhz(launch) for launch in launches]
    known = [mean for mean in means if mean is not None]
    highest, drop = 0.0, 0.0
    for current in known if len(known) == len(means) else map(_mhz_after, launches):
        highest = max(highest, current)
        if current > 0:
            drop = max(drop, 1 - current / highest)
    return drop


def _mean_mhz(launch: Launch) -> float | None:
    """Return the mean clock of the CPUs that a launch was pinned to, or of the fastest clock domain where it was not.

    The states around a launch also span what lies between them and it, when the CPUs idle. So of the time that a domain
    spent at each frequency as much as the launch took is counted, from the highest down.

    Returns:
        MHz; None where the device does not report it, was restarted meanwhile, or the launch was too short.
    """
    if launch.before is None or launch.after is None or launch.wall_s < _SHORTEST_S:
        return None
    means: dict[str, float] = {}
    for domain, spent in launch.after.residency_ms.items():
        mean = _mean_of_highest(launch.before.residency_ms.get(domain, {}), spent, launch.wall_s * 1000)
        if mean is not None:
            means[domain] = mean
    domain_of = {cpu: domain for domain, cpus in launch.after.domain_cpus.items() for cpu in cpus}
    if not launch.cpus:
        return max(means.values(), default=None)
    domains = [domain_of.get(cpu, "") for cpu in launch.cpus]
    if not all(domain in means for domain in domains):
        return None
    return sum(means[domain] for domain in domains) / len(domains)


def _mean_of_highest(before: Mapping[int, int], after: Mapping[int, int], wall_ms: float) -> float | None:
    """Return MHz over the `wall_ms` spent at the highest frequencies (kHz), from two counts of milliseconds at each."""
    left_ms, sum_khz_ms = wall_ms, 0.0
    for khz in sorted(after, reverse=True):
        spent_ms = after[khz] - before.get(khz, 0)
        if spent_ms < 0:
            return None
        counted_ms = min(spent_ms, left_ms)
        left_ms -= counted_ms
        sum_khz_ms += khz * counted_ms
    counted_ms = wall_ms - left_ms
    return sum_khz_ms / counted_ms / 1000 if counted_ms >= wall_ms / 2 else None


def _mhz_after(launch: Launch) -> float:
    frequencies = (launch.after.frequency_mhz if launch.after else None) or ()
    used = [frequencies[cpu] for cpu in launch.cpus or () if cpu < len(frequencies)] or frequencies
    return max(used, default=0.0)


def _temperature(launch: Launch) -> float:
    temperature = launch.after.temperature_c if launch.after else None
    return -math.inf if temperature is None else temperature


def _in_launches(indices: Sequence[int], launches: Sequence[Launch]) -> str:
    return f"{len(indices)} of {len(launches)} launch{'es' if len(launches) != 1 else ''}"


def _change(samples: Sequence[float]) -> float:
    third = len(samples) // 3
    first, last = samples[:third], samples[-third:]
    end = median(last)
    change = (median(first) - end) / abs(end) if end else 0.0
    return change if abs(change) > spread(last) else 0.0


def _relative(deviation: float, center: float) -> float:
    if deviation == 0:
        return 0.0
    ratio = deviation / abs(center) if center else math.inf
    return math.inf if math.isnan(ratio) else ratio  # beyond the range of doubles: as noisy as can be
