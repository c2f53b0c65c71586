"""Values in the form of NSKeyedArchiver: a binary property list with a table of objects that refer to each other.

    {"$archiver": "NSKeyedArchiver", "$version": 100000, "$top": {"root": UID}, "$objects": ["$null", ...]}

An object of a class is a dictionary with the UID of its class in `$class`; the others are values of the property list.
"""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from harness.testing.phones.ios.usbmux.connection import UNREADABLE_PLIST

_ARCHIVER: Final = "NSKeyedArchiver"
_VERSION: Final = 100000
_MOST_OBJECTS: Final = 100_000
"""Objects that an archive may unfold to: one may refer to another many times over."""
_DEEPEST: Final = 64
_LISTS: Final = frozenset({"NSArray", "NSMutableArray", "NSSet", "NSMutableSet", "NSOrderedSet"})
_DICTIONARIES: Final = frozenset({"NSDictionary", "NSMutableDictionary"})
_MEMBERS: Final = {
    "NSString": "NS.string",
    "NSMutableString": "NS.string",
    "NSData": "NS.data",
    "NSMutableData": "NS.data",
}


class MalformedArchive(ValueError):
    """Bytes that are no archive, or one with more or other objects than a client of ours sends."""


@dataclass(frozen=True, slots=True)
class ArchivedObject:
    """Object of a class that has no counterpart here.

    Attributes:
        name: Name of its class.
        members: Its members. Numbers and bytes stand in the object itself, everything else is referred to.
    """

    name: str
    members: Mapping[str, ArchiveValue] = field(default_factory=dict)


ArchiveValue: TypeAlias = (
    "bool | int | float | str | bytes | Sequence[ArchiveValue] | Mapping[str, ArchiveValue] | ArchivedObject | None"
)
"""What an archive holds. Sets are lists here."""


def archive(value: ArchiveValue) -> bytes:
    """Return the archive of a value.

    Raises:
        OverflowError: A number of more than 64 bits.
    """
    writer = _Writer()
    root = writer.add(value)
    document = {
        "$archiver": _ARCHIVER,
        "$version": _VERSION,
        "$top": {"root": root},
        "$objects": writer.objects,
    }
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY)


def unarchive(content: bytes) -> ArchiveValue:
    """Return the value of an archive.

    Raises:
        MalformedArchive: It is none, or its objects contain themselves.
    """
    try:
        document = plistlib.loads(content)
    except UNREADABLE_PLIST as error:
        raise MalformedArchive(f"no property list: {error}") from error
    if not isinstance(document, dict) or document.get("$archiver") != _ARCHIVER:
        raise MalformedArchive("a property list that is no archive")
    objects, top = document.get("$objects"), document.get("$top")
    if not isinstance(objects, list) or not isinstance(top, dict):
        raise MalformedArchive("an archive without objects")
    return _Reader(objects).resolve(top.get("root"))


class _Writer:
    def __init__(self) -> None:
        self.objects: list[object] = ["$null"]
        self._classes: dict[str, plistlib.UID] = {}

    def add(self, value: ArchiveValue) -> plistlib.UID:
        """Add a value and what it consists of; return its reference."""
        if value is None:
            return plistlib.UID(0)
        if isinstance(value, bool | int | float | str | bytes):
            return self._append(value)
        members: dict[str, object] = {}
        reference = self._append(members)
        if isinstance(value, ArchivedObject):
            members |= {key: self._add_member(member) for key, member in value.members.items()}
            name = value.name
        elif isinstance(value, Mapping):
            members["NS.keys"] = [self.add(key) for key in value]
            members["NS.objects"] = [self.add(item) for item in value.values()]
            name = "NSDictionary"
        else:
            members["NS.objects"] = [self.add(item) for item in value]
            name = "NSArray"
        members["$class"] = self._refer_to_class(name)
        return reference

    def _add_member(self, value: ArchiveValue) -> object:
        return value if isinstance(value, bool | int | float | bytes) else self.add(value)

    def _append(self, value: object) -> plistlib.UID:
        self.objects.append(value)
        return plistlib.UID(len(self.objects) - 1)

    def _refer_to_class(self, name: str) -> plistlib.UID:
        if name not in self._classes:
            self._classes[name] = self._append({"$classname": name, "$classes": [name, "NSObject"]})
        return self._classes[name]


class _Reader:
    def __init__(self, objects: list[object]) -> None:
        self._objects = objects
        self._left = _MOST_OBJECTS

    def resolve(self, value: object, depth: int = 0) -> ArchiveValue:
        """Return the value behind a reference, or the value itself."""
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise MalformedArchive("an archive that is too deep or too large, or contains itself")
        if isinstance(value, plistlib.UID):
            if value.data == 0:
                return None
            value = self._look_up(value)
        if isinstance(value, bool | int | float | str | bytes):
            return value
        if not isinstance(value, dict):
            raise MalformedArchive(f"an object of an archive that is a {type(value).__name__}")
        return self._build(self._name_of(value.get("$class")), value, depth + 1)

    def _build(self, name: str, value: dict[str, object], depth: int) -> ArchiveValue:
        if name == "NSNull":
            return None
        if name in _LISTS:
            return [self.resolve(item, depth) for item in _list(value, "NS.objects")]
        if name in _DICTIONARIES:
            keys = [self.resolve(key, depth) for key in _list(value, "NS.keys")]
            items = [self.resolve(item, depth) for item in _list(value, "NS.objects")]
            if len(keys) != len(items):
                raise MalformedArchive(f"a dictionary with {len(keys)} keys and {len(items)} values")
            return {_check_key(key): item for key, item in zip(keys, items, strict=True)}
        if name in _MEMBERS:
            return self.resolve(value.get(_MEMBERS[name]), depth)
        members = {key: self.resolve(item, depth) for key, item in value.items() if key != "$class"}
        return ArchivedObject(name, members)

    def _look_up(self, reference: plistlib.UID) -> object:
        if not 0 < reference.data < len(self._objects):
            raise MalformedArchive(f"an archive without its object {reference.data}")
        return self._objects[reference.data]

    def _name_of(self, reference: object) -> str:
        definition = self._look_up(reference) if isinstance(reference, plistlib.UID) else None
        name = definition.get("$classname") if isinstance(definition, dict) else None
        if not isinstance(name, str):
            raise MalformedArchive("an object of an archive without a class")
        return name


def _list(value: dict[str, object], member: str) -> list[object]:
    items = value.get(member)
    if not isinstance(items, list):
        raise MalformedArchive(f"a collection without {member}")
    return items


def _check_key(key: ArchiveValue) -> str:
    if not isinstance(key, str):
        raise MalformedArchive(f"a key that is no text but a {type(key).__name__}")
    return key
