"""Repositories of whose commits persons may ask for runs: those of the command line of a dispatcher.

Each has a mirror of ours, into which its branches, its tags and the pull requests that were asked for are fetched.
Names of commits are looked up there.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from harness.builders.sources.git import GitSource, create
from harness.builders.sources.git_program import git
from harness.core.commit import Commit
from harness.core.errors import UsageError
from harness.core.protocols import Progress
from harness.store.run_requests import WantedRun, is_repository_name

_REQUESTS: Final = {"#": "refs/pull/{}/head", "!": "refs/merge-requests/{}/head"}
"""References of pull requests (GitHub, Gitea) and merge requests (GitLab), by the sign before their number."""
_PROGRAMS: Final = ("ext::", "fd::")
"""Transports of git that are programs or open files (git-remote-ext(1), git-remote-fd(1))."""


class FoundCommits(NamedTuple):
    """Commits that a request names.

    Attributes:
        source: Their source, for one thread.
        commit: The commit to measure.
        control: The commit to compare it with; None to measure it alone.
    """

    source: GitSource
    commit: Commit
    control: Commit | None

    @property
    def ids(self) -> tuple[str, str]:
        """Hashes of both; empty without a control."""
        return self.commit.id, "" if self.control is None else self.control.id


class AllowedRepository(Struct, frozen=True):
    """Repository of whose commits persons may ask for runs.

    Attributes:
        name: Its name for persons.
        place: Folder of ours that says where it is.
        cache_dir: Cache with its mirror.
    """

    name: str
    place: Path
    cache_dir: Path

    def open(self) -> GitSource:
        """Return the source of its commits, for one thread."""
        return create(str(self.place), remote=None, cache_dir=self.cache_dir)

    def find_commits(self, wanted: WantedRun, known: tuple[str, str], progress: Progress) -> FoundCommits:
        """Find the commits that a request names.

        Args:
            wanted: The request.
            known: Hashes that commit and control meant when the request was begun first; empty before.
            progress: Shows what is fetched.

        Raises:
            UsageError: A name means nothing that a branch, a tag or the pull request of this number contains.
            EnvironmentProblem: The repository cannot be reached.
        """
        source = self.open()
        with progress.task(f"looking for commits in {self.name}"):
            source.fetch()
        commit = self._find(source, wanted.commit, known[0])
        control = self._find(source, wanted.control, known[1]) if wanted.control else None
        if control is not None and control.id == commit.id:
            raise UsageError(f"{wanted.control} and {wanted.commit} are both {commit.short}")
        return FoundCommits(source, commit, control)

    def _find(self, source: GitSource, name: str, known: str) -> Commit:
        reference = _REQUESTS.get(name[0])
        if known:
            with contextlib.suppress(UsageError):
                return source.resolve(known)  # whatever the mirror has was in a branch, a tag or such a request
        try:
            commit = source.resolve(name) if reference is None else source.fetch_reference(reference.format(name[1:]))
            if known:
                return source.resolve(known)
        except UsageError as error:
            what = f"{name} ({known[:12]})" if known else name
            raise UsageError(f"{self.name} has no commit {what}, or several", hint=error.hint) from error
        if reference is None and not source.is_published(commit):
            raise UsageError(f"no branch and no tag of {self.name} contains {name}")
        return commit


def load_repositories(words: Sequence[str], cache_dir: Path, progress: Progress) -> Mapping[str, AllowedRepository]:
    """Make the mirrors of repositories.

    Args:
        words: `NAME=PLACE` of each: a URL, or the folder of a repository.
        cache_dir: Cache that they are kept in.
        progress: Shows what is fetched.

    Raises:
        UsageError: A word is not of this form, or two have one name.
        EnvironmentProblem: A repository cannot be reached.
    """
    repositories: dict[str, AllowedRepository] = {}
    for word in words:
        name, _, url = word.partition("=")
        if not is_repository_name(name) or not url or url.startswith(("-", *_PROGRAMS)):
            raise UsageError(f"--repositories {word}: no repository", hint="NAME=URL, or NAME=FOLDER")
        if name in repositories:
            raise UsageError(f"--repositories: two are called {name}", hint="give each a name of its own")
        if "://" not in url and (folder := Path(url).expanduser()).is_dir():
            url = str(folder.resolve())
        repositories[name] = _make_mirror(name, url, cache_dir.absolute())
        with progress.task(f"fetching {name}"):
            repositories[name].open().fetch()
    return repositories


def _make_mirror(name: str, url: str, cache_dir: Path) -> AllowedRepository:
    """Make a repository without commits whose remote is the place; the source of commits fetches into its mirror."""
    place = cache_dir / "lab" / "repositories" / f"{name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    place.parent.mkdir(parents=True, exist_ok=True)
    git("init", "--quiet", "--bare", "--template=", "--", str(place), at=None)
    git("config", "remote.origin.url", url, at=place)
    return AllowedRepository(name, place, cache_dir)
