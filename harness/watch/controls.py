"""What each commit is held against: a pinned commit, or the first of its week, as FAI-PEP's `repo_driver` has it.

A control that stays for a week makes a series of which every point can be held against every other.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from harness.core.commit import Commit, Source
from harness.core.errors import UsageError

_MOST_STEPS: Final = 1 << 20
_WEEKS: Final = 8
"""So many weeks are gone back when nothing can be used."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Chooses controls.

    Attributes:
        source: Where commits come from.
        pinned: The control of every commit; None takes the first commit of each week.
        begin: Name of the commit after which watching began: the control of the first in a source without times.
    """

    source: Source
    pinned: Commit | None = None
    begin: str | None = None

    def control_of(self, treatment: Commit, before: Commit | None, unusable: Set[str]) -> Commit | None:
        """What to hold a commit against: never itself, and never a later one.

        Without a pinned commit it is the first of the treatment's week (ISO, UTC) that can be built; of the week before
        where that is the treatment itself. Sources without times have the commit before.

        Args:
            treatment: The commit.
            before: The commit before it that can be built, as far as the watcher knows.
            unusable: Ids of commits that cannot be built.

        Returns:
            None when there is nothing to hold it against.

        Raises:
            EnvironmentProblem: The source cannot be read.
        """
        if self.pinned is not None:
            return None if self.pinned.id == treatment.id else self.pinned
        if treatment.time is None:
            return before if before is not None else self._where_it_began(treatment, unusable)
        newest = treatment
        for _ in range(_WEEKS):
            first = self._first_of_week(newest)
            found = self._usable(first, newest, unusable | {treatment.id})
            parent = self._ancestor(first, 1)
            if found is not None or parent is None:
                return found
            newest = parent
        return None

    def _where_it_began(self, treatment: Commit, unusable: Set[str]) -> Commit | None:
        """The commit after which watching began, if it is before this one."""
        if self.begin is None:
            return None
        try:
            begin = self.source.resolve(self.begin)
            is_before = bool(self.source.between(begin, treatment))
        except UsageError:
            return None
        return begin if is_before and begin.id not in unusable else None

    def _usable(self, first: Commit, newest: Commit, unusable: Set[str]) -> Commit | None:
        """The first that can be used of a week's commits."""
        if first.id not in unusable:
            return first
        way = self.source.between(first, newest)
        return next((commit for commit in way if commit.id not in unusable), None)

    def _first_of_week(self, commit: Commit) -> Commit:
        """The oldest of its first parents that was made in the same week; found by doubling, then by halving.

        Clocks of authors differ, so times do not quite rise along history; the week's border is where the search sees
        it, and the same for every commit of the week only as far as they do.
        """
        monday = _monday(commit.time or 0)
        return _last(commit, lambda steps: self._ancestor(commit, steps), lambda one: (one.time or 0) >= monday)

    def _ancestor(self, commit: Commit, steps: int) -> Commit | None:
        try:
            return self.source.resolve(f"{commit.id}~{steps}")
        except UsageError:
            return None  # history ends before


def _last(start: Commit, ancestor: Callable[[int], Commit | None], holds: Callable[[Commit], bool]) -> Commit:
    """The ancestor that is farthest away of those for which something holds, as it does for the nearest."""
    best, near, far = start, 0, 1
    while far < _MOST_STEPS and (found := ancestor(far)) is not None and holds(found):
        best, near, far = found, far, 2 * far
    while far - near > 1:
        middle = (near + far) // 2
        found = ancestor(middle)
        if found is not None and holds(found):
            best, near = found, middle
        else:
            far = middle
    return best


def _monday(time: int) -> int:
    """Unix seconds of the beginning of a week in UTC."""
    moment = datetime.fromtimestamp(time, UTC)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return int((day - timedelta(days=day.weekday())).timestamp())
