"""Scalars of specifications and settings. Light: `harness --help` imports it, and not pydantic."""

from __future__ import annotations

Scalar = str | bool | int | float
"""Value of a matrix axis, a placeholder or an option."""


def format_scalar(value: Scalar) -> str:
    """Format a scalar for a command line: JSON's `true`, and no `.0` behind whole numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def suggest_share(value: float) -> str | None:
    """Return `did you mean 0.02?` for 2, which was probably meant in percent; None where percent is no share either."""
    return f"did you mean {value / 100:g}?" if 1 <= value < 100 else None
