from __future__ import annotations

import contextlib
import plistlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.testing.phones.ios.developer.archives import (
    ArchivedObject,
    ArchiveValue,
    MalformedArchive,
    archive,
    unarchive,
)

_TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
_PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | _TEXT
    | st.binary(max_size=30)
)
_NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda name: name != "$class")


def _nest(inner: st.SearchStrategy[ArchiveValue]) -> st.SearchStrategy[ArchiveValue]:
    objects = st.builds(
        ArchivedObject, st.sampled_from(("XCTTestIdentifier", "NSError")), st.dictionaries(_NAMES, inner, max_size=4)
    )
    return st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4) | objects


@given(st.recursive(_PLAIN, _nest, max_leaves=12))
def test_what_was_archived_is_read_again(value: ArchiveValue) -> None:
    assert unarchive(archive(value)) == value


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda rest: b"bplist00" + rest))
def test_bytes_that_are_no_archive_are_refused(content: bytes) -> None:
    with pytest.raises(MalformedArchive):
        unarchive(content)


@given(st.data())
def test_an_archive_with_a_broken_byte_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(archive({"a": [1, "b", None, b"c"], "d": ArchivedObject("NSError", {"NSCode": 3})}))
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedArchive):
        unarchive(bytes(content))


def _document(objects: list[object], root: object = None) -> bytes:
    top = {"root": plistlib.UID(1) if root is None else root}
    document = {"$archiver": "NSKeyedArchiver", "$version": 100000, "$top": top, "$objects": objects}
    return plistlib.dumps(document, fmt=plistlib.FMT_BINARY)


_ARRAY = {"$classname": "NSArray", "$classes": ["NSArray", "NSObject"]}
_DICTIONARY = {"$classname": "NSDictionary", "$classes": ["NSDictionary"]}
_UID = plistlib.UID


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (plistlib.dumps({"a": 1}, fmt=plistlib.FMT_BINARY), "no archive"),
        (plistlib.dumps([1]), "no archive"),
        (plistlib.dumps({"$archiver": "NSKeyedArchiver"}), "without objects"),
        (_document(["$null"]), "without its object 1"),
        (_document(["$null", {}]), "without a class"),
        (_document(["$null", {"$class": _UID(2)}, "x"]), "without a class"),
        (_document(["$null", {"$class": _UID(2), "NS.objects": [_UID(1)]}, _ARRAY]), "contains itself"),
        (_document(["$null", {"$class": _UID(2)}, _ARRAY]), "without NS.objects"),
        (
            _document(["$null", {"$class": _UID(2), "NS.keys": [_UID(3)], "NS.objects": []}, _DICTIONARY, "a"]),
            "1 keys and 0 values",
        ),
        (
            _document(["$null", {"$class": _UID(2), "NS.keys": [_UID(3)], "NS.objects": [_UID(3)]}, _DICTIONARY, 1]),
            "no text but a int",
        ),
        (_document(["$null", [1]]), "a list"),
    ],
)
def test_an_archive_of_another_form_is_refused_in_words(content: bytes, reason: str) -> None:
    with pytest.raises(MalformedArchive, match=reason):
        unarchive(content)


def test_an_archive_that_unfolds_without_end_is_refused() -> None:
    lists: list[object] = [{"$class": _UID(31), "NS.objects": [_UID(number + 2)] * 10} for number in range(29)]
    with pytest.raises(MalformedArchive, match="too large"):
        unarchive(_document(["$null", *lists, "x", _ARRAY]))


def test_numbers_of_objects_stand_in_themselves_and_texts_are_referred_to() -> None:
    document = plistlib.loads(archive(ArchivedObject("NSError", {"NSCode": 2, "NSDomain": "a"})))
    error = document["$objects"][1]
    assert error["NSCode"] == 2
    assert document["$objects"][error["NSDomain"].data] == "a"
    assert document["$objects"][error["$class"].data] == {"$classname": "NSError", "$classes": ["NSError", "NSObject"]}
