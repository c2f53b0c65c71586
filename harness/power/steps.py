"""The load in a trace of power: where a program began and ended, its power, and that of the idle device beside it.

When a program was started and had ended is known by the harness's clock, up to the delay of the connection. The trace
shows it better: the power rises and falls. Three levels (idle, load, idle) are fitted by least squares to medians of
short bins, so that spikes do not move them; every pair of change points is tried, within reach of the known times. What
is averaged afterwards are the raw samples, with every spike, because spikes are energy, too.

The known times are used where no rise is visible. Leaving such a launch out would select launches by their result.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from harness.core.percent import in_percent
from harness.power.meters import Floats, PowerSamples

_MOST_BINS: Final = 1200
"""Bins of a trace: every pair of change points among them takes 0.1 s and 40 MB at most."""
_SHORTEST_BIN_S: Final = 0.01
_REACH_S: Final = 1.0
_REACH: Final = 0.1
"""A change point lies within a second, or a tenth of the load, of the time by the clock: delays of a connection, and a
program that loads its model from the disk before it computes."""
_RISE: Final = 4.0
"""Rise of the load above idling, in standard errors of its difference, from which on it is visible."""
_BATCHES: Final = 6
_APART_S: Final = 0.1
"""What lies nearer to a change point belongs to neither level."""
_FOREIGN: Final = 0.2
"""Share of idling that may be well above its calm level: else another program ran then."""
_NOTABLE: Final = 0.5
_ABOVE: Final = 6.0
"""Well above is half way to the load, and half of the calm level on top of it, and six standard deviations of a bin."""
_NORMAL: Final = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""
_FEWEST: Final = 20
"""Samples of each level."""


class Load(Struct, frozen=True):
    """The load of a trace.

    Attributes:
        began_s: Its begin, in the trace's time.
        ended_s: Its end.
        load_w: Mean power meanwhile.
        idle_w: Mean power before and after.
        is_visible: Whether the trace shows it; else the times are those of the clock.
    """

    began_s: float
    ended_s: float
    load_w: float
    idle_w: tuple[float, float]
    is_visible: bool


class UnusableTrace(ValueError):
    """A trace from which no load can be read; the message says why."""


def find_load(samples: PowerSamples, began_s: float, ended_s: float) -> Load:
    """Find the load of a program in a trace.

    Args:
        samples: The trace.
        began_s: When the program was started, by the harness's clock, in the trace's time.
        ended_s: When it had ended.

    Raises:
        UnusableTrace: The trace does not cover it, has gaps or no numbers, or another load ran beside it.
    """
    times, power = samples.times_s, samples.power_w
    _check(times, power, began_s, ended_s)
    bins, edges = _bin(times, power)
    reach = max(_REACH_S, _REACH * (ended_s - began_s))
    places = _fit(bins, edges, (began_s, ended_s), reach)
    is_visible = places is not None and _is_risen(bins, places)
    if places is not None and is_visible:
        began_s, ended_s = _refine(bins, edges, places)
    before = power[times < began_s - _APART_S]
    during = power[(times >= began_s) & (times < ended_s)]
    after = power[times >= ended_s + _APART_S]
    if min(map(len, (before, during, after))) < _FEWEST:
        raise UnusableTrace("its trace has too few samples before, during or after the program")
    load_w, idle_w = float(during.mean()), (float(before.mean()), float(after.mean()))
    _check_alone(bins, edges, (began_s, ended_s), load_w)
    return Load(began_s, ended_s, load_w, idle_w, is_visible)


def _check(times: Floats, power: Floats, began_s: float, ended_s: float) -> None:
    if len(times) != len(power) or len(times) < 3 * _FEWEST:
        raise UnusableTrace(f"its trace has {len(times)} samples")
    if not (np.isfinite(times).all() and np.isfinite(power).all()) or (np.diff(times) < 0).any():
        raise UnusableTrace("its trace has values that are no numbers, or times that go backwards")
    if not times[0] < began_s < ended_s < times[-1]:
        raise UnusableTrace(
            f"its trace lasts from {times[0]:.1f} s to {times[-1]:.1f} s, and the program ran from {began_s:.1f} s to "
            f"{ended_s:.1f} s: the recording ended too soon, or its limit (`collection_time`) is too short"
        )
    longest_s = float(np.diff(times).max())
    if longest_s > max(0.5, 0.05 * (ended_s - began_s)):
        raise UnusableTrace(f"its trace has a gap of {longest_s:.1f} s")


def _bin(times: Floats, power: Floats) -> tuple[Floats, Floats]:
    """Return medians of equally long bins, each smoothed over three, and their edges. Empty bins repeat others."""
    span = float(times[-1] - times[0])
    count = int(min(_MOST_BINS, max(3, span / _SHORTEST_BIN_S), len(times) / 3))
    edges = np.linspace(times[0], times[-1], count + 1)
    places = np.searchsorted(times, edges)
    places[-1] = len(times)
    medians = np.empty(count)
    last = float(power[0])
    for number in range(count):
        inside = power[places[number] : places[number + 1]]
        last = medians[number] = float(np.median(inside)) if len(inside) else last
    padded = np.concatenate((medians[:1], medians, medians[-1:]))
    return np.median(np.stack((padded[:-2], padded[1:-1], padded[2:])), axis=0), edges


def _fit(bins: Floats, edges: Floats, near_s: tuple[float, float], reach_s: float) -> tuple[int, int] | None:
    """Return the change points (bins) of three levels with the least squared error; None where there are no places."""
    begins, ends = (
        np.flatnonzero((np.abs(edges - time_s) <= reach_s) & (np.arange(len(edges)) < len(bins))) for time_s in near_s
    )
    begins, ends = begins[begins >= 2], ends[ends <= len(bins) - 2]
    if not len(begins) or not len(ends):
        return None
    sums = np.concatenate(([0.0], np.cumsum(bins)))
    first, last = begins[:, None], ends[None, :]
    length = last - first
    is_long = length >= 2
    safe = np.where(is_long, length, 1)
    # The squared error of a level is the sum of squares, which is the same for all, less sum² / count.
    explained = (
        sums[first] ** 2 / first
        + (sums[last] - sums[first]) ** 2 / safe
        + (sums[-1] - sums[last]) ** 2 / (len(bins) - last)
    )
    explained = np.where(is_long, explained, -np.inf)
    if not np.isfinite(explained).any():
        return None
    row, column = np.unravel_index(int(np.argmax(explained)), explained.shape)
    return int(begins[row]), int(ends[column])


def _is_risen(bins: Floats, places: tuple[int, int]) -> bool:
    """Return whether the load is above both levels of idling by more than chance moves their means."""
    first, last = places
    before, load, after = bins[:first], bins[first:last], bins[last:]
    errors = [_standard_error(part) for part in (before, load, after)]
    return all(
        float(load.mean() - idle.mean()) > _RISE * float(np.hypot(errors[1], error))
        for idle, error in ((before, errors[0]), (after, errors[2]))
    )


def _standard_error(part: Floats) -> float:
    """Return the standard error of a mean, by means of batches: neighbouring bins correlate."""
    if len(part) < 2 * _BATCHES:
        return float(part.std(ddof=1) / np.sqrt(2)) if len(part) > 1 else float("inf")
    means = np.array([batch.mean() for batch in np.array_split(part, _BATCHES)])
    return float(means.std(ddof=1) / np.sqrt(_BATCHES))


def _refine(bins: Floats, edges: Floats, places: tuple[int, int]) -> tuple[float, float]:
    """Return the times of the change points: on a ramp, where it is half way."""
    first, last = places
    middle = (float(np.median(bins[first:last])) + float(np.median(np.concatenate((bins[:first], bins[last:]))))) / 2
    is_high: NDArray[np.bool_] = bins > middle
    while first > 1 and is_high[first - 1]:
        first -= 1
    while last < len(bins) - 1 and is_high[last]:
        last += 1
    return float(edges[first]), float(edges[last])


def _check_alone(bins: Floats, edges: Floats, load_s: tuple[float, float], load_w: float) -> None:
    """Raise where a good part of idling is well above its calm level: another program ran, and the baseline is none."""
    centers = (edges[:-1] + edges[1:]) / 2
    stretches = {"before": centers < load_s[0] - _APART_S, "after": centers > load_s[1] + _APART_S}
    idle = np.sort(bins[stretches["before"] | stretches["after"]])
    if not len(idle):
        return
    calm_w = float(np.median(idle[: max(1, len(idle) // 2)]))
    noise_w = _NORMAL * float(np.median(np.abs(np.diff(bins)))) / np.sqrt(2)
    limit_w = calm_w + max((load_w - calm_w) / 2, _ABOVE * noise_w, _NOTABLE * abs(calm_w))
    for when, is_in in stretches.items():
        share = float((bins[is_in] > limit_w).mean()) if is_in.any() else 0.0
        if share > _FOREIGN:
            raise UnusableTrace(
                f"something else ran {when} the program: {in_percent(share)} of that time was no idling"
            )
