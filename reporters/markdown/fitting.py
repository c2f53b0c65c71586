"""Blocks of a Markdown page that give way, the least important first, until the page fits into a comment on GitHub.

A block is shortened by whole rows, whole lines or as a whole, so that no table, fence or fold is ever cut through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

LIMIT: Final = 65_000
"""Characters of a page.

GitHub refuses the text of a pull request of more than 65,536 characters, counted as code points of Unicode (an emoji is
one), and a comment of more than 262,144 bytes, which as many code points never exceed; its message names 65,536
characters for both. The rest is left to whoever posts the page with a line of its own around it.
"""
SEPARATOR: Final = "\n\n"


class Block(Protocol):
    """Part of a page between empty lines."""

    @property
    def text(self) -> str:
        """The block as Markdown; empty where nothing is left of it."""

    def shorten(self, excess: int) -> Block:
        """Return the block without at least so many characters, or as short as it gets."""


class Fixed(Struct, frozen=True):
    """Block that stays."""

    text: str

    def shorten(self, excess: int) -> Fixed:  # noqa: ARG002 - part of the protocol
        """Return the block as it is."""
        return self


class Droppable(Struct, frozen=True):
    """Block that stays as a whole or goes as a whole."""

    text: str

    def shorten(self, excess: int) -> Droppable:
        """Return an empty block."""
        return Droppable("") if excess > 0 else self


class Lines(Struct, frozen=True):
    """Lines of a table or of a list between a head and an end, of which the last can be left out.

    Attributes:
        head: First lines, for example the headings of a table.
        lines: Lines, each whole.
        describe_rest: Returns a paragraph that says how many lines are left out; empty where none is.
        end: Last line, for example the end of a fold.
        left_out: Number of lines that were left out.
    """

    head: str
    lines: Sequence[str]
    describe_rest: Callable[[int], str]
    end: str = ""
    left_out: int = 0

    @property
    def text(self) -> str:
        """The head, the remaining lines, what is left out, and the end; without lines only how many there were."""
        rest = self.describe_rest(self.left_out) if self.left_out else ""
        if not self.lines:
            return rest
        body = "\n".join([self.head, *self.lines] if self.head else self.lines)
        return SEPARATOR.join(part for part in (body, rest, self.end) if part)

    def shorten(self, excess: int) -> Lines:
        """Leave out the fewest last lines that are enough."""
        shorter, target = self, len(self.text) - excess
        while shorter.lines and len(shorter.text) > target:
            # Lines differ in length: estimate how many are too long, and look again.
            surplus, count = len(shorter.text) - target, 0
            while surplus > 0 and count < len(shorter.lines):
                count += 1
                surplus -= len(shorter.lines[-count]) + 1
            shorter = replace(shorter, lines=shorter.lines[:-count], left_out=shorter.left_out + count)
        return shorter


class Ranked(Struct, frozen=True):
    """Block with its importance: that of the least importance is shortened first.

    Attributes:
        block: The block.
        importance: Larger is more important.
    """

    block: Block
    importance: float


def fit(blocks: Sequence[Ranked], limit: int = LIMIT) -> tuple[list[str], bool]:
    """Shorten blocks until they fit.

    Args:
        blocks: In the order of the page.
        limit: Most characters of all of them, joined by `SEPARATOR`.

    Returns:
        The texts that remain, and whether anything was left out.
    """
    fitted = [ranked.block for ranked in blocks]
    excess = sum(map(_length, fitted)) - limit
    order = sorted(range(len(blocks)), key=lambda index: (blocks[index].importance, -index))
    for index in order:
        if excess <= 0:
            break
        before = _length(fitted[index])
        fitted[index] = fitted[index].shorten(excess)
        excess -= before - _length(fitted[index])
    for index in reversed(order):  # where a large block went after small ones, some of these fit again
        more = _length(blocks[index].block) - _length(fitted[index])
        if 0 < more <= -excess:
            fitted[index] = blocks[index].block
            excess += more
    shortened = any(block is not ranked.block for block, ranked in zip(fitted, blocks, strict=True))
    return [block.text for block in fitted if block.text], shortened


def _length(block: Block) -> int:
    text = block.text
    return len(text) + len(SEPARATOR) if text else 0
