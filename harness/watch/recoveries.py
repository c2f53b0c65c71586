"""What a return of the level means for an alarm: a commit that takes the culprit back ends it, nothing else does.

A level that is below again says nothing of why. An optimisation elsewhere may hide a regression that is still in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from harness.core.change import Change
from harness.core.commit import Commit, short_id

_TAKES_BACK: Final = re.compile(r"\b(revert(s|ed|ing)?|back(s|ed|ing)?[ -]?out|undo(es|ing)?)\b", re.IGNORECASE)
_HEXADECIMAL: Final = re.compile(r"\b[0-9a-f]{7,40}\b")


def takes_back(commit: Commit, culprit: Commit) -> bool:
    """Return whether a commit says that it takes another one back.

    `git revert` quotes the subject of the other; `hg backout`, and many people, name its id.
    """
    if culprit.subject and commit.subject.startswith(f'Revert "{culprit.subject}"'):
        return True
    ids = _HEXADECIMAL.findall(commit.subject)
    return bool(_TAKES_BACK.search(commit.subject)) and any(culprit.id.startswith(identity) for identity in ids)


def find_revert(culprits: Iterable[Commit], later: Iterable[Commit]) -> Commit | None:
    """Return the commit that takes the last of the culprits back, if every culprit is taken back."""
    commits = list(later)
    reverts = [next((commit for commit in commits if takes_back(commit, culprit)), None) for culprit in culprits]
    return reverts[-1] if reverts and all(reverts) else None


def describe_recovery(change: Change, culprits: Sequence[Commit], recovery: Change) -> str:
    """Describe a level that is back while nothing takes the culprits of a change back."""
    names = ", ".join(commit.short for commit in culprits)
    names = names or f"{short_id(change.last_without)}..{short_id(change.first_with)}"
    are = "are" if len(culprits) > 1 else "is"
    return f"the level is below again since {short_id(recovery.after)}, while {names} {are} still in"
