"""Text on its way to a terminal: names, units and messages come from anywhere, and may hold what a terminal obeys."""

from __future__ import annotations

import re
from typing import Final

_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_LINE_END: Final = re.compile(r"\r+\n")


def clean_for_terminal(text: str) -> str:
    """Return the text without characters that control a terminal or the direction of writing; lines and tabs stay.

    Each control character (ESC and C1 among them), format character (the marks of Unicode's bidirectional algorithm,
    zero-width ones), lone surrogate and unassigned character becomes U+FFFD, so that a reader sees that it was there.
    """
    if text.isprintable():
        return text
    return "".join(map(_clean_character, _LINE_END.sub("\n", text)))


def _clean_character(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return " " if character.isspace() and character > "\x7f" and character not in "\x85\u2028\u2029" else _REPLACEMENT
