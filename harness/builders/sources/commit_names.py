"""Parsing of the names of commits that people type, before any program sees them."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from harness.core.errors import UsageError

_STEPS: Final = re.compile(r"(?:[~^][0-9]*)*\Z")
_STEP: Final = re.compile(r"[~^][0-9]*")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f\s:?*\[\]{}\\\"'$`~^\ud800-\udfff]|\.\.|//|@\{")
"""Characters that git forbids in references (git-check-ref-format(1)), or that a shell or a revset interprets."""
_HASH: Final = re.compile(r"[0-9a-f]{4,64}", re.IGNORECASE)
_FULL_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.IGNORECASE)
_LONGEST: Final = 250


class CommitName(Struct, frozen=True):
    """Name of one commit.

    Attributes:
        base: Hash, tag, branch, bookmark or version. Never begins with `-`, holds no blank and no operator.
        steps: Steps from there to ancestors, `~2` or `^`, as git and hg write them; empty for the base itself.
    """

    base: str
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.base + "".join(self.steps)

    @property
    def is_hash(self) -> bool:
        """True if the base could be a hash, whole or abbreviated."""
        return _HASH.fullmatch(self.base) is not None

    @property
    def is_full_hash(self) -> bool:
        """True if the base is a whole hash, SHA-1 or SHA-256."""
        return _FULL_HASH.fullmatch(self.base) is not None


def parse_name(text: str) -> CommitName:
    """Parse a name.

    Raises:
        UsageError: It cannot name one commit: it is an option, a range, an expression, or not printable.
    """
    steps = _steps(text)
    base = text.removesuffix(steps)
    if problem := _problem(base):
        raise UsageError(
            f"{text[:_LONGEST]!r} names no commit: {problem}",
            hint="give one hash, tag, branch or version, optionally followed by ~N or ^",
        )
    return CommitName(base, tuple(_STEP.findall(steps)))


def _steps(text: str) -> str:
    match = _STEPS.search(text)
    return match.group() if match else ""


def _problem(base: str) -> str | None:
    if not base:
        return "it is empty"
    if len(base) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if base.startswith("-"):
        return "it begins with '-', like an option"
    if ".." in base:
        return "it is a range"
    if match := _FORBIDDEN.search(base):
        return f"it holds {match.group()!r}"
    return None if base.isprintable() else "it holds a character that is not printable"
