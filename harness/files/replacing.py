"""Files of the user that a report or a table must not replace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from harness.core.errors import UsageError

_ENDINGS: Final = frozenset({".json", ".yaml", ".yml"})
_SECTIONS: Final = frozenset({"tests", "benchmarks"})
"""Keys of which every specification, or list of them, has one."""
_MOST_BYTES: Final = 1 << 20


def reject_specification(file: Path) -> None:
    """Reject replacing a specification, which somebody wrote by hand.

    Raises:
        UsageError: The file is there, and is one.
    """
    if file.suffix.lower() in _ENDINGS and _has_section(file):
        raise UsageError(f"{file} is a specification, and is not replaced", hint="name another file")


def _has_section(file: Path) -> bool:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return False
        text = file.read_text("utf-8", errors="replace")
    except OSError:
        return False
    if file.suffix.lower() != ".json":
        return any(line.startswith(tuple(f"{section}:" for section in _SECTIONS)) for line in text.splitlines())
    try:
        value = json.loads(text)
    except ValueError:  # unfinished, or with comments
        return any(f'"{section}"' in text for section in _SECTIONS)
    return isinstance(value, dict) and not _SECTIONS.isdisjoint(value)
