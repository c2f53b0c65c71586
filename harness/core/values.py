"""The base class of everything that crosses a wire or a file: frozen, complete, nothing extra."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Scalar = str | bool | int | float
"""What a matrix axis, a placeholder or an option can hold."""


class Value(BaseModel):
    """A frozen value. Unknown keys are refused; numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def text(value: Scalar) -> str:
    """A scalar as a command line shows it: JSON's `true`, and no `.0` behind whole numbers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
