"""Samples of one result, launch by launch: outliers show as dots, drift as a slope, noise between launches as steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from harness.core.metric import Metric
from harness.presentation.distributions import LaunchDistribution
from harness.presentation.numbers import choose_scale, format_percent, format_quantity
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import Label, Mark, Path, Picture, Rectangle, draw_grid, draw_points

WIDTH: Final = 640
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 92, 8, 10, 26

_DOTS: Final = 800
"""Most dots of a picture."""
_ROOM: Final = 4
"""Room above and below all boxes, in heights of a typical box, beyond which samples are drawn at the edge."""
_NARROWEST: Final = 14
"""Width of a launch from which it has a label."""


def draw_launches(metric: Metric, launches: Sequence[LaunchDistribution], name: str) -> Picture | None:
    """Draw the samples of each launch in measured order, with a box for its quartiles and a line for its median.

    Args:
        metric: The metric.
        launches: Its samples; without any there is no picture.
        name: Name of the picture, unique on its page.
    """
    if not launches:
        return None
    factor, unit = choose_scale(max(abs(launch.median) for launch in launches), metric.unit)
    across = Axis(0, len(launches), LEFT, WIDTH - RIGHT)
    along = _fit_values(launches, factor)
    dots = list(_place_dots(launches, factor, across, along))
    inside = [place for place, is_inside in dots if is_inside]
    beyond = [place for place, is_inside in dots if not is_inside]
    marks: list[Mark] = [
        *draw_grid(along, LEFT, WIDTH - RIGHT, unit=unit),
        *_band(metric, factor, along),
        *_boxes(launches, factor, across, along),
        draw_points("points", inside),
        *([draw_points("beyond", beyond)] if beyond else []),
        *_medians(launches, factor, across, along),
        *_labels(launches, across),
    ]
    return Picture(name, WIDTH, HEIGHT, _title(metric, launches), _describe(metric, launches, len(beyond)), marks)


def _title(metric: Metric, launches: Sequence[LaunchDistribution]) -> str:
    count = sum(launch.count for launch in launches)
    return (
        f"{metric.name}: {count:,} sample{'' if count == 1 else 's'} of {len(launches)} "
        f"launch{'' if len(launches) == 1 else 'es'}"
    )


def _describe(metric: Metric, launches: Sequence[LaunchDistribution], beyond: int) -> str:
    def show(value: float) -> str:
        return format_quantity(value, metric.unit)

    medians = [launch.median for launch in launches]
    low, high = min(launch.low for launch in launches), max(launch.high for launch in launches)
    text = (
        f"Medians of launches from {show(min(medians))} to {show(max(medians))}, "
        f"samples from {show(low)} to {show(high)}."
    )
    if (interval := metric.interval) is not None:
        share = format_percent(interval.confidence)
        text += f" {share} interval of the median from {show(interval.low)} to {show(interval.high)}."
    return f"{text} {beyond} beyond the picture, drawn at its edge." if beyond else text


def _fit_values(launches: Sequence[LaunchDistribution], factor: float) -> Axis:
    """Make room for all quartiles and, unless they lie far away, all samples."""
    low, high = min(launch.p25 for launch in launches), max(launch.p75 for launch in launches)
    typical = median(launch.p75 - launch.p25 for launch in launches)
    room = max(_ROOM * typical, (high - low) / 2, 0.02 * abs(high))
    ends = [
        max(low - room, min(launch.low for launch in launches)),
        min(high + room, max(launch.high for launch in launches)),
    ]
    return fit_axis([factor * end for end in ends], HEIGHT - BOTTOM, TOP, padding=0.06)


def _place_dots(
    launches: Sequence[LaunchDistribution], factor: float, across: Axis, along: Axis
) -> Iterator[tuple[tuple[float, float], bool]]:
    """Place the samples, fewer where there are too many to be told apart; those beyond the picture all stay."""
    stride = max(1, sum(len(launch.points) for launch in launches) // _DOTS)
    for slot, launch in enumerate(launches):
        for number, (share, value) in enumerate(launch.points):
            is_inside = along.contains(factor * value)
            if number % stride == 0 or not is_inside:
                yield (across.place(slot + 0.08 + 0.84 * share), along.place(factor * value)), is_inside


def _band(metric: Metric, factor: float, along: Axis) -> Iterator[Mark]:
    """Draw the confidence interval of the median of all launches."""
    if (interval := metric.interval) is not None:
        top, bottom = along.place(factor * interval.high), along.place(factor * interval.low)
        yield Rectangle("band", LEFT, top, WIDTH - LEFT - RIGHT, max(bottom - top, 1))


def _boxes(launches: Sequence[LaunchDistribution], factor: float, across: Axis, along: Axis) -> Iterator[Mark]:
    for slot, launch in enumerate(launches):
        left, right = across.place(slot + 0.04), across.place(slot + 0.96)
        top, bottom = along.place(factor * launch.p75), along.place(factor * launch.p25)
        yield Rectangle("box", left, top, right - left, max(bottom - top, 1))


def _medians(launches: Sequence[LaunchDistribution], factor: float, across: Axis, along: Axis) -> Iterator[Mark]:
    lines = (
        f"M{across.place(slot + 0.04):.1f} {along.place(factor * launch.median):.1f}H{across.place(slot + 0.96):.1f}"
        for slot, launch in enumerate(launches)
    )
    yield Path("median", "".join(lines))


def _labels(launches: Sequence[LaunchDistribution], across: Axis) -> Iterator[Mark]:
    """Number the launches; only the first and the last where they are many."""
    last = len(launches) - 1
    if across.place(1) - across.place(0) >= 4 * _NARROWEST:
        for slot, launch in enumerate(launches):
            yield Label(
                f"{'launch ' if not slot else ''}{launch.launch + 1}", across.place(slot + 0.5), HEIGHT - 6, "middle"
            )
        return
    yield Label(f"launch {launches[0].launch + 1}", LEFT, HEIGHT - 6)
    yield Label(f"launch {launches[last].launch + 1}", WIDTH - RIGHT, HEIGHT - 6, "end")
