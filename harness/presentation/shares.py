"""Relative differences as a reader sees them."""

from __future__ import annotations

from typing import Final

_INFINITE: Final = "∞"


def percent(share: float) -> str:
    """A share without sign, with three significant digits at most: 0.005 is `0.5 %`."""
    return f"{100 * share:.3g} %"


def signed(share: float | None) -> str:
    """A relative difference with its sign, 0.0213 is `+2.13 %`; None is empty."""
    return "" if share is None else f"{_number(share)} %"


def span(low: float | None, high: float | None) -> str:
    """An interval of relative differences, `+1.52 … +2.71 %`; None is an end that nothing excludes, two are empty."""
    if low is None and high is None:
        return ""
    lower = f"-{_INFINITE}" if low is None else _number(low)
    upper = f"+{_INFINITE}" if high is None else _number(high)
    return f"{lower} … {upper} %"


def _number(share: float) -> str:
    """Hundredths of a percent while they matter. What rounds to nothing has no sign."""
    size = abs(100 * share)
    decimals = 2 if size < 9.995 else 1 if size < 99.95 else 0
    text = f"{100 * share:+,.{decimals}f}" if size < 1e9 else f"{100 * share:+.2e}"
    return text[1:] if not text.strip("+-0.") else text
