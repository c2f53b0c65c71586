"""Probabilities as a reader sees them."""

from __future__ import annotations

from typing import Final

_NEARLY_NONE: Final = 0.01
_NEARLY_SURE: Final = 0.99


def format_probability(probability: float) -> str:
    """Format a probability in whole percent: nothing that was measured is certain, or impossible."""
    if probability < _NEARLY_NONE:
        return "< 1 %"
    return "> 99 %" if probability > _NEARLY_SURE else f"{100 * probability:.0f} %"
