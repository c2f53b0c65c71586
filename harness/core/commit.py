"""Where runners come from: commits of a repository, or released versions, which then play the commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from harness.core.values import Value


class Commit(Value):
    """One immutable state of a source.

    Attributes:
        source: Kind and place of the source, for example `git:/src/executorch` or `releases:executorch`.
        id: Immutable: a full hash, or a version.
        time: Unix seconds; None where the source does not know.
        author: Who made it.
        subject: First line of its message.
        merge: Whether it joins two lines of development.
    """

    source: str
    id: str
    time: int | None = None
    author: str = ""
    subject: str = ""
    merge: bool = False

    @property
    def short(self) -> str:
        """How a person names it: twelve digits of a hash, or the version."""
        return self.id[:12] if len(self.id) >= 40 else self.id


class Source(Protocol):
    """Something that commits come from. Never changes what belongs to the user: no checkout, no pull, no stray refs."""

    name: str
    """`git:/src/executorch`, `releases:executorch`."""

    def fetch(self) -> None:
        """Learn of new commits, where there is something to learn from.

        Raises:
            EnvironmentProblem: It cannot be reached; what was known before stays known.
        """

    def resolve(self, name: str) -> Commit:
        """The commit that a hash, tag, branch or version names. A name is never taken for an option.

        Raises:
            UsageError: There is none, or it could be several; the hint lists some.
        """

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """The commits after `older` up to and with `newer`, oldest first.

        Raises:
            UsageError: `older` is not before `newer`.
        """

    def materialise(self, commit: Commit, folder: Path) -> None:
        """Put the commit's files into an empty folder of ours, with everything that belongs to it (submodules).

        Raises:
            BuildFailed: It cannot be had whole; nothing half-made is left.
            EnvironmentProblem: Network or disk stood in the way: that says nothing about the commit.
        """


@runtime_checkable
class BranchingSource(Source, Protocol):
    """A source in which lines of development branch off and have a common ancestor."""

    def main(self) -> Commit:
        """Return the newest commit of the main branch, its remote's included.

        Raises:
            UsageError: There is no such branch.
        """

    def merge_base(self, one: Commit, other: Commit) -> Commit:
        """Return the newest commit that two lines of development share.

        Raises:
            UsageError: They have nothing in common, or one of them is gone.
        """
