"""Checks of what is passed to go-ios: it reads its arguments as a command line, and phones take them as paths."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from platforms.ios.link.go_ios.messages import shorten

_UDID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
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
    if not is_inside or not _is_passable(path):
        raise EnvironmentProblem(f"{shorten(repr(path))} is no path in the container of an app")
    return path


def launch_words(arguments: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the options that pass arguments and variables to an app.

    Raises:
        BenchmarkUnsupported: go-ios 1.2 cannot pass them: it cuts the value of a variable at `=`.
    """
    for name, value in env.items():
        if "=" in value or not name or "=" in name or not _is_passable(name + value):
            raise BenchmarkUnsupported(
                f"go-ios cannot pass the variable {shorten(name)}={shorten(value)} to an app",
                hint="values must not contain `=` or NUL; pass it as an argument, or use --ios-client devicectl",
            )
    for argument in arguments:
        if not _is_passable(argument):
            raise BenchmarkUnsupported(f"the argument {shorten(repr(argument))} cannot be passed to an app")
    return (*(f"--arg={argument}" for argument in arguments), *(f"--env={name}={env[name]}" for name in env))


def _is_passable(text: str) -> bool:
    """Return whether a text can be a word of a command line, and UTF-8 on the phone."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
