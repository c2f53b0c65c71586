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
