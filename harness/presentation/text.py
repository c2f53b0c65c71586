"""Texts as data: made safe for one line, and toned by what they mean, which each medium shows in its own way."""

from __future__ import annotations

from enum import Enum, auto

from msgspec import Struct


def make_printable(text: str) -> str:
    """Return one line without characters that move the cursor or colour the screen; names come from anywhere."""
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)


class Tone(Enum):
    """Meaning of a text that a medium can show by a colour or a weight."""

    NORMAL = auto()
    STRONG = auto()
    MUTED = auto()
    GOOD = auto()
    WARNING = auto()
    BAD = auto()


class Span(Struct, frozen=True):
    """Piece of text in one tone: a cell of a table, or a part of a line."""

    text: str
    tone: Tone = Tone.NORMAL


class Line(Struct, frozen=True):
    """Line of text in one or more tones."""

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, *parts: str | Span) -> Line:
        """Join texts and spans; plain strings have no tone."""
        return cls(tuple(Span(part) if isinstance(part, str) else part for part in parts))

    @property
    def text(self) -> str:
        """The line without its tones."""
        return "".join(span.text for span in self.spans)
