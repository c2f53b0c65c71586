"""Which commits come next: in order, the newest included, also after somebody rewrote history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.commit import BranchingSource, Commit, Source
from harness.core.errors import UsageError
from harness.watch.store.records import Progress

_MOST_TRIED: Final = 200
"""Known commits that are tried, newest first, when a rewritten history has no common ancestor with the last one."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the new commits are measured.

    Attributes:
        step: Each so many-th.
        is_merge: Tells merge commits, which are passed over; None measures them too.
    """

    step: int = 1
    is_merge: Callable[[Commit], bool] | None = None

    def __post_init__(self) -> None:
        if self.step < 1:
            raise UsageError(f"--step {self.step} names no commit", hint="1 is every commit, 2 every second, ...")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What is new.

    Attributes:
        commits: Oldest first.
        rewritten: Whether the commit that was looked at last is no longer in the history.
        parted: The newest commit that the old and the new history share; None where there is none.
    """

    commits: tuple[Commit, ...]
    rewritten: bool = False
    parted: Commit | None = None


def newest_of(source: Source, names: Sequence[str], *, main: bool = False) -> Commit:
    """The commit that the first of several names leads to: `origin/main`, else `main`.

    Args:
        source: Where commits come from.
        names: Most wanted first.
        main: Whether the main branch, where there is one, comes before all of them.

    Raises:
        UsageError: None of them does.
        EnvironmentProblem: The source cannot be read.
    """
    if main and isinstance(source, BranchingSource):
        with contextlib.suppress(UsageError):
            return source.main()
    *others, last = names
    for name in others:
        try:
            return source.resolve(name)
        except UsageError:
            continue
    return source.resolve(last)


def arrivals(source: Source, cursor: Commit | None, tip: Commit, known: Sequence[Commit]) -> Arrivals:
    """What came after the commit that was looked at last.

    Args:
        source: Where commits come from.
        cursor: The commit that was looked at last; None in the beginning, when only the newest is of interest.
        tip: The newest.
        known: What was looked at before, newest first.

    Raises:
        EnvironmentProblem: The source cannot be read.
    """
    if cursor is None:
        return Arrivals((tip,))
    way = _way(source, cursor, tip)
    if way is not None:
        return Arrivals(way)
    parted = _parted(source, cursor, tip, known)
    if parted is None:
        return Arrivals((tip,), rewritten=True)
    return Arrivals(_way(source, parted, tip) or (), rewritten=True, parted=parted)


def chosen(commits: Sequence[Commit], choice: Choice, *, quiet: bool) -> Sequence[tuple[Commit, Progress, str]]:
    """What to do with new commits: which wait to be measured, which are passed over and why.

    Commits after the last that is chosen are left out: they are asked about again when there are more of them. So the
    newest is never forgotten, and a step is a step however often somebody looks.

    Args:
        commits: Oldest first.
        choice: Which are wanted.
        quiet: Nothing came since the last look: then the newest is chosen, although the step is not complete.
    """
    merge = choice.is_merge or _never
    wanted = [commit for commit in commits if not merge(commit)]
    taken = {commit.id for commit in wanted[choice.step - 1 :: choice.step]}
    if quiet and wanted:
        taken.add(wanted[-1].id)
    passed = f"--step {choice.step}: only each {choice.step}th commit is measured"
    told = [
        (commit, Progress.WAITING, "")
        if commit.id in taken
        else (commit, Progress.SKIPPED, "a merge commit" if merge(commit) else passed)
        for commit in commits
    ]
    if quiet:
        return told
    last = max((number for number, (_, progress, _) in enumerate(told) if progress is Progress.WAITING), default=-1)
    return told[: last + 1]


def _way(source: Source, older: Commit, newer: Commit) -> tuple[Commit, ...] | None:
    try:
        return tuple(source.between(older, newer))
    except UsageError:
        return None


def _parted(source: Source, cursor: Commit, tip: Commit, known: Sequence[Commit]) -> Commit | None:
    if isinstance(source, BranchingSource):
        try:
            return source.merge_base(cursor, tip)
        except UsageError:
            pass  # the old history is gone altogether, or shares nothing
    return next((commit for commit in known[:_MOST_TRIED] if _way(source, commit, tip) is not None), None)


def _never(commit: Commit) -> bool:  # noqa: ARG001 - where merge commits are like any other
    return False
