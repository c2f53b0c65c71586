"""A comparison under FAI-PEP's names: `control_summary` and `diff_summary` (`benchmark_driver.py`).

Kept for its readers. The differences of percentiles are reflected, treatment's p90 minus control's p10: they enclose
what may have happened, and are not percentiles of a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

Summary = Mapping[str, float | None]

_PLAIN = ("mean", "stdev", "MAD", "cv")
_DIGITS = 15
"""FAI-PEP rounds differences so."""


def control_summary(control: Summary) -> dict[str, float | None]:
    """The control's statistics that FAI-PEP knows: percentiles, mean, stdev, MAD and cv."""
    return {name: value for name, value in control.items() if name in _PLAIN or _percent(name) is not None}


def diff_summary(treatment: Summary, control: Summary) -> dict[str, float | None]:
    """Treatment minus control, statistic by statistic, in their unit; percentile X minus percentile 100 - X.

    None where one of the two is not defined. Statistics without a counterpart are left out. FAI-PEP finds none for
    fractional percentiles (100 - 99.9 is not 0.1 in binary); here they have one.

    Args:
        treatment: Summary of the treatment's metric (`Metric.summary`).
        control: That of the control's, in the same unit.
    """
    pairs = ((name, _counterpart(name)) for name in treatment)
    return {name: _difference(treatment[name], control[other]) for name, other in pairs if other and other in control}


def _counterpart(name: str) -> str | None:
    percent = _percent(name)
    if percent is not None:
        return f"p{(100 - percent).normalize():f}"
    return name if name in _PLAIN else None


def _percent(name: str) -> Decimal | None:
    number = name.removeprefix("p")
    if number == name or not number.replace(".", "", 1).isdecimal():
        return None
    return Decimal(number)


def _difference(treatment: float | None, control: float | None) -> float | None:
    return None if treatment is None or control is None else round(treatment - control, _DIGITS)
