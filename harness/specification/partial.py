"""What can still be checked of a specification whose form is wrong, so that one run tells everything.

Only what is certainly independent of the mistake is kept: a wrong test is left out, a wrong part of the model too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from harness.specification.file_format import ModelSection, Test

Path = tuple[str | int, ...]

_FILES = ("files", "libraries")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The good parts.

    Attributes:
        model: The model without its wrong parts.
        tests: The good tests by their index in the file.
        lost: Names that the wrong parts would have defined.
    """

    model: ModelSection
    tests: Mapping[int, Test]
    lost: frozenset[str]


def salvaged(value: JsonValue, wrong: Iterable[Path]) -> Salvaged | None:
    """The good parts of a specification.

    Args:
        value: The document.
        wrong: Paths to what is wrong in it.

    Returns:
        None where so much is wrong that nothing can be said about the rest.
    """
    if not isinstance(value, dict) or not isinstance(value.get("model"), dict):
        return None
    members = dict(value["model"]) if isinstance(value["model"], dict) else {}
    lost: set[str] = set()
    for path in wrong:
        if len(path) > 1 and path[0] == "model":
            lost |= _without(members, path[1:])
    tests = value.get("tests")
    good: dict[int, Test] = {}
    with contextlib.suppress(ValidationError):
        model = ModelSection.model_validate(members)
        for index, test in enumerate(tests if isinstance(tests, list) else ()):
            with contextlib.suppress(ValidationError):
                good[index] = Test.model_validate(test)
        return Salvaged(model, good, frozenset(lost))
    return None


def _without(members: dict[str, JsonValue], path: Path) -> set[str]:
    """Drop the member that a path leads through; of files only the wrong one. Returns the names it defined."""
    key = str(path[0])
    inner = members.get(key)
    if key in _FILES and isinstance(inner, dict) and len(path) > 1:
        members[key] = {name: entry for name, entry in inner.items() if name != path[1]}
        return {f"{key}.{path[1]}"}
    members.pop(key, None)
    return {key, *(f"{key}.{name}" for name in (inner if isinstance(inner, dict) else ()))}
