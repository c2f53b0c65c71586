"""Numbers as a table shows them: three significant digits, and a unit that suits them. The file has all digits."""

from __future__ import annotations

import math
from typing import Final

from harness.core.metric import Metric, convert

_TIMES: Final = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_SIZES: Final = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit: times and sizes in the unit that suits them, others as they are; None is empty."""
    if value is None:
        return ""
    if unit in {"bytes", "B"}:
        return _scaled(value, _SIZES)
    nanoseconds = convert(value, unit, "ns")
    if nanoseconds is not None and math.isfinite(nanoseconds):
        return _scaled(nanoseconds, _TIMES)
    return f"{number(value)} {unit}".rstrip()


def typical(metric: Metric) -> str:
    """Its median; where a program told only its mean, that."""
    if metric.median is None and metric.summary.get("mean") is not None:
        return f"mean {quantity(metric.summary['mean'], metric.unit)}"
    return quantity(metric.median, metric.unit)


def spread(metric: Metric) -> str:
    """Its median absolute deviation as a share of its median."""
    deviation = metric.summary.get("MAD")
    return f"{deviation / abs(metric.median):.1%}" if deviation is not None and metric.median else ""


def number(value: float | None) -> str:
    """Three significant digits; whole numbers and everything above a thousand as whole numbers; None is empty."""
    if value is None:
        return ""
    if value == 0 or abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"
    return _three_digits(value) if abs(value) >= 0.001 else f"{value:.3g}"


def factor(value: float | None) -> str:
    """How many times as fast."""
    if value is None:
        return ""
    return f"{_three_digits(value) if value >= 1 else f'{value:.2g}'}×"


def _scaled(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """In the largest unit of which there is one at least, after rounding: 999.9 µs are 1.00 ms."""
    for name, size in units:
        if _rounded(abs(value) / size) >= 1:
            return f"{_three_digits(value / size)} {name}"
    name, size = units[-1]
    return f"{_three_digits(value / size)} {name}"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _three_digits(value: float) -> str:
    rounded = _rounded(value)
    if rounded == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}" if -15 < decimals < 12 else f"{rounded:.3g}"
