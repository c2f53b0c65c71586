"""What a return of the level means for an alarm: a commit that says that it repairs the culprit ends it.

A level that is below again says nothing of why. An optimisation elsewhere may hide a regression that is still in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from harness.core.change import Change
from harness.core.commit import Commit, short_id

_TAKES_BACK: Final = re.compile(r"\b(revert(s|ed|ing)?|back(s|ed|ing)?[ -]?out|undo(es|ing)?)\b", re.IGNORECASE)
_FIXES: Final = re.compile(r"fix(es|ed)?:?\s+(commit\s+)?(?P<id>[0-9a-f]{7,40})\b", re.IGNORECASE)
"""Trailer of the Linux kernel's convention: `Fixes: 1a2b3c4d5e6f ("subject")`
(https://docs.kernel.org/process/submitting-patches.html)."""
_HEXADECIMAL: Final = re.compile(r"\b[0-9a-f]{7,40}\b")

ReadMessage = Callable[[Commit], str]
"""Returns the whole message of a commit, or its subject where no more is known."""


class Repair(Struct, frozen=True):
    """A commit that says that it repairs another one.

    Attributes:
        commit: The commit.
        is_reversal: Whether it takes the other back, in place of changing it.
    """

    commit: Commit
    is_reversal: bool

    def __str__(self) -> str:
        return f"{'taken back' if self.is_reversal else 'repaired'} by {self.commit.short}"


def takes_back(commit: Commit, culprit: Commit, message: str = "") -> bool:
    """Return whether a commit says that it takes another one back.

    `git revert` quotes the subject of the other, and names its id in the body; `hg backout`, and many people, name its
    id too.

    Args:
        commit: The commit.
        culprit: The other.
        message: Whole message of the commit; the subject alone where it is empty.
    """
    if culprit.subject and commit.subject.startswith(f'Revert "{culprit.subject}"'):
        return True
    lines = filter(_TAKES_BACK.search, (message or commit.subject).splitlines())
    return any(culprit.id.startswith(identity) for line in lines for identity in _HEXADECIMAL.findall(line))


def fixes(culprit: Commit, message: str) -> bool:
    """Return whether a line of a message begins with `Fixes:` and the id of a commit."""
    matches = (_FIXES.match(line.strip()) for line in message.splitlines())
    return any(match is not None and culprit.id.startswith(match["id"].lower()) for match in matches)


def find_repair(
    culprits: Iterable[Sequence[Commit]], later: Sequence[Commit], read_message: ReadMessage
) -> Repair | None:
    """Return the commit that repairs the last of the culprits, if every culprit is repaired.

    Args:
        culprits: For each culprit the commits of which it is enough to take back one: itself, and the merges that
            brought it.
        later: Commits that may repair them.
        read_message: Reads messages.
    """
    messages = [(commit, read_message(commit)) for commit in later]
    repairs = [_find_one(alternatives, messages) for alternatives in culprits]
    return repairs[-1] if repairs and all(repairs) else None


def _find_one(alternatives: Sequence[Commit], messages: Iterable[tuple[Commit, str]]) -> Repair | None:
    for commit, message in messages:
        if any(takes_back(commit, culprit, message) for culprit in alternatives):
            return Repair(commit, is_reversal=True)
        if any(fixes(culprit, message) for culprit in alternatives):
            return Repair(commit, is_reversal=False)
    return None


def describe_recovery(change: Change, culprits: Sequence[Commit], recovery: Change) -> str:
    """Describe a level that is back while nothing takes the culprits of a change back."""
    names = ", ".join(commit.short for commit in culprits)
    names = names or f"{short_id(change.last_without)}..{short_id(change.first_with)}"
    are = "are" if len(culprits) > 1 else "is"
    return f"the level is below again since {short_id(recovery.after)}, while {names} {are} still in"
