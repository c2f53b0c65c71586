"""State of a device over a run: CPU use, load, frequency, temperature and charge, as far as it reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.device import DeviceState
from harness.core.result import Result
from harness.presentation.numbers import format_number
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import Label, Mark, Path, Picture, Rectangle, draw_grid, draw_upright_grid

WIDTH: Final = 640
LEFT, RIGHT, BOTTOM = 92, 8, 30
_PANEL: Final = 96
_HEAD: Final = 24
"""Height of the heading of a panel."""
_LEAST_SPAN: Final = 0.02
"""Share of a frequency or temperature that a panel spans at least: smaller changes are those of its meter."""
_MOST: Final = 300
"""Most points of a curve."""


class _Quantity(Struct, frozen=True):
    """Quantity that a panel shows.

    Attributes:
        name: Heading of the panel.
        unit: Unit.
        values: Returns its values of a state: one, or several of which the range is drawn and the mean as a curve.
        low: Value that the axis contains in any case; None for none.
    """

    name: str
    unit: str
    values: Callable[[DeviceState], Sequence[float]]
    low: float | None = None


def _optional(value: float | None, factor: float = 1.0) -> Sequence[float]:
    return () if value is None else (factor * value,)


_QUANTITIES: Final = (
    _Quantity("CPU time in use, of the whole machine", "%", lambda state: _optional(state.busy, 100.0), 0.0),
    _Quantity("load, average of a minute", "", lambda state: _optional(state.load), 0.0),
    _Quantity(
        "frequency of the CPUs: mean and range",
        "MHz",
        lambda state: [frequency for frequency in state.frequency_mhz or () if frequency > 0],
    ),
    _Quantity("temperature, hottest sensor", "°C", lambda state: _optional(state.temperature_c)),
    _Quantity("degree of throttling", "", lambda state: _optional(state.thermal_status), 0.0),
    _Quantity("charge of the battery", "%", lambda state: _optional(state.battery_percent)),
)


def draw_device(results: Sequence[Result], name: str) -> Picture | None:
    """Draw each known quantity over time, with a shade behind every other benchmark.

    Args:
        results: Results of one device.
        name: Name of the picture, unique on its page.

    Returns:
        The picture; None where fewer than two states are known.
    """
    states = sorted(_collect_states(results), key=lambda state: state.time)
    panels = [
        (quantity, points)
        for quantity in _QUANTITIES
        if len(points := [(state.time, values) for state in states if (values := quantity.values(state))]) > 1
    ]
    if not panels:
        return None
    start, end = states[0].time, states[-1].time
    factor, unit = _time_scale(end - start)
    across = fit_axis([0.0, factor * (end - start)], LEFT, WIDTH - RIGHT)
    height = len(panels) * (_PANEL + _HEAD) + BOTTOM
    marks: list[Mark] = []
    for number, (quantity, points) in enumerate(panels):
        top = number * (_PANEL + _HEAD) + _HEAD
        marks += _lanes(results, lambda time: across.place(factor * (time - start)), top)
        marks += _panel(quantity, _thin(points), lambda time: across.place(factor * (time - start)), top)
    marks += draw_upright_grid(across, height - BOTTOM, height - BOTTOM, WIDTH, across.ticks(unit=unit))
    device = results[0].device
    return Picture(
        name,
        WIDTH,
        height,
        f"state of {device.name if device else 'the device'} over {factor * (end - start):.3g} {unit}",
        " ".join(_describe(quantity, points) for quantity, points in panels),
        marks,
    )


def _collect_states(results: Sequence[Result]) -> Iterator[DeviceState]:
    for result in results:
        for launch in (*result.launches, *result.control_launches):
            yield from (state for state in (launch.before, launch.after) if state is not None)


def _time_scale(seconds: float) -> tuple[float, str]:
    if seconds >= 3 * 3600:
        return 1 / 3600, "h"
    return (1 / 60, "min") if seconds >= 180 else (1.0, "s")


def _describe(quantity: _Quantity, points: Sequence[tuple[float, Sequence[float]]]) -> str:
    values = [value for _, values in points for value in values]
    return (
        f"{quantity.name}: {format_number(min(values))} to {format_number(max(values))} {quantity.unit}".strip() + "."
    )


def _lanes(results: Sequence[Result], x: Callable[[float], float], top: float) -> Iterator[Mark]:
    for result in sorted(results, key=lambda result: result.started)[::2]:
        left = x(result.started)
        yield Rectangle("lane", left, top, max(x(result.finished) - left, 0.5), _PANEL - 8)


def _panel(
    quantity: _Quantity, points: Sequence[tuple[float, Sequence[float]]], x: Callable[[float], float], top: float
) -> Iterator[Mark]:
    values = [value for _, values in points for value in values]
    shown = [*values, *([] if quantity.low is None else [quantity.low])]
    along = fit_axis(shown, top + _PANEL - 8, top, padding=0.04, least_span=_LEAST_SPAN)
    if not any(values):
        along = Axis(0.0, 1.0, top + _PANEL - 8, top)
    yield Label(quantity.name, LEFT, top - 7, kind="name")
    yield from draw_grid(along, LEFT, WIDTH - RIGHT, about=3, unit=quantity.unit)
    if any(len(values) > 1 for _, values in points):
        upper = [f"{x(time):.1f} {along.place(max(values)):.1f}" for time, values in points]
        lower = [f"{x(time):.1f} {along.place(min(values)):.1f}" for time, values in reversed(points)]
        yield Path("range", f"M{'L'.join([*upper, *lower])}Z")
    means = (f"{x(time):.1f} {along.place(sum(values) / len(values)):.1f}" for time, values in points)
    yield Path("course", f"M{'L'.join(means)}")


def _thin(points: list[tuple[float, Sequence[float]]]) -> list[tuple[float, Sequence[float]]]:
    """Return at most so many points; each keeps the extremes of its neighbours that are left out."""
    stride = -(-len(points) // _MOST)
    if stride < 2:
        return points
    groups = [points[start : start + stride] for start in range(0, len(points), stride)]
    return [(group[0][0], [end for _, values in group for end in (min(values), max(values))]) for group in groups]
