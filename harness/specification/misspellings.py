"""Misspelt keys as regular expressions, for editors: a JSON Schema cannot say that a key is used by a placeholder.

Model, tests and matrices take keys of the user's own, so that `iterr` is no error to a JSON Schema by itself. What is
one letter away from a known key is refused there, except what is likely to be meant: the singular or plural of a key,
another letter in a short one (`item` is no `iter`), and other known keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

_SHORTEST: Final = 4
"""Letters of a key from which on letters may be missing, doubled or swapped."""
_SUBSTITUTED: Final = 6
"""Letters of a key from which on one may be another."""


def misspelling_pattern(key: str, known: Collection[str]) -> str | None:
    """Return a regular expression (ECMA 262) for what is nearly a key; None for keys that are too short.

    Args:
        key: A known key.
        known: Every known key, none of which matches.
    """
    if len(key) < _SHORTEST:
        return None
    alternatives = "|".join(dict.fromkeys(_alternatives(key)))
    others = [other for other in known if re.fullmatch(alternatives, other)]
    exclusion = f"(?!(?:{'|'.join(map(re.escape, sorted(others)))})$)" if others else ""
    return f"^{exclusion}(?:{alternatives})$"


def _alternatives(key: str) -> Iterator[str]:
    """Yield patterns of words that are one letter away; keys are letters, digits, `-` and `_`, which need no escape."""
    size = len(key)
    for place in range(size):
        before, letter, after = key[:place], key[place], key[place + 1 :]
        yield f"{before}.{letter}{after}"
        if place < size - 1 or letter != "s":
            yield before + after
        if after and after[0] != letter:
            yield before + after[0] + letter + after[1:]
        if size >= _SUBSTITUTED:
            yield f"{before}[^{letter}]{after}"
    yield f"{key}[^s]"
