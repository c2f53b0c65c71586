"""Checks of what is passed to programs that reach phones: they read it as a command line, and phones as paths."""

from __future__ import annotations

import re
from typing import Final

from harness.core.errors import EnvironmentProblem

_UDID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
_MOST_CHARACTERS: Final = 300
_BUNDLE: Final = re.compile(r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,254}")


def check_udid(udid: str) -> str:
    """Return a UDID.

    Raises:
        EnvironmentProblem: No phone can have it.
    """
    if not _UDID.fullmatch(udid):
        raise EnvironmentProblem(f"{shorten(repr(udid))} is no UDID", hint="`harness devices` lists phones")
    return udid


def check_bundle(bundle: str) -> str:
    """Return a bundle identifier.

    Raises:
        EnvironmentProblem: No app can have it: it consists of letters, digits, `-` and `.` (CFBundleIdentifier).
    """
    if not _BUNDLE.fullmatch(bundle):
        raise EnvironmentProblem(f"{shorten(repr(bundle))} is no bundle identifier", hint="as in org.example.App")
    return bundle


def check_remote(path: str) -> str:
    """Return a path in the container of an app.

    Raises:
        EnvironmentProblem: It is absolute, leads out of the container or is the container itself, or cannot be a path.
    """
    parts = path.split("/")
    is_inside = not path.startswith("/") and ".." not in parts and any(part not in ("", ".") for part in parts)
    if not is_inside or not is_passable(path):
        raise EnvironmentProblem(f"{shorten(repr(path))} is no path in the container of an app")
    return path


def is_passable(text: str) -> bool:
    """Return whether a text can be a word of a command line, and UTF-8 on the phone."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def shorten(text: str) -> str:
    """Return a text of a phone as one printable line of bounded length."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * _MOST_CHARACTERS]).split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}..."
