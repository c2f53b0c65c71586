"""A file that was read: its value, and the place of every part of it, for messages and for `Origin`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from harness.core.benchmark import Origin


def join(pointer: str, *segments: str | int) -> str:
    """A JSON pointer (RFC 6901) one or more steps further down, always printable."""
    steps = (str(segment).encode("utf-8", "backslashreplace").decode() for segment in segments)
    return pointer + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


@dataclass(frozen=True, slots=True)
class Document:
    """What one file says, and where.

    Attributes:
        file: The file, as messages shall name it.
        value: Its content.
        places: Where each JSON pointer stands: for a member of an object, the line of its key.
            A part that was filled in from another file has its place there.
    """

    file: Path
    value: JsonValue
    places: Mapping[str, Origin]

    def place(self, pointer: str) -> Origin:
        """Where a pointer stands; for what is not there, the nearest thing around it."""
        while pointer and pointer not in self.places:
            pointer = pointer.rpartition("/")[0]
        return self.places.get(pointer) or Origin(file=self.file, line=1)

    def only(self, keys: Collection[str]) -> Document:
        """The members of an object that have one of these keys."""
        members = self.value if isinstance(self.value, dict) else {}
        return Document(self.file, {key: value for key, value in members.items() if key in keys}, self.places)

    def part(self, key: str) -> Document:
        """One member of an object as a document of its own; an empty object where there is none."""
        prefix = join("", key)
        value = self.value.get(key, {}) if isinstance(self.value, dict) else {}
        places = {
            pointer.removeprefix(prefix): place
            for pointer, place in self.places.items()
            if pointer == prefix or pointer.startswith(prefix + "/")
        }
        return Document(self.file, value, places)

    def over(self, defaults: Document) -> Document:
        """This document, with whatever its object does not say itself taken from `defaults`."""
        return Document(self.file, merged(self.value, defaults.value), {**defaults.places, **self.places})

    def filled(self, key: str, defaults: Document) -> Document:
        """The same for the object under one key, when there is one."""
        if not isinstance(self.value, dict) or not isinstance(self.value.get(key), dict):
            return self
        value = {**self.value, key: merged(self.value[key], defaults.value)}
        moved = {join("", key) + pointer: place for pointer, place in defaults.places.items() if pointer}
        return Document(self.file, value, {**moved, **self.places})


def merged(value: JsonValue, defaults: JsonValue) -> JsonValue:
    """Objects merged at every depth. What `value` says wins; lists are not mixed."""
    if not isinstance(value, dict) or not isinstance(defaults, dict):
        return value
    both = {key: merged(item, defaults[key]) if key in defaults else item for key, item in value.items()}
    return {**both, **{key: item for key, item in defaults.items() if key not in value}}
