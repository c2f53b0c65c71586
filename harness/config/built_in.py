"""Specifications that ship with the harness, by name: `mv2` is `specifications/models/mv2.json` of the package."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import UsageError
from harness.files.installation import SPECIFICATIONS

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""Endings of specification files."""
MODELS: Final = "models"
LISTS: Final = "benchmarks"
_SIMILAR: Final = 0.6
"""Likeness from which on a built-in name may have been meant."""


def find_shipped(folder: str) -> Mapping[str, Path]:
    """Return the specifications in a folder of the package `specifications`, by name."""
    return {file.stem: file for file in sorted((SPECIFICATIONS / folder).glob("*.json"))}


def find_specifications() -> Mapping[str, Path]:
    """Return every built-in specification and list of them, by name."""
    return dict(sorted({**find_shipped(MODELS), **find_shipped(LISTS)}.items()))


def is_path(word: str) -> bool:
    """Return whether a word is a path: by its form, or because there is a file of that name."""
    separators = {os.sep, os.altsep} - {None}
    return any(str(mark) in word for mark in separators) or word.endswith(SUFFIXES) or os.path.isfile(word)  # noqa: PTH113 - `Path.is_file` raises for long names


def locate_specification(word: str) -> Path:
    """Return the file, or the folder, that a word of the command line names.

    A path is a path. Any other word is a file of the present folder where there is one, else the name of a built-in
    specification, else a folder of the present folder.

    Raises:
        UsageError: The word is none of these, or a file that is missing and called like a built-in specification.
    """
    path = Path(word).expanduser()
    if is_path(word) or is_path(str(path)):
        is_missing = path.suffix in SUFFIXES and not os.path.exists(path)  # noqa: PTH110 - `Path.exists` raises for long names
        if is_missing and path.stem in find_specifications():
            raise UsageError(f"no file {word}", hint=f"the built-in specification is called `{path.stem}`")
        return path
    known = find_specifications()
    if word in known:
        return known[word]
    if os.path.isdir(path):  # noqa: PTH112 - likewise
        return path
    raise UsageError(f"no specification `{word}`: neither a file nor a built-in name", hint=suggest_name(word, known))


def suggest_name(word: str, known: Mapping[str, Path]) -> str:
    """Return the built-in name that may have been meant, and all of them."""
    close = find_similar(word, tuple(known), _SIMILAR)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}built in: {', '.join(known)} (`harness list` describes them)"


def find_similar(word: str, known: Sequence[str], cutoff: float) -> Sequence[str]:
    """Return the names that a word may have been meant as: those that it begins, else the most similar one.

    Args:
        word: What was typed.
        known: All names.
        cutoff: Likeness from which on a name is similar.
    """
    longer = [name for name in known if name.startswith(f"{word}_")] if word else []
    return longer or difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
