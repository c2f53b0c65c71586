"""Reading the documentation: its fenced blocks and its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_FENCED = re.compile(r"^```(\w+)(?: +([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        language: `json`, `python`, ...
        label: What stands behind the language, and no reader sees: what the block is, or the file that it stands for.
        text: Its content.
        line: Where it begins.
    """

    language: str
    label: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.label or self.language}"


def blocks(page: str, language: str) -> Sequence[Block]:
    """The blocks of one language on a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    matching = [
        Block(match[1], match[2] or "", match[3], text.count("\n", 0, match.start()) + 1)
        for match in _FENCED.finditer(text)
    ]
    return [block for block in matching if block.language == language]


def tables(page: str, marker: str) -> dict[str, list[tuple[str, ...]]]:
    """Rows of every table behind a comment `<!-- MARKER: NAME -->`, by name, without the two rows of its head."""
    text = (DOCS / page).read_text(encoding="utf-8")
    marked = re.findall(rf"<!-- {marker}(?:: (\w+))? -->\n((?:\|[^\n]*\n)+)", text)
    return {name: [_cells(row) for row in rows.splitlines()[2:]] for name, rows in marked}


def codes(cell: str) -> list[str]:
    """What stands in backquotes in a cell."""
    return _CODE.findall(cell)


def _cells(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))
