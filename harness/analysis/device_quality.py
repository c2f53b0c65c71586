"""Device while it was measured: heat, sleep, low power mode, brightness and other programs, as notes of a result.

Every limit is a choice, with what was measured for it (`harness.analysis.quality`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.core.device import DeviceState
from harness.core.note import Note
from harness.core.order_statistics import median
from harness.core.percent import in_percent
from harness.core.result import DISCARDED_FOR_HEAT, Launch

BUSY_LIMIT: Final = 0.15
"""Share of the machine that others may use: below, a pinned runner on a machine of two cores still has its core."""

FREQUENCY_LIMIT: Final = 0.10
"""Loss of clock frequency between launches that is reported: a latency that follows it would be called noisy."""

SLOW_LIMIT: Final = 0.30
"""Slowness of fixed work that is reported. On a shared virtual machine its times had two modes, up to 1.18 of the best,
and 1.43 to 1.76 beside a neighbour on the core. The limit lies between them."""

HOT_C: Final = 85.0
"""Temperature that is reported: systems on a chip begin to lower their clock between 80 and 95 degrees."""

BRIGHTNESS_LIMIT: Final = 0.1
"""Change of a screen's brightness, of its range, that is reported. A choice: nobody has measured what it costs."""

SLEEP_S: Final = 2.0
SLEEP_SHARE: Final = 0.1
"""Difference, and share of the time, by which a device may have been awake for less than it was up: the former is
counted in ticks on phones, which kernels that stop the tick of an idle CPU estimate."""

_HARMLESS: Final = 0.01
"""Error of a median that is no doubt: half of the precision that launches are added for by default. A choice."""

_MOST_LOST: Final = 0.9
"""Share of the threads' CPU time beyond which nothing is known about their speed."""

_SHORTEST_S: Final = 0.1
"""Below, CPU time counted in ticks of 10 ms says nothing about a single launch."""

_SHORTEST_OF_MANY_S: Final = 0.05
"""Below, not even many launches say anything: what the harness does around each, for milliseconds, would seem to be
others'. It is 1 % of a launch of 50 ms, and was a third of a machine without others at launches of 3 ms."""

_LEAST_S: Final = 0.5
"""What short launches take together before they say anything: 100 ticks on two CPUs."""


def assess_device(launches: Sequence[Launch], cores: int, threads: int | None) -> tuple[Note, ...]:
    """Return the notes on the state of a device while it was measured.

    Args:
        launches: Launches that count, with the state of the device before and after each.
        cores: CPUs of the device, for states that do not name the number that their `busy` is a share of.
        threads: Threads that the work used; None if unknown, 0 where the figure is no time of a CPU.
    """
    return (
        *_note_heat(launches),
        *_note_sleep(launches),
        *_note_low_power(launches),
        *_note_brightness(launches),
        *_note_load(launches, cores, threads),
        *_note_speed(launches),
    )


def note_discarded_for_heat(launches: Sequence[Launch]) -> Iterator[Note]:
    """Note discarded launches although the numbers are sound: they explain why it took so long."""
    discarded = [launch.index for launch in launches if launch.discarded == DISCARDED_FOR_HEAT]
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
            message=f"the clock frequency fell by {in_percent(drop)} between launches",
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
            message=f"the brightness of the screen went from {in_percent(min(values))} to {in_percent(max(values))} "
            "while it was measured: a bright screen heats the device and takes from its power",
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
    if not shares_of_others and (use := mean_use_by_others(launches, cores)) is not None:
        shares_of_others = [use]
    above = [others for others in shares_of_others if others > BUSY_LIMIT]
    if not above:
        return
    cpus = next((launch.after.cpus for launch in launches if launch.after and launch.after.cpus), cores)
    error = _error_by_load(median(shares_of_others), cpus, threads)
    is_doubtful = (error is None or error > _HARMLESS) and 2 * len(above) > len(shares_of_others)
    yield Note(
        code="busy",
        message=f"other programs used up to {in_percent(max(above))} of the machine's CPU time while it was measured",
        hint="measure on a machine that does nothing else",
        trust=not is_doubtful,
        error=error if is_doubtful else None,
    )


def _note_speed(launches: Sequence[Launch]) -> Iterator[Note]:
    """Yield a note where fixed work around most launches took much longer than it did at its best."""
    known = [launch for launch in launches if launch.spin_ms is not None and launch.best_spin_ms is not None]
    best_ms = min((min(launch.spin_ms or 0.0, launch.best_spin_ms or 0.0) for launch in known), default=0.0)
    if best_ms <= 0:
        return
    slower = [(launch.spin_ms or 0.0) / best_ms - 1 for launch in known]
    slowed = [share for share in slower if share > SLOW_LIMIT]
    if 2 * len(slowed) <= len(known):
        return
    yield Note(
        code="slowed",
        message=f"the CPU itself was slower than at its best in {len(slowed)} of {len(known)} launches: fixed work "
        f"beside them took {in_percent(median(slower))} longer, because of a neighbour on its core or a lower clock",
        hint="measure again at another time, on a machine of your own, or compare within one run (`harness compare`)",
        trust=False,
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


def used_by_others(launch: Launch, cores: int) -> tuple[float, float] | None:
    """Return the seconds between the states around a launch, and the share of CPU time that was not the runner's."""
    if launch.before is None or launch.after is None or launch.after.busy is None or launch.cpu_s is None:
        return None
    seconds = max(launch.after.time - launch.before.time, launch.wall_s)
    runners_s = launch.cpu_s + (launch.beside_cpu_s or 0.0)
    cpus = launch.after.cpus or cores
    return (seconds, launch.after.busy - runners_s / (seconds * cpus)) if seconds > 0 else None


def mean_use_by_others(launches: Sequence[Launch], cores: int) -> float | None:
    """Return the share of CPU time that others used around launches; None where these are too short, or do not tell."""
    shares = [share for launch in launches if (share := used_by_others(launch, cores)) is not None]
    long_enough = [(seconds, share) for seconds, share in shares if seconds >= _SHORTEST_OF_MANY_S]
    total_s = sum(seconds for seconds, _ in long_enough)
    return sum(seconds * share for seconds, share in long_enough) / total_s if total_s >= _LEAST_S else None


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
