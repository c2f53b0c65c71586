"""Choice of the control of each commit: a pinned commit, or the first of its week, as in FAI-PEP's `repo_driver`.

A control that stays for a week makes a series of which every point can be compared with every other.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from harness.core.commit import Commit, Source
from harness.core.errors import UsageError

_MOST_STEPS: Final = 1 << 20
_WEEKS: Final = 8
"""Weeks to go back at most when no commit can be used."""


class ControlPolicy(Struct, frozen=True):
    """Choice of controls.

    Attributes:
        source: Source of the commits.
        pinned: The control of every commit; None takes the first commit of each week.
        since: Name of the commit after which watching began: the control of the first in a source without times.
    """

    source: Source
    pinned: Commit | None = None
    since: str | None = None

    def choose_control(self, treatment: Commit, before: Commit | None, unusable: Set[str]) -> Commit | None:
        """Return the commit to compare another with: never itself, and never a later one.

        Without a pinned commit it is the first of the treatment's week (ISO, UTC) that can be built; of the week before
        where that is the treatment itself. Sources without times have the commit before.

        Args:
            treatment: The commit.
            before: The commit before it that can be built, as far as the watcher knows.
            unusable: Ids of commits that cannot be built.

        Returns:
            None when there is nothing to compare it with.

        Raises:
            EnvironmentProblem: The source cannot be read.
        """
        if self.pinned is not None:
            return None if self.pinned.id == treatment.id else self.pinned
        if treatment.time is None:
            return before if before is not None else self._resolve_since(treatment, unusable)
        newest = treatment
        for _ in range(_WEEKS):
            first = self._first_of_week(newest)
            control = self._first_usable(first, newest, unusable | {treatment.id})
            parent = self._ancestor(first, 1)
            if control is not None or parent is None:
                return control
            newest = parent
        return None

    def _resolve_since(self, treatment: Commit, unusable: Set[str]) -> Commit | None:
        """Return the commit after which watching began, if it is before this one."""
        if self.since is None:
            return None
        try:
            since = self.source.resolve(self.since)
            is_before = bool(self.source.between(since, treatment))
        except UsageError:
            return None
        return since if is_before and since.id not in unusable else None

    def _first_usable(self, first: Commit, newest: Commit, unusable: Set[str]) -> Commit | None:
        """Return the first usable commit of a week."""
        if first.id not in unusable:
            return first
        later = self.source.between(first, newest)
        return next((commit for commit in later if commit.id not in unusable), None)

    def _first_of_week(self, commit: Commit) -> Commit:
        """Return the oldest of its first parents that was made in the same week; found by doubling, then by halving.

        Clocks of authors differ, so times do not quite rise along history; the search finds the same border for every
        commit of the week only as far as they do.
        """
        monday = _monday(commit.time or 0)
        return _farthest(
            commit, lambda steps: self._ancestor(commit, steps), lambda ancestor: (ancestor.time or 0) >= monday
        )

    def _ancestor(self, commit: Commit, steps: int) -> Commit | None:
        try:
            return self.source.resolve(f"{commit.id}~{steps}")
        except UsageError:
            return None  # history ends before


def _farthest(start: Commit, ancestor: Callable[[int], Commit | None], holds: Callable[[Commit], bool]) -> Commit:
    """Return the farthest ancestor for which a condition holds, which holds for the nearer ones."""
    best, near, far = start, 0, 1
    while far < _MOST_STEPS and (candidate := ancestor(far)) is not None and holds(candidate):
        best, near, far = candidate, far, 2 * far
    while far - near > 1:
        middle = (near + far) // 2
        candidate = ancestor(middle)
        if candidate is not None and holds(candidate):
            best, near = candidate, middle
        else:
            far = middle
    return best


def _monday(time: int) -> int:
    """Return the beginning of a week in UTC, Unix seconds."""
    moment = datetime.fromtimestamp(time, UTC)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return int((day - timedelta(days=day.weekday())).timestamp())
