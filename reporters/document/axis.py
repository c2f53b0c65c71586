"""Axes of pictures: where values lie, and the round values that are marked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

_STEPS: Final = (1, 2, 5, 10)
_FINEST: Final = 1e-9
"""Share of its largest value that an axis spans at least: doubles have no more than 16 digits."""
_ALONE: Final = 0.04
"""The same of an axis with a single value: noise of doubles is no scale for it."""
_SMALLEST: Final = 1e-200
_LARGEST: Final = 1e200
"""Values beyond are drawn as if they were these, so that no computation leaves the range of doubles."""
_LONG: Final = 7
"""Labels of more digits are written with an exponent."""


class Tick(Struct, frozen=True):
    """Marked value of an axis.

    Attributes:
        value: The value.
        label: The value as text, different from that of every other tick of the axis.
    """

    value: float
    label: str


class Axis(Struct, frozen=True):
    """Mapping of values to a coordinate of a picture. Make one with `fit_axis`.

    Attributes:
        low: Smallest value that is shown.
        high: Largest value; more than the smallest.
        start: Coordinate of the smallest.
        end: Coordinate of the largest; less than that of the smallest where the axis points upwards.
        logarithmic: Whether equal ratios are equally long.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the coordinate of a value; values beyond the axis lie at its end."""
        low, high, inside = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, inside = math.log(low), math.log(high), math.log(inside)
        return self.start + (inside - low) / (high - low) * (self.end - self.start)

    def contains(self, value: float) -> bool:
        """Return whether a value is within the axis."""
        return self.low <= value <= self.high

    def ticks(self, about: int = 5, *, signed: bool = False, unit: str = "") -> tuple[Tick, ...]:
        """Return round values within the axis, in ascending order.

        Args:
            about: Approximate number of them.
            signed: Whether positive values are written with a sign.
            unit: Unit that is added to each label.
        """
        if self.logarithmic:
            values = _logarithmic_ticks(self.low, self.high, about)
            labels = [f"{value:,.10g}" if 1e-4 <= abs(value) < 1e7 else f"{value:.3g}" for value in values]
        else:
            values, exponent = _linear_ticks(self.low, self.high, about)
            labels = _label(values, exponent)
        suffix = f" {unit}" if unit else ""
        return tuple(
            Tick(value, f"{'+' if signed and value > 0 else ''}{label}{suffix}")
            for value, label in zip(values, labels, strict=True)
        )


def fit_axis(
    values: Iterable[float],
    start: float,
    end: float,
    *,
    logarithmic: bool = False,
    padding: float = 0.0,
    least_span: float = _FINEST,
) -> Axis:
    """Return an axis on which all these values lie.

    Args:
        values: Finite values; positive ones where the axis is logarithmic.
        start: Coordinate of the smallest value.
        end: Coordinate of the largest value.
        logarithmic: Whether equal ratios are equally long.
        padding: Share of the axis that is left free at each end.
        least_span: Share of its largest value that a linear axis spans at least.
    """
    known = [min(max(value, -_LARGEST), _LARGEST) for value in values] or [0.0, 1.0]
    low, high = min(known), max(known)
    if logarithmic:
        low, high = max(low, _SMALLEST), max(high, _SMALLEST)
        ratio = max((high / low) ** padding, 1 + 1e-6)
        return Axis(low / ratio, high * ratio, start, end, logarithmic=True)
    room = padding * (high - low)
    share = max(least_span, _ALONE) if low == high else least_span
    largest = max(abs(low), abs(high), _SMALLEST) if low != 0 or high != 0 else 1.0
    least = share * largest
    if high - low + 2 * room < least:
        room = least / 2
    return Axis(low - room, high + room, start, end)


def _linear_ticks(low: float, high: float, about: int) -> tuple[list[float], int]:
    """Return multiples of 1, 2 or 5 times a power of ten, and the exponent of the last digit that they need."""
    rough = (high - low) / about
    exponent = math.floor(math.log10(rough))
    factor = min(_STEPS, key=lambda step: abs(math.log(step * 10.0**exponent / rough)))
    if factor == _STEPS[-1]:
        factor, exponent = 1, exponent + 1
    step = factor * 10.0**exponent
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    if (
        -300 < exponent < 0
    ):  # a division by a power of ten is exact to the last digit, unlike a product with its inverse
        return [number * factor / 10.0**-exponent for number in numbers], exponent
    return [number * step for number in numbers], exponent


def _logarithmic_ticks(low: float, high: float, about: int) -> list[float]:
    """Return 1, 2 and 5 times powers of ten, or fewer powers where they are many; linear ones within a factor of 5."""
    if high / low < 5:
        return _linear_ticks(low, high, about)[0]
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    factors = (1, 2, 5) if decades <= max(about // 2, 1) else (1,)
    stride = max(1, math.ceil(decades / about))
    exponents = range(stride * math.floor(first / stride), last + 1, stride)
    values = [factor * 10.0**exponent for exponent in exponents for factor in factors]
    return [value for value in values if low <= value <= high]


def _label(values: list[float], exponent: int) -> list[str]:
    """Write values down to the digit of this exponent; with an exponent themselves where some would be long."""
    if exponent < -_LONG or max(map(abs, values), default=0.0) >= 10**_LONG:
        return [f"{value:.{_count_digits(value, exponent)}e}" if value else "0" for value in values]
    return [f"{value:,.{max(-exponent, 0)}f}" if value else "0" for value in values]


def _count_digits(value: float, exponent: int) -> int:
    return max(math.floor(math.log10(abs(value))) - exponent, 0)
