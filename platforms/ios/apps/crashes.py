"""Crash reports of iOS 15 and later (`.ips`): a line of JSON that says what follows, and a JSON document."""

from __future__ import annotations

import json
import re
import signal
from typing import Final

from msgspec import Struct

from harness.core.command import SIGKILL

_SIGNAL: Final = re.compile(r"SIG[A-Z0-9]{1,12}")
_MOST_FRAMES: Final = 5
_LONGEST: Final = 300
_MEMORY: Final = ("JETSAM", "MEMORY")
"""Namespaces of terminations for want of memory."""


class Crash(Struct, frozen=True):
    """What a crash report says.

    Attributes:
        signal: Number of the signal that ended the process; None if the report names none.
        text: Exception, reason and first frames for people, one line each.
    """

    signal: int | None
    text: str


def parse_crash(text: str) -> Crash:
    """Parse a crash report. Never raises: of an unknown form, its first line is told."""
    header, _, body = text.partition("\n")
    unknown = Crash(None, f"a crash report of an unknown form: {_shorten(header)}")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return unknown
    if not isinstance(document, dict):
        return unknown
    exception, termination = _members(document, "exception"), _members(document, "termination")
    name = _text(exception, "signal")
    lines = [
        " ".join(filter(None, (_text(exception, "type"), name, _text(exception, "subtype")))),
        ": ".join(filter(None, (_text(termination, "namespace"), _text(termination, "indicator")))),
        *_texts(document.get("asi")),
        *_frames(document),
    ]
    if _text(termination, "namespace").upper() in _MEMORY:
        lines.append("iOS ended it because it used too much memory")
    number = _number_of(name)
    if number is None and _text(termination, "namespace").upper() in {"SIGNAL", *_MEMORY}:
        code = termination.get("code")
        number = code if isinstance(code, int) and 0 < code < signal.NSIG else SIGKILL
    lines = [line for line in lines if line]
    return Crash(number, "\n".join(lines)) if lines else unknown


def _number_of(name: str) -> int | None:
    if _SIGNAL.fullmatch(name) is None:
        return None
    try:
        return int(signal.Signals[name])
    except KeyError:
        return None


def _frames(document: dict[str, object]) -> list[str]:
    """Return the first frames of the thread that failed."""
    threads = document.get("threads")
    at = document.get("faultingThread")
    if not isinstance(threads, list) or not isinstance(at, int) or not 0 <= at < len(threads):
        return []
    frames = threads[at].get("frames") if isinstance(threads[at], dict) else None
    named = [_text(frame, "symbol") for frame in frames if isinstance(frame, dict)] if isinstance(frames, list) else []
    return [f"  in {symbol}" for symbol in named if symbol][:_MOST_FRAMES]


def _texts(asi: object) -> list[str]:
    """Return what libraries said at the end (`asi`: application-specific information)."""
    if not isinstance(asi, dict):
        return []
    lists = [texts for texts in asi.values() if isinstance(texts, list)]
    return [_shorten(text) for texts in lists for text in texts if isinstance(text, str)]


def _members(document: dict[str, object], key: str) -> dict[str, object]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _text(members: dict[str, object], key: str) -> str:
    value = members.get(key)
    return _shorten(value) if isinstance(value, str) else ""


def _shorten(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
