"""Numbers as a reader sees them: three significant digits in a suitable unit. The result file has all digits."""

from __future__ import annotations

import math
from typing import Final

from harness.core.metric import Metric, convert

_TIMES: Final = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))
_FAR_APART: Final = 3.0
"""A larger ratio of the ends of a range says no more than its lower end."""
_WHOLE_PERCENT: Final = 0.0995
"""From here on a percentage is shown without decimals."""
_SMALLEST_SHOWN: Final = 0.0005
"""Precision below which its only decimal would be a zero."""
_MINUTE_S: Final = 60
_SIZES: Final = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))


def format_quantity(value: float | None, unit: str) -> str:
    """Format a value with its unit: times and sizes in a suitable unit, others in their own; None is empty."""
    if value is None:
        return ""
    if unit in {"bytes", "B"}:
        return _scale(value, _SIZES)
    nanoseconds = convert(value, unit, "ns")
    if nanoseconds is not None and math.isfinite(nanoseconds):
        return _scale(nanoseconds, _TIMES)
    return f"{format_number(value)} {unit}".rstrip()


def format_median(metric: Metric) -> str:
    """Format the median of a metric, or the mean where the program reported nothing else."""
    if metric.median is None and metric.summary.get("mean") is not None:
        return f"mean {format_quantity(metric.summary['mean'], metric.unit)}"
    return format_quantity(metric.median, metric.unit)


def mark_throttled(figure: str, *, throttled: bool) -> str:
    """Mark a figure of a device that throttled while it was measured, so that nobody takes it for the figure."""
    return f"{figure} (throttled)" if throttled and figure else figure


def format_spread(metric: Metric) -> str:
    """Format the median absolute deviation as a share of the median."""
    deviation = metric.summary.get("MAD")
    return f"{100 * deviation / abs(metric.median):.1f} %" if deviation is not None and metric.median else ""


def format_precision(precision: float | None) -> str:
    """Format half of the width of an interval, relative to its median: 0.0123 is `1.2 %`; None is empty."""
    if precision is None:
        return ""
    if 0.0 < precision < _SMALLEST_SHOWN:
        return "< 0.1 %"
    if precision > 1:
        return "> 100 %"
    return f"{100 * precision:.1f} %" if precision < _WHOLE_PERCENT else f"{100 * precision:.0f} %"


def format_number(value: float | None) -> str:
    """Format three significant digits; integers and everything above a thousand as integers; None is empty."""
    if value is None:
        return ""
    if value == 0 or abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"
    return _three_digits(value) if abs(value) >= 0.001 else f"{value:.3g}"


def format_duration(seconds: float) -> str:
    """Format a duration for people who wait: `45 s`, `12 min`, `3 h 5 min`."""
    if round(seconds) < _MINUTE_S:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(max(1, round(seconds / _MINUTE_S)), _MINUTE_S)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")
    return " ".join(filter(None, parts))


def format_factor(value: float | None) -> str:
    """Format a ratio of speeds: 2.5 is `2.50×`; None is empty."""
    if value is None:
        return ""
    return f"{_three_digits(value) if value >= 1 else f'{value:.2g}'}×"


def choose_scale(value: float, unit: str) -> tuple[float, str]:
    """Return the factor that brings values into the unit in which one of this size is shown, and that unit."""
    if unit in {"bytes", "B"}:
        return _choose_unit(abs(value), 1.0, _SIZES)
    nanoseconds = convert(1.0, unit, "ns")
    if nanoseconds is not None:
        return _choose_unit(abs(value), nanoseconds, _TIMES)
    return 1.0, unit


def format_factors(low: float, high: float) -> str:
    """Format a range of ratios of speeds: `148-165×`, or `at least 12×` where its ends are far apart."""
    least, most = format_factor(low), format_factor(high)
    if high > _FAR_APART * low:
        return f"at least {least}"
    return least if least == most else f"{least[:-1]}-{most}"


def format_percent(share: float) -> str:
    """Format a share without sign, with three significant digits at most: 0.005 is `0.5 %`."""
    return f"{100 * share:.3g} %"


def format_change(relative_change: float | None) -> str:
    """Format a relative change with its sign: 0.0213 is `+2.13 %`; None is empty."""
    return "" if relative_change is None else f"{_signed_percent(relative_change)} %"


def format_interval(low: float | None, high: float | None) -> str:
    """Format an interval of relative changes, `+1.52 … +2.71 %`; an end that is None is unbounded, two are empty.

    That of counts, which are compared exactly, is a single point: `exact`.
    """
    if low is None and high is None:
        return ""
    if low == high:
        return "exact"
    lower = "-∞" if low is None else _signed_end(low)
    upper = "+∞" if high is None else _signed_end(high)
    return f"{lower} … {upper} %"


def format_evidence(e_value: float) -> str:
    """Format an e-value with as many digits as matter."""
    if e_value < 0.01:
        return "< 0.01"
    if e_value >= 1e6:
        return f"{e_value:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{e_value:,.0f}" if e_value >= 10 else f"{e_value:.2g}"


def _signed_end(relative_change: float) -> str:
    """Format an end so that one beside zero does not read as zero: an interval contains zero or it does not."""
    text = _signed_percent(relative_change)
    return text if relative_change == 0 or text.strip("+-0.") else f"{100 * relative_change:+.1g}"


def _signed_percent(relative_change: float) -> str:
    """Hundredths of a percent while they matter. What rounds to zero has no sign."""
    size = abs(100 * relative_change)
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    text = f"{100 * relative_change:+,.{decimals}f}" if size < 1e9 else f"{100 * relative_change:+.2e}"
    return text[1:] if not text.strip("+-0.") else text


def _scale(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """Format in the largest unit that gives at least 1 after rounding: 999.9 µs are 1.00 ms."""
    for name, size in units:
        if _round(abs(value) / size) >= 1:
            return f"{_three_digits(value / size)} {name}"
    name, size = units[-1]
    return f"{_three_digits(value / size)} {name}"


def _choose_unit(value: float, base: float, units: tuple[tuple[str, float], ...]) -> tuple[float, str]:
    name, size = next(((name, size) for name, size in units if _round(value * base / size) >= 1), units[-1])
    return base / size, name


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def _three_digits(value: float) -> str:
    rounded = _round(value)
    if rounded == 0:
        return "0"
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}" if -15 < decimals < 12 else f"{rounded:.3g}"
