"""Specifications as scripts give them: paths, dictionaries, or several of these."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from harness.core import DICTIONARY_NAME
from harness.core.errors import UsageError
from harness.specification.document import SpecificationDocument

SpecificationLike: TypeAlias = str | PathLike[str] | Mapping[str, object]
Specifications: TypeAlias = SpecificationLike | Sequence[SpecificationLike]

_NAME: Final = f"{DICTIONARY_NAME}>"
"""Name of a dictionary in messages and results."""


def split(spec: Specifications) -> tuple[tuple[str | Path, ...], tuple[SpecificationDocument, ...]]:
    """Return the files and the documents among specifications. A text may also be the name of a built-in one.

    Raises:
        UsageError: There is none, or one cannot be a specification.
    """
    if not isinstance(spec, Iterable | PathLike):
        raise UsageError(
            f"{spec!r} is no specification",
            hint="give a path, the name of a built-in one, a dictionary or a list of them",
        )
    items = [spec] if isinstance(spec, str | PathLike | Mapping) else list(spec)
    if not items:
        raise UsageError("no specification", hint="give a path or a dictionary")
    files = tuple(item if isinstance(item, str) else Path(item) for item in items if isinstance(item, str | PathLike))
    mappings = [item for item in items if isinstance(item, Mapping)]
    if len(files) + len(mappings) < len(items):
        raise UsageError("a specification is neither a path nor a dictionary", hint="give one or the other")
    names = [_NAME if len(mappings) == 1 else f"{DICTIONARY_NAME} {number}>" for number in range(1, len(mappings) + 1)]
    return files, tuple(_document(name, item) for name, item in zip(names, mappings, strict=True))


def _document(name: str, value: Mapping[str, object]) -> SpecificationDocument:
    """Return a dictionary as what a JSON file with its content would be: tuples are lists, keys are texts."""
    try:
        return SpecificationDocument.of_value(Path(name), json.loads(json.dumps(value, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{name} has a value that JSON does not know: {error}") from error
