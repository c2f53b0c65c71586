"""Texts and numbers of results as columns can hold them: the exact ones are in the body of each result.

Results may come from anywhere. PostgreSQL refuses NUL in texts and long keys in indexes, and both databases refuse
integers beyond 64 bits.
"""

from __future__ import annotations

import math
from hashlib import sha256
from typing import Final

KEY_CHARACTERS: Final = 200
"""Longest text of an indexed column: PostgreSQL allows 2704 bytes for all columns of an index together."""

TEXT_CHARACTERS: Final = 4000
"""Longest text of a column without an index."""

LARGEST: Final = 2**53
"""Largest integer of a column; every reader of numbers can hold it."""

_DIGITS: Final = 32
_LARGEST_32: Final = 2**31 - 1


def key_text(text: str) -> str:
    """Return a text as an indexed column holds it; different texts stay different.

    A text with NUL, or longer than `KEY_CHARACTERS`, is shortened and ends with the beginning of its SHA-256.
    """
    if len(text) <= KEY_CHARACTERS and "\0" not in text:
        return text
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    return f"{shown_text(text)[: KEY_CHARACTERS - _DIGITS - 1]}~{digest}"


def shown_text(text: str) -> str:
    """Return a text as a column holds it that is only shown: with U+FFFD for NUL, shortened after `TEXT_CHARACTERS`."""
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= TEXT_CHARACTERS else clean[: TEXT_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def bounded_float(number: float) -> float:
    """Return an integer or float as a float; integers beyond the largest float become that."""
    try:
        return float(number)
    except OverflowError:
        return 1e308 if number > 0 else -1e308


def bounded_count(number: float | None) -> int | None:
    """Return a count, at most `LARGEST`; None where it is not a finite number of at least 0."""
    if number is None or not 0 <= number < math.inf:
        return None
    return min(int(number), LARGEST)


def bounded_integer(number: int | None) -> int | None:
    """Return an integer within 32 bits: beyond them the nearest one within."""
    return None if number is None else max(-_LARGEST_32, min(number, _LARGEST_32))
