"""Texts of any origin, made safe for one line of a page or a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return one line without characters that move the cursor or colour the screen; names come from anywhere."""
    line = " ".join(text.split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line)
