"""Documents that were read, with the place of every value, and the problems found in them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from pydantic import JsonValue

from harness.core.benchmark import SpecificationPlace
from harness.core.errors import Problem, SpecificationError


def join(pointer: str, *segments: str | int) -> str:
    """Append segments to a JSON pointer (RFC 6901); the result is always printable."""
    steps = (str(segment).encode("utf-8", "backslashreplace").decode() for segment in segments)
    return pointer + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


class SpecificationDocument(Struct, frozen=True):
    """Content of one file, with the place of every value.

    Attributes:
        file: The file, as messages name it.
        value: Its content.
        places: The place of each JSON pointer: for a member of an object, the line of its key.
            A value that was filled in from another file has its place there.
    """

    file: Path
    value: JsonValue
    places: Mapping[str, SpecificationPlace]

    @classmethod
    def of_value(cls, file: Path, value: JsonValue) -> SpecificationDocument:
        """Return a document that was made in memory: its places have pointers and no lines.

        Args:
            file: Name in messages; relative locations are relative to its folder.
            value: Its content.
        """
        return cls(
            file, value, {pointer: SpecificationPlace(file=file, pointer=pointer) for pointer in _pointers(value)}
        )

    def place(self, pointer: str) -> SpecificationPlace:
        """Return the place of a pointer, or of the nearest value around it."""
        while pointer and pointer not in self.places:
            pointer = pointer.rpartition("/")[0]
        return self.places.get(pointer) or SpecificationPlace(file=self.file, line=1)

    def restrict(self, keys: Collection[str]) -> SpecificationDocument:
        """Keep only the members of the object that have one of these keys."""
        members = self.value if isinstance(self.value, dict) else {}
        return SpecificationDocument(
            self.file, {key: value for key, value in members.items() if key in keys}, self.places
        )

    def member(self, key: str) -> SpecificationDocument:
        """Return one member of the object as a document of its own; an empty object where there is none."""
        prefix = join("", key)
        value = self.value.get(key, {}) if isinstance(self.value, dict) else {}
        places = {
            pointer.removeprefix(prefix): place
            for pointer, place in self.places.items()
            if pointer == prefix or pointer.startswith(prefix + "/")
        }
        return SpecificationDocument(self.file, value, places)

    def with_defaults(self, defaults: SpecificationDocument) -> SpecificationDocument:
        """Fill in from `defaults` whatever the object does not define itself."""
        return SpecificationDocument(self.file, _merge(self.value, defaults.value), {**defaults.places, **self.places})

    def with_member_defaults(self, key: str, defaults: SpecificationDocument) -> SpecificationDocument:
        """Fill in from `defaults` whatever the object under one key does not define, if there is one."""
        if not isinstance(self.value, dict) or not isinstance(self.value.get(key), dict):
            return self
        value = {**self.value, key: _merge(self.value[key], defaults.value)}
        moved = {join("", key) + pointer: place for pointer, place in defaults.places.items() if pointer}
        return SpecificationDocument(self.file, value, {**moved, **self.places})


class Problems:
    """Problems of all files so far. Equal problems count once: expansion meets the same place many times."""

    def __init__(self) -> None:
        self._problems: dict[Problem, None] = {}

    def add(self, place: SpecificationPlace, message: str, hint: str | None = None) -> None:
        """Note one problem at a place."""
        self._problems[Problem(place.file, place.line, place.pointer, message, hint)] = None

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note problems that were found elsewhere."""
        self._problems.update(dict.fromkeys(problems))

    def __len__(self) -> int:
        return len(self._problems)

    def sort_problems(self) -> Sequence[Problem]:
        """List the problems: by file in the order of their first problem, then by line."""
        order = {file: number for number, file in enumerate({problem.file: None for problem in self._problems})}
        return sorted(self._problems, key=lambda problem: (order[problem.file], problem.line or 0))

    def raise_if_any(self) -> None:
        """End loading when there is a problem.

        Raises:
            SpecificationError: With every problem.
        """
        if self._problems:
            raise SpecificationError(self.sort_problems())


class Findings(Struct, frozen=True):
    """Problems of one document, noted by JSON pointer."""

    document: SpecificationDocument
    problems: Problems

    def add(self, pointer: str, message: str, hint: str | None = None) -> None:
        """Note one problem at the place where the pointer's value was written."""
        self.problems.add(self.document.place(pointer), message, hint)


def _pointers(value: JsonValue, pointer: str = "") -> Iterator[str]:
    """Yield the JSON pointer of a value and of every value within."""
    yield pointer
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _pointers(item, join(pointer, key))


def _merge(value: JsonValue, defaults: JsonValue) -> JsonValue:
    """Merge objects at every depth; `value` wins, and lists are not mixed."""
    if not isinstance(value, dict) or not isinstance(defaults, dict):
        return value
    both = {key: _merge(item, defaults[key]) if key in defaults else item for key, item in value.items()}
    return {**both, **{key: item for key, item in defaults.items() if key not in value}}
