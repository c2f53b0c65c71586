"""Commits that runners are built from, and the sources that they come from: repositories and released packages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from harness.core.submodules import SubmoduleSelection
from harness.core.values import Value


class Commit(Value):
    """One immutable state of a source.

    Attributes:
        source: Name of the source, for example `git:/src/executorch` or `releases:executorch`.
        id: Full hash, or version.
        time: Unix seconds; None where the source does not know.
        author: Name of its author.
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
        """Name for people: twelve digits of a hash, or the version."""
        return short_id(self.id)


def short_id(commit: str) -> str:
    """Return the name for people of a commit's id: twelve digits of a hash, or the version."""
    return commit[:12] if len(commit) >= 40 else commit


def label_id(commit: str, name: str) -> str:
    """Return a commit's name for people behind the one that it was asked for by: `v1.4.1 (4c1edfb2ab12)`."""
    return f"{name} ({short_id(commit)})" if name else short_id(commit)


def name_of_request(asked: str | None, commit: Commit) -> str:
    """Return the name that a commit was asked for by; empty where that was its id, or a part of it, or nothing."""
    return "" if asked is None or commit.id.startswith(asked.lower()) else asked


class Source(Protocol):
    """Where commits come from. Used by one thread; several processes may share the cache folder.

    A source never changes what belongs to the user: no checkout, no pull, no references. What it needs to write is in
    the harness's cache. Commits are immutable: the same id always means the same files.
    """

    name: str
    """Kind and place, as `--source` takes them: `git:/src/executorch`, `releases:executorch`."""

    newest: str
    """What `resolve` takes for the newest commit where no branch is named: `HEAD`, `latest`."""

    def fetch(self) -> None:
        """Learn of new commits, where there is something to learn from.

        Raises:
            EnvironmentProblem: The place cannot be reached; what was known before stays known.
        """

    def resolve(self, name: str) -> Commit:
        """Return the commit that a hash, tag, branch or version names. A name is never taken for an option.

        Raises:
            UsageError: There is none, or it could be several; the hint lists some.
            EnvironmentProblem: The source cannot be read.
        """

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """Return the commits after `older` up to and with `newer`, oldest first; none when they are the same.

        Where lines of development join, each is the child of the one before it, by its first parent wherever that
        contains `older`: what a merge brought is not listed beside the merge.

        Raises:
            UsageError: `older` is not before `newer`.
        """

    def materialise(self, commit: Commit, folder: Path) -> None:
        """Put the files of a commit into an empty folder of ours, with everything that belongs to them (submodules).

        Raises:
            BuildFailed: They cannot be had whole; nothing half-made is left.
            EnvironmentProblem: Network or disk stood in the way, which says nothing about the commit.
        """


class SourceFactory(Protocol):
    """What an entry point of the group `edge_harness.sources` names; the name of the entry is the kind of source."""

    def __call__(self, place: str, *, remote: str | None, cache_dir: Path) -> Source:
        """Open a source.

        Args:
            place: What stands behind `kind:`, such as the folder of the user's repository or the name of a package.
            remote: The remote that `fetch` asks; None for the usual one.
            cache_dir: The harness's cache, where a source may keep copies.

        Raises:
            UsageError: There is nothing of this kind at the place, or the kind has no remotes.
            EnvironmentProblem: A program that it needs is not installed.
        """


@runtime_checkable
class BranchingSource(Source, Protocol):
    """A source in which lines of development branch off and have a common ancestor."""

    def main(self) -> Commit:
        """Return the newest commit of the main branch, its remote's included.

        Raises:
            UsageError: There is no such branch.
        """

    def merge_base(self, first: Commit, second: Commit) -> Commit:
        """Return the newest commit that two lines of development share.

        Raises:
            UsageError: They have nothing in common, or one of them is gone.
        """

    def tips(self, branch: str) -> Sequence[str]:
        """Return what `resolve` takes for the newest commit of a branch, most wanted first: `origin/main`, `main`."""


@runtime_checkable
class MergingSource(BranchingSource, Protocol):
    """A source that knows which lines of development a merge joined."""

    def parents(self, commit: Commit) -> Sequence[Commit]:
        """Return the commits that a commit was made from, first the line that the others were merged into.

        Raises:
            UsageError: The commit is gone.
        """


@runtime_checkable
class DescribingSource(Source, Protocol):
    """A source whose commits have messages of more than one line."""

    def message(self, commit: Commit) -> str:
        """Return the whole message of a commit.

        Raises:
            UsageError: The commit is gone.
        """


@runtime_checkable
class PublishedSource(Source, Protocol):
    """A source that knows where others find it: links to its commits are made from that address."""

    def remote_url(self) -> str | None:
        """Return the URL of its remote, without credentials; None where it has none."""


@runtime_checkable
class SubmoduleSource(Source, Protocol):
    """A source whose commits pin other repositories (submodules), of which a build may need only some."""

    def materialise_with(self, commit: Commit, folder: Path, submodules: SubmoduleSelection) -> None:
        """Do as `materialise` does, but with these submodules only. Folders of the others stay empty.

        A path that is no submodule of the commit is ignored: which there are differs from commit to commit.

        Raises:
            BuildFailed: They cannot be had whole; nothing half-made is left. Submodules that are not needed cannot be
                the reason.
            EnvironmentProblem: Network or disk stood in the way, which says nothing about the commit.
        """


@runtime_checkable
class PackageSource(Source, Protocol):
    """A source of released packages: what it materialises is unpacked, not source code, and has recipes of its own."""

    package: str
    """Name of the package."""


@runtime_checkable
class MachineSource(PackageSource, Protocol):
    """A source of packages that differ from processor to processor."""

    def materialise_for(self, commit: Commit, folder: Path, machine: str) -> None:
        """Do as `materialise` does, with the package for Linux on a processor, such as `aarch64`."""
