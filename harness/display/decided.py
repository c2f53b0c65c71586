"""What a board counts."""

from __future__ import annotations

from collections.abc import Sequence


def is_decided(row: Sequence[str]) -> bool:
    """Whether its last cell says something, and not as a question."""
    return bool(row[-1]) and not row[-1].endswith("?")
