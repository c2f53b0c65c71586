"""FAI-PEP's converters: how a specification says which words announce an observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

KNOWN: Final = ("json_converter", "json_with_identifier_converter")


class UnknownConverter(ValueError):
    """A converter, or an option of one, that there is not."""


def identifiers_of(converter: str, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The words that announce an object.

    Args:
        converter: `json_converter`: every line that begins with `{` is an observation, or the whole text is one JSON
            document. `json_with_identifier_converter`: what stands behind the word `identifier` is one.
        arguments: `identifier`, for the second.

    Returns:
        The identifiers for `frameworks.observations.observer.parse_lines`.

    Raises:
        UnknownConverter: There is no such converter, or it has no identifier.
    """
    if converter not in KNOWN:
        raise UnknownConverter(f"there is no converter `{converter}`")
    if converter == "json_converter":
        return ()
    identifier = arguments.get("identifier")
    if not isinstance(identifier, str) or not identifier.strip():
        raise UnknownConverter(f"converter `{converter}` has no `identifier` in its `args`")
    return (identifier.strip(),)
