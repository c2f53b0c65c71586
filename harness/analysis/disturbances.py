"""Disturbances of a series of launches: neighbours, clock frequency, heat, the order of launches, drift."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from harness.analysis.compare.statistics import middle
from harness.analysis.device_quality import FREQUENCY_LIMIT, frequency_drop, mean_use_by_others
from harness.core.comparison import ESTIMATED_STATISTIC, Pair
from harness.core.percent import in_percent
from harness.core.result import Launch
from harness.core.self_check import BenchmarkCheck, Disturbance

_BUSY: Final = 0.05
"""Share of the machine that others may use. The harness itself takes about 1 % beside a program of 50 ms."""

_ORDER: Final = 0.005
"""Effect of the order of launches that is worth a word: half of the default margin."""

_DRIFT: Final = 0.05
"""Change from the first to the last third, as in `harness.analysis.quality`."""

_THIRDS: Final = 3


def find_disturbances(
    launches: Sequence[Launch], checks: Sequence[BenchmarkCheck], pairs: Sequence[Sequence[Pair]], cores: int
) -> tuple[Disturbance, ...]:
    """Return what disturbed the launches of a device, the largest first.

    Args:
        launches: All launches, with the states of the device around them.
        checks: What was recorded, by benchmark.
        pairs: The pairs of each benchmark.
        cores: Number of CPUs of the device.
    """
    found = (*_neighbours(launches, cores), *_frequency(launches), *_heat(launches), *_order(checks), *_drift(pairs))
    return tuple(sorted(found, key=lambda disturbance: -disturbance.size))


def _neighbours(launches: Sequence[Launch], cores: int) -> Iterator[Disturbance]:
    others = mean_use_by_others(launches, cores)
    if others is not None and others > _BUSY:
        yield Disturbance(
            kind="neighbours",
            size=others,
            message=f"other programs used {in_percent(others)} of the CPU time of the device",
            remedy="end those that may end, or measure when they rest; `--interleave process` where the runner can",
        )


def _frequency(launches: Sequence[Launch]) -> Iterator[Disturbance]:
    drop = frequency_drop(launches)
    if drop > FREQUENCY_LIMIT:
        yield Disturbance(
            kind="frequency",
            size=drop,
            message=f"the clock frequency fell by up to {in_percent(drop)} between launches",
            remedy="fix it: governor `performance` and turbo off (`cpupower frequency-set -g performance`); "
            "on a phone `--set-freq`",
        )


def _heat(launches: Sequence[Launch]) -> Iterator[Disturbance]:
    throttled = sum(launch.throttled for launch in launches)
    if throttled:
        yield Disturbance(
            kind="heat",
            size=throttled / len(launches),
            message=f"the device lowered its clock because of heat in {throttled} of {len(launches)} launches",
            remedy="let it cool down: pauses (`cooldown`), fewer iterations, out of its case",
        )


def _order(checks: Sequence[BenchmarkCheck]) -> Iterator[Disturbance]:
    largest = max(checks, key=lambda check: abs(check.slot_effect), default=None)
    if largest is not None and abs(largest.slot_effect) > _ORDER:
        word = "slower" if largest.slot_effect > 0 else "faster"
        yield Disturbance(
            kind="order",
            size=abs(largest.slot_effect),
            message=f"the second launch of a pair was {in_percent(abs(largest.slot_effect), 1)} {word} "
            f"({largest.title})",
            remedy="the coin makes that fair, and most of it is subtracted: a pause (`cooldown`) removes it",
        )


def _drift(pairs: Sequence[Sequence[Pair]]) -> Iterator[Disturbance]:
    """Yield the largest drift of a benchmark: pairs stay comparable, but not the results of two runs."""
    drifts = [abs(change) for series in pairs if (change := _change(series)) is not None]
    if drifts and max(drifts) > _DRIFT:
        yield Disturbance(
            kind="drift",
            size=max(drifts),
            message=f"times of the last third of the launches differ by {in_percent(max(drifts))} from those of the "
            "first",
            remedy="pairs cancel it; compare results of `harness run` from different hours with care",
        )


def _change(pairs: Sequence[Pair]) -> float | None:
    third = len(pairs) // _THIRDS
    if third < _THIRDS:
        return None
    figures = [median((pair.control[ESTIMATED_STATISTIC], pair.treatment[ESTIMATED_STATISTIC])) for pair in pairs]
    first, last = middle(sorted(figures[:third])), middle(sorted(figures[-third:]))
    return last / first - 1
