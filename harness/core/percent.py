"""Shares and relative changes in percent, as tables write them: a space before the sign."""

from __future__ import annotations


def in_percent(share: float, decimals: int = 0, *, signed: bool = False) -> str:
    """Format a share or a relative change: 0.286 is `29 %`, with one decimal and a sign `+28.6 %`."""
    return f"{100 * share:{'+' if signed else ''}.{decimals}f} %"
