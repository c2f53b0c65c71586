"""New commits of a history, in order, the newest included, also after somebody rewrote history."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from harness.core.commit import BranchingSource, Commit, Source
from harness.core.errors import UsageError
from harness.watch.store.commits import CommitStatus

_MOST_TRIED: Final = 200
"""Known commits to try, newest first, when a rewritten history has no common ancestor with the last commit."""


class CommitSelection(Struct, frozen=True):
    """Rule that selects the commits to measure.

    Attributes:
        step: Every step-th commit is measured.
        is_merge: Recognises merge commits, which are passed over; None measures them too.
    """

    step: int = 1
    is_merge: Callable[[Commit], bool] | None = None

    def __post_init__(self) -> None:
        if self.step < 1:
            raise UsageError(f"--step {self.step} names no commit", hint="1 is every commit, 2 every second, ...")


class NewCommits(Struct, frozen=True):
    """The commits behind the last one that was taken.

    Attributes:
        commits: Oldest first.
        is_rewritten: Whether the commit that was taken last is no longer in the history.
        common_ancestor: The newest commit that the old and the new history share; None where there is none.
    """

    commits: tuple[Commit, ...]
    is_rewritten: bool = False
    common_ancestor: Commit | None = None


def resolve_newest(source: Source, names: Sequence[str], *, main: bool = False) -> Commit:
    """Return the commit of the first of several names that means one: `origin/main`, else `main`.

    Args:
        source: Source of the commits.
        names: Preferred first.
        main: Whether the main branch, where there is one, is preferred to all of them.

    Raises:
        UsageError: None of them means one.
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


def find_new_commits(source: Source, cursor: Commit | None, tip: Commit, known: Sequence[Commit]) -> NewCommits:
    """Find the commits behind the one that was taken last.

    Args:
        source: Source of the commits.
        cursor: The commit that was taken last; None in the beginning, when only the newest is of interest.
        tip: The newest.
        known: Commits that were taken before, newest first.

    Raises:
        EnvironmentProblem: The source cannot be read.
    """
    if cursor is None:
        return NewCommits((tip,))
    commits = _between(source, cursor, tip)
    if commits is not None:
        return NewCommits(commits)
    ancestor = _common_ancestor(source, cursor, tip, known)
    if ancestor is None:
        return NewCommits((tip,), is_rewritten=True)
    return NewCommits(_between(source, ancestor, tip) or (), is_rewritten=True, common_ancestor=ancestor)


def select_commits(
    commits: Sequence[Commit], selection: CommitSelection, *, is_quiet: bool
) -> Sequence[tuple[Commit, CommitStatus, str]]:
    """Decide which new commits wait to be measured, and which are passed over and why.

    Commits behind the last that is selected are left out: they are decided about when there are more of them. So the
    newest is never forgotten, and a step is a step however often the source is polled.

    Args:
        commits: Oldest first.
        selection: The rule.
        is_quiet: Whether nothing came since the last poll: then the newest is selected, although the step is not
            complete.
    """
    is_merge = selection.is_merge or _never
    eligible = [commit for commit in commits if not is_merge(commit)]
    selected = {commit.id for commit in eligible[selection.step - 1 :: selection.step]}
    if is_quiet and eligible:
        selected.add(eligible[-1].id)
    passed_over = f"--step {selection.step}: only each {selection.step}th commit is measured"
    decisions = [
        (commit, CommitStatus.WAITING, "")
        if commit.id in selected
        else (commit, CommitStatus.SKIPPED, "a merge commit" if is_merge(commit) else passed_over)
        for commit in commits
    ]
    if is_quiet:
        return decisions
    waiting = [number for number, (_, status, _) in enumerate(decisions) if status is CommitStatus.WAITING]
    return decisions[: max(waiting, default=-1) + 1]


def is_contained(source: BranchingSource, commit: Commit, newer: Commit) -> bool:
    """Return whether the history of a commit contains another one."""
    try:
        return source.merge_base(commit, newer).id == commit.id
    except UsageError:
        return False


def _between(source: Source, older: Commit, newer: Commit) -> tuple[Commit, ...] | None:
    try:
        return tuple(source.between(older, newer))
    except UsageError:
        return None


def _common_ancestor(source: Source, cursor: Commit, tip: Commit, known: Sequence[Commit]) -> Commit | None:
    if isinstance(source, BranchingSource):
        try:
            return source.merge_base(cursor, tip)
        except UsageError:
            pass  # the old history is gone altogether, or shares nothing
    return next((commit for commit in known[:_MOST_TRIED] if _between(source, commit, tip) is not None), None)


def _never(commit: Commit) -> bool:  # noqa: ARG001 - where merge commits are like any other
    return False
