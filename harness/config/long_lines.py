"""Long command lines in linear time.

The parser of the command line looks at all words that follow once for each flag, and compares the words of a flag with
one another. So the words of each list become one word, and the number of flags is limited.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from harness.config.flags import WORD_SEPARATOR, CompareFlags, RunFlags, WatchFlags
from harness.config.options import OptionTable
from harness.core.errors import UsageError

_FEW: Final = 100
"""Words of a command line that is parsed as it is."""
_MOST_FLAGS: Final = 300
"""Flags on a command line; there are about a hundred different ones."""
_LISTS: Final = frozenset({"Words", "Paths"})
"""Annotations of flags that take several words and are no options."""


def join_lists(tokens: Sequence[str], table: OptionTable) -> list[str]:
    """Join the words of each flag that takes several to one word where the command line is long.

    Raises:
        UsageError: There are too many flags.
    """
    if len(tokens) <= _FEW:
        return list(tokens)
    joined = _join(tokens, _flags_of_lists(table))
    flags = sum(token.startswith("-") for token in joined)
    if flags > _MOST_FLAGS:
        raise UsageError(
            f"{flags} flags on one command line: {_MOST_FLAGS} are the most",
            hint="several words may follow one flag, as in -b A.json B.json; a list file names many specifications",
        )
    return joined


def _join(tokens: Sequence[str], lists: Mapping[str, str]) -> list[str]:
    """Move the words of a list to the first flag of its name; a flag that has none stays, for the parser to refuse."""
    joined: list[str] = []
    words_of: dict[str, tuple[int, list[str]]] = {}
    words: list[str] | None = None
    for token in tokens:
        name, equals, value = token.partition("=")
        if name in lists:
            if lists[name] not in words_of:
                words_of[lists[name]] = (len(joined), [])
                joined.append(name)
            words = words_of[lists[name]][1]
            words += [value] if equals else []
        elif words is None or token.startswith("-"):
            joined.append(token)
            words = None
        else:
            words.append(token)
    for place, values in words_of.values():
        joined[place] += f"={WORD_SEPARATOR.join(values)}" if values else ""
    return joined


def _flags_of_lists(table: OptionTable) -> dict[str, str]:
    """Return a key for each flag that takes several words, none of which can be taken for a flag."""
    lists = (option for option in table.options if option.takes_words and not option.option.leading_hyphen)
    names = {flag: option.name for option in lists for flag in option.flags}
    fields = _fields((RunFlags, CompareFlags, WatchFlags))
    return {**names, **{f"--{field.name.replace('_', '-')}": field.name for field in fields if field.type in _LISTS}}


def _fields(classes: Iterable[type]) -> Iterable[dataclasses.Field[object]]:
    for flags in classes:
        yield from dataclasses.fields(flags)
