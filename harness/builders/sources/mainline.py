"""The line of commits from one to another in a history with merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def trace_mainline(older: str, newer: str, parents: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """Return the commits behind `older` up to and with `newer`, oldest first, each the child of the one before it.

    At a merge the line goes to the first parent that contains `older`. That is `git log --first-parent`, and goes on
    where that would lose its way: where a branch that had merged the main one became the main one (a fast-forward), the
    commit that was the newest before is the second parent of the merge.

    Args:
        older: Id of the commit where the line begins.
        newer: Id of the commit where it ends, which contains `older`.
        parents: Ids of the parents of each commit that contains `older` and is contained in `newer`, first parents
            first. Parents that do not contain `older` may be among them.
    """
    line = []
    commit = newer
    while commit != older:
        line.append(commit)
        commit = next(parent for parent in parents[commit] if parent == older or parent in parents)
    return line[::-1]
