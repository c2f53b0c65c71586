"""Any text as Markdown that shows just that text (CommonMark 0.31 and GitHub's tables)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from harness.presentation.text import printable

_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>&|~$#]")
_BEGINS_SOMETHING: Final = re.compile(r"^(\d{0,9})(?=[-+=](?:[\s=-]|$)|[.)](?:\s|$))")
"""Where a list, a rule or an underlined heading would begin."""


def escape(text: str) -> str:
    """One line that stands for exactly this text, in a paragraph, heading, list or table."""
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", printable(text))
    return _BEGINS_SOMETHING.sub(r"\1\\", line)


def fenced(text: str, language: str = "") -> str:
    """A block in which nothing means anything: the fence is longer than every run of backquotes in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table of any texts.

    Args:
        headings: One for each column.
        rows: Cells.
        right: For each column, whether it is aligned to the right.
    """
    rules = ["--:" if flag else "---" for flag in right]
    cells = ([escape(cell) for cell in one] for one in (headings, *rows))
    first, *others = (f"| {' | '.join(one)} |" for one in cells)
    return "\n".join([first, f"| {' | '.join(rules)} |", *others])
