"""Markdown that shows any text exactly as it is (CommonMark 0.31 and GitHub's tables)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.presentation.text import make_printable

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>&|~$#]")
_BLOCK_START: Final = re.compile(r"^(\d{0,9})(?=[-+=](?:[\s=-]|$)|[.)](?:\s|$))")
"""Beginning of a line that would start a list, a rule or an underlined heading."""


def escape(text: str) -> str:
    """Return one line that shows exactly this text, in a paragraph, heading, list or table."""
    line = _SPECIAL.sub(lambda match: f"\\{match[0]}", make_printable(text))
    return _BLOCK_START.sub(r"\1\\", line)


def fence(text: str, language: str = "") -> str:
    """Return a code block with this text; its fence is longer than every run of backquotes in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return a table of any texts.

    Args:
        headings: One for each column.
        rows: Cells.
        right: For each column, whether it is aligned to the right.
    """
    rules = ["--:" if flag else "---" for flag in right]
    lines = [f"| {' | '.join(map(escape, cells))} |" for cells in (headings, *rows)]
    return "\n".join([lines[0], f"| {' | '.join(rules)} |", *lines[1:]])
