"""Patterns that select benchmarks, before they are measured and afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase


def matches_pattern(pattern: str, model: str, identifier: str, properties: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a pattern selects a benchmark: by its name, or by `NAME:VALUE` of one of its properties.

    Args:
        pattern: Pattern with `*`, `?` and `[...]`, of `model/identifier`, of the identifier alone, as tables show it,
            or, after the name of a property and a colon, of one of its values.
        model: Name of the benchmark's model.
        identifier: Its name within the model.
        properties: Values by name: the axes of the matrix, `model`, `tag`.
    """
    name, colon, value_pattern = pattern.partition(":")
    values = properties.get(name, ()) if colon else ()
    return any(fnmatchcase(value, value_pattern) for value in values) or any(
        fnmatchcase(title, pattern) for title in (f"{model}/{identifier}", identifier)
    )
