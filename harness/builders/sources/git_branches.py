"""Branches of a remote: which of those that the user's clone remembers are still there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from harness.builders.sources.git_history import RepositoryReader
from harness.builders.sources.git_program import NETWORK_S, GitFailed, git
from harness.core.errors import EnvironmentProblem

_MOST_LISTED: Final = 8
"""Most branches that an error lists."""


class RemoteBranches(Struct, frozen=True):
    """Branches of a remote that was asked, beside what the user's clone remembers of it.

    Attributes:
        remote: Name of the remote.
        url: Its address.
        tracked: For each remote-tracking reference of the clone the branch of the remote that it follows.
        upstreams: For each local branch of the clone the branch of the remote that it follows.
    """

    remote: str
    url: str
    tracked: Mapping[str, str] = field(default_factory=dict)
    upstreams: Mapping[str, str] = field(default_factory=dict)

    def is_gone(self, history: RepositoryReader, name: str) -> bool:
        """Return whether `<remote>/<branch>` names a branch that the remote had and does not have any more.

        Args:
            history: The mirror into which the remote's branches were fetched.
            name: The name.
        """
        branch = self.tracked.get(f"refs/remotes/{name}")
        if branch is None and name.startswith(f"{self.remote}/"):
            followed = name.removeprefix(f"{self.remote}/")
            branch = followed if followed in self.upstreams.values() else None
        return branch is not None and history.find(f"{self.folder}/{branch}") is None

    @property
    def folder(self) -> str:
        """Folder of the references in the mirror into which its branches are fetched."""
        return f"refs/fetched/{self.remote}/heads"

    def gone(self, history: RepositoryReader, name: str) -> EnvironmentProblem:
        """Return the error for a branch that is gone, which lists those that exist, the likeliest new name first."""
        branch = name.removeprefix(f"{self.remote}/")
        existing = self._by_likelihood(history, branch, history.find(f"refs/remotes/{name}"))
        if not existing:
            return EnvironmentProblem(
                f"the branch {branch} no longer exists on {self.remote}, which has no branch at all",
                hint=f"see `git ls-remote {self.remote}`",
            )
        listed = ", ".join(existing[:_MOST_LISTED]) + (", ..." if len(existing) > _MOST_LISTED else "")
        return EnvironmentProblem(
            f"the branch {branch} no longer exists on {self.remote}; there are {listed}",
            hint=f"if it was renamed to {existing[0]}: --branch {existing[0]}",
        )

    def default(self) -> str | None:
        """Ask the remote for its default branch; None where it does not say."""
        try:
            listed = git("ls-remote", "--symref", "--", self.url, "HEAD", at=None, timeout_s=NETWORK_S).stdout
        except GitFailed:
            return None
        heads = [line.split()[1] for line in listed.splitlines() if line.startswith("ref: refs/heads/")]
        return heads[0].removeprefix("refs/heads/") if heads else None

    def _by_likelihood(self, history: RepositoryReader, branch: str, last: str | None) -> Sequence[str]:
        """Return the branches that exist: those that contain the last commit of one that is gone first."""
        existing = history.branches(self.folder)
        continuing = set(history.branches(self.folder, containing=last)) if last is not None else set()
        default = self.default()
        near = difflib.get_close_matches(branch, existing, n=len(existing) or 1, cutoff=0.5)

        def rank(name: str) -> tuple[bool, bool, int]:
            return name not in continuing, name != default, near.index(name) if name in near else len(near)

        return sorted(existing, key=rank)


def read_remote_branches(clone: RepositoryReader, remote: str, url: str) -> RemoteBranches:
    """Read what a clone remembers of the branches of a remote."""
    rules = [rule.removeprefix("+").partition(":")[::2] for rule in clone.fetch_rules(remote)]
    tracked = {}
    for reference in clone.full_references("refs/remotes"):
        sources = [source for rule in rules if (source := _source_of(reference, *rule)) is not None]
        is_branch = all(source.startswith("refs/heads/") for source in sources)
        if sources and is_branch and reference != f"refs/remotes/{remote}/HEAD":
            tracked[reference] = sources[0].removeprefix("refs/heads/")
    return RemoteBranches(remote, url, tracked, clone.upstreams(remote))


def _source_of(reference: str, source: str, target: str) -> str | None:
    """Return the reference of the remote that a refspec stores under a name; None where it stores another there."""
    before, star, after = target.partition("*")
    if not star:
        return source if reference == target else None
    if not (reference.startswith(before) and reference.endswith(after)):
        return None
    return source.replace("*", reference[len(before) : len(reference) - len(after)])
