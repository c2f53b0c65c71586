"""Edits of real documents and texts, for the tests that nothing but words comes of them.

Examples are the same in every run. `HARNESS_FUZZ_EXAMPLES=5000` asks for so many in each test, drawn anew in every run.
"""

# ruff: noqa: ANN401 - documents have any shape

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_EXAMPLES = os.environ.get("HARNESS_FUZZ_EXAMPLES", "")

HOSTILE_TEXTS = (
    *("", " ", "\0", "\n", "\r", "\x1b]0;title\a", "\x1b[2J", "\u202egnp.exe", "\ud800", "\udfff", "\U0010ffff"),
    *("{", "}", "{}", "{ID}", "{TGTDIR}", "{files.model}", "{nothing}", "{{", "%s", "%n", "${HOME}", "`id`", "'", '"'),
    *("..", "/", "//", "~", "../../../../etc/passwd", "a" * 5000, "é" * 300, "NaN", "Infinity", "-0", "1e400", "0x10"),
    *("true", "null", "http://[", "http://a..b", "http://user:pw@h/", "file:///dev/zero", "directory", "[/]", "[bold]"),
    *(
        "0-99999999",
        "-1",
        "1:30",
        "٣",
        "²",
        "9" * 5000,
        "ms",
        "us",
        "%",
        "NET latency",
        "p50",
        "p101",
        "--help",
        "a\tb",
    ),
)
HOSTILE_NUMBERS = (0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, -(2**70), 10**400, 0.1, -0.0, 1e-320, 5e-324, 1e300, 1e308)
"""Without NaN and infinity, which JSON does not have."""

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(HOSTILE_NUMBERS),
    st.sampled_from(HOSTILE_TEXTS),
    st.text(max_size=8),
    st.integers(-3, 70_000),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=4),
    st.dictionaries(st.text(max_size=8) | st.sampled_from(HOSTILE_TEXTS), SCALARS, max_size=3),
)


@dataclass(frozen=True)
class Edit:
    """One edit of a document: at the place with this number, counted round and round."""

    place: int
    kind: str
    value: Any
    other: int

    def apply(self, document: Any) -> Any:
        """The document with this edit; it is changed in place where it can be."""
        places = list(_places(document))
        if not places:
            return self.value
        parent, key = places[self.place % len(places)]
        other_parent, other_key = places[self.other % len(places)]
        match self.kind:
            case "remove":
                del parent[key]
            case "duplicate" if isinstance(parent, list):
                parent.insert(key, json.loads(json.dumps(parent[key])))
            case "rename" if isinstance(parent, dict):
                parent[str(self.value)] = parent.pop(key)
            case "move":  # something that is right elsewhere
                parent[key] = json.loads(json.dumps(other_parent[other_key]))
            case "wrap":
                parent[key] = [parent[key]] if self.other % 2 else {str(self.value): parent[key]}
            case "repeat" if isinstance(parent[key], list):
                parent[key] = parent[key] * (self.other % 8)
            case _:
                parent[key] = self.value
        return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    """The container and key of every value in a document."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        part = waiting.pop()
        items = (
            list(part.items()) if isinstance(part, dict) else list(enumerate(part)) if isinstance(part, list) else []
        )
        for key, value in items:
            found.append((part, key))
            waiting.append(value)
    return found


EDITS = st.lists(
    st.builds(
        Edit,
        place=st.integers(0, 5000),
        kind=st.sampled_from(
            ("replace", "replace", "replace", "remove", "duplicate", "rename", "move", "wrap", "repeat")
        ),
        value=VALUES,
        other=st.integers(0, 5000),
    ),
    min_size=1,
    max_size=4,
)


def edited(document: Any, edits: list[Edit]) -> Any:
    """A copy of a JSON document with edits."""
    document = json.loads(json.dumps(document))
    for edit in edits:
        document = edit.apply(document)
    return document


@dataclass(frozen=True)
class Cut:
    """One edit of a text: some bytes are removed, doubled, or replaced by others."""

    place: int
    length: int
    copies: int
    inserted: bytes

    def apply(self, text: bytes) -> bytes:
        """The text with this edit."""
        start = self.place % (len(text) + 1)
        end = start + self.length
        return text[:start] + self.inserted + text[start:end] * self.copies + text[end:]


_FRAGMENTS = st.one_of(
    st.binary(max_size=6),
    st.sampled_from(HOSTILE_TEXTS).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(HOSTILE_NUMBERS).map(lambda number: str(number).encode()),
    st.sampled_from(
        (b"\r\n", b"\n", b'"', b"\\", b"{", b"[", b"]", b"}", b",", b":", b"\xff\xfe", b"PyTorchObserver ")
    ),
)
CUTS = st.lists(
    st.builds(
        Cut,
        place=st.integers(0, 20_000),
        length=st.integers(0, 3) | st.integers(0, 4000),
        copies=st.sampled_from((0, 0, 1, 1, 2)),
        inserted=_FRAGMENTS,
    ),
    min_size=1,
    max_size=4,
)


def cut(text: bytes, cuts: list[Cut]) -> bytes:
    """A text with edits."""
    for edit in cuts:
        text = edit.apply(text)
    return text


def fuzzed(examples: int) -> Callable[[Any], Any]:
    """Run a test with so many examples, always the same; `HARNESS_FUZZ_EXAMPLES` asks for others, and how many."""
    return settings(
        max_examples=int(_EXAMPLES or examples),
        derandomize=not _EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
