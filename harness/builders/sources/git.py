"""Source of the commits of a git repository. The user's clone is only read; all else happens in a mirror of ours."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from harness.builders.sources.commit_names import CommitName, parse_name
from harness.builders.sources.folders import fill_folder
from harness.builders.sources.git_branches import RemoteBranches, read_remote_branches
from harness.builders.sources.git_history import RepositoryReader, find_top
from harness.builders.sources.git_mirror import Mirror
from harness.builders.sources.git_program import GitFailed, without_credentials
from harness.builders.sources.git_submodules import WorkingTree, check_out_submodules
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection

_USERS_REFERENCES = tuple(f"+refs/{kind}/*:refs/{kind}/*" for kind in ("heads", "tags", "remotes"))
_USERS_HEAD = "refs/user/HEAD"


def create(place: str, *, remote: str | None, cache_dir: Path) -> GitSource:
    """Open a clone: the entry point of the source `git`."""
    return GitSource(Path(place).expanduser(), cache_dir=cache_dir, remote=remote or "origin")


class GitSource:
    """Source of the commits of a clone, and of the remote that it came from.

    Args:
        place: Folder of the user's clone, or a bare repository.
        cache_dir: The harness's cache; the mirror is kept in it.
        remote: Remote of the clone that `fetch` asks.

    Raises:
        UsageError: There is no git repository, or only one without folders.
        EnvironmentProblem: git is not installed.
    """

    def __init__(self, place: Path, *, cache_dir: Path, remote: str = "origin") -> None:
        self.place = find_top(place.resolve())
        self.name = f"git:{self.place}"
        self.newest = "HEAD"
        self._cache_dir = cache_dir
        self._remote = parse_name(remote).base
        self._copied = False
        self._branches: RemoteBranches | None = None  # since the remote was asked
        with self._clone() as clone:
            self._missing = clone.missing()
            self._transport = clone.transport_settings()
        partial = "" if self._missing is None else "partial "
        self._mirror = Mirror(cache_dir, f"{partial}{self.place}", self._transport)

    def fetch(self) -> None:
        """Fetch new commits from the user's clone, then from its remote, if it has one.

        Raises:
            EnvironmentProblem: The remote cannot be reached; what was known before stays known.
        """
        self._copy_clone()
        with self._clone() as clone:
            url = clone.url(self._remote)
            remembered = read_remote_branches(clone, self._remote, _address(url, self.place)) if url else None
        if url is None:
            return
        into = f"refs/fetched/{self._remote}"
        try:
            self._mirror.fetch(
                _address(url, self.place),
                [f"+refs/heads/*:{into}/heads/*", f"+refs/tags/*:{into}/tags/*"],
                follow=True,
                without=self._missing,
            )
        except GitFailed as error:
            raise self._unreachable(url, error) from error
        self._branches = remembered

    def _unreachable(self, url: str, error: GitFailed) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"cannot fetch from {self._remote} ({without_credentials(url)}): {error.message}",
            hint=f"`git ls-remote {self._remote}` in {self.place} must work without asking for a password",
        )

    def fetch_reference(self, reference: str) -> Commit:
        """Fetch a reference of the remote that is neither a branch nor a tag, such as `refs/pull/7/head`.

        Args:
            reference: Its full name.

        Raises:
            UsageError: The remote has no such reference to a commit.
            EnvironmentProblem: The remote cannot be reached.
        """
        with self._clone() as clone:
            url = clone.url(self._remote)
        unknown = UsageError(f"{self._remote} has no {reference}", hint="see `git ls-remote`")
        if url is None:
            raise unknown
        into = f"refs/fetched/{self._remote}/{reference.removeprefix('refs/')}"
        try:
            self._mirror.fetch(_address(url, self.place), [f"+{reference}:{into}"], without=self._missing)
        except GitFailed as error:
            if "couldn't find remote ref" in error.message:
                raise unknown from error
            raise self._unreachable(url, error) from error
        with self._history() as history:
            if (full_hash := history.find(into)) is None:
                raise unknown
            return history.commit(full_hash)

    def is_published(self, commit: Commit) -> bool:
        """Return whether a branch or a tag of the remote contains a commit, as of the last `fetch`."""
        folders = (f"refs/fetched/{self._remote}/{kind}" for kind in ("heads", "tags"))
        with self._history() as history:
            return any(history.branches(folder, containing=commit.id) for folder in folders)

    def resolve(self, name: str) -> Commit:
        """Return the commit that a hash, tag, branch, `<remote>/<branch>` or `HEAD` names, or an ancestor of it (`~2`).

        `HEAD` is the commit that the user has checked out. `<remote>/<branch>` is the commit that the remote has, where
        `fetch` asked it, and else the newer of the one in the user's clone and the one that was fetched before. What
        only the remote has can be named without it. A branch that is gone from the remote since it was asked is not
        followed, although the clone remembers it.

        Raises:
            UsageError: There is none, or it could be several; the hint lists some.
            EnvironmentProblem: The clone cannot be read, or the remote had such a branch and no longer has it.
        """
        wanted = parse_name(name)
        with self._history() as history:
            hashes = self._find(history, wanted)
            if not hashes and wanted.is_full_hash:
                hashes = self._fetch_hash(history, wanted)
            commits = [history.commit(full_hash) for full_hash in hashes]
            if not commits:
                self._check_not_gone(history, wanted.base)
                raise self._unknown(history, wanted)
        if len(commits) > 1:
            listed = "; ".join(f"{commit.short} {commit.subject}" for commit in commits[:5])
            raise UsageError(f"{wanted} could be {len(commits)} commits of {self.place}", hint=f"one of: {listed}")
        return commits[0]

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """Return the commits after `older` up to and with `newer`, oldest first; none when they are the same.

        They follow first parents: what a merge brought is in the merge (`trace_mainline`).

        Raises:
            UsageError: `older` is not before `newer`.
        """
        if older.id == newer.id:
            return ()
        with self._history() as history:
            self._check_known(history, older, newer)
            if history.merge_base(older.id, newer.id) != older.id:
                cut = "; history is cut off here (shallow clone)" if history.is_shallow else ""
                raise UsageError(
                    f"{older.short} is not before {newer.short} in {self.place}{cut}",
                    hint=_DEEPEN if cut else "start from a commit that both have, such as their merge base",
                )
            return history.between(older.id, newer.id)

    def parents(self, commit: Commit) -> Sequence[Commit]:
        """Return the parents of a commit, the first parent first.

        Raises:
            UsageError: History was rewritten, and the commit is gone.
        """
        with self._history() as history:
            self._check_known(history, commit)
            return history.parents(commit.id)

    def message(self, commit: Commit) -> str:
        """Return the whole message of a commit.

        Raises:
            UsageError: History was rewritten, and the commit is gone.
        """
        with self._history() as history:
            self._check_known(history, commit)
            return history.message(commit.id)

    def merge_base(self, first: Commit, second: Commit) -> Commit:
        """Return the newest commit that two lines of development share.

        Raises:
            UsageError: They have nothing in common.
        """
        with self._history() as history:
            self._check_known(history, first, second)
            base = history.merge_base(first.id, second.id)
            if base is None:
                hint = _DEEPEN if history.is_shallow else None
                raise UsageError(f"{first.short} and {second.short} have no common ancestor in {self.place}", hint=hint)
            return history.commit(base)

    def main(self) -> Commit:
        """Return the newest commit of the main branch: the default branch of the remote, else `main` or `master`.

        Raises:
            UsageError: There is no such branch.
            EnvironmentProblem: The remote had it, and no longer has it.
        """
        with self._clone() as clone:
            default = clone.main_branch(self._remote)
        with self._history() as history:
            for candidate in self._main_candidates(default):
                if hashes := self._find(history, CommitName(candidate)):
                    return history.commit(hashes[0])
                self._check_not_gone(history, candidate)
        raise UsageError(f"{self.place} has no main branch", hint="name the commit to compare with")

    def _main_candidates(self, default: str | None) -> Iterator[str]:
        if default:
            yield default
        yield from (f"{self._remote}/main", f"{self._remote}/master")
        if self._branches is not None and (present := self._branches.default()) is not None:
            yield f"{self._remote}/{present}"
        yield from ("main", "master")

    def tips(self, branch: str) -> Sequence[str]:
        """Name the branch of the remote before the local one, which is as old as the last pull.

        The local one is no other name of it where it follows the remote's: without that it is not followed.
        """
        with self._clone() as clone:
            follows = clone.upstreams(self._remote).get(branch) == branch
        return (f"{self._remote}/{branch}",) if follows else (f"{self._remote}/{branch}", branch)

    def materialise(self, commit: Commit, folder: Path) -> None:
        """Put the files of a commit into an empty folder, with its submodules. Large files (LFS) stay pointers.

        Raises:
            BuildFailed: They cannot be fetched completely; the folder is removed.
            EnvironmentProblem: Network or disk is the reason; the folder is removed as well.
        """
        self.materialise_with(commit, folder, ALL_SUBMODULES)

    def materialise_with(self, commit: Commit, folder: Path, submodules: SubmoduleSelection) -> None:
        """Put the files of a commit into an empty folder, with some of its submodules (`SubmoduleSource`).

        Raises:
            BuildFailed: They cannot be fetched completely; the folder is removed.
            EnvironmentProblem: Network or disk is the reason; the folder is removed as well.
        """
        with self._clone() as clone:
            url = clone.url(self._remote)
            modules = tuple(dict.fromkeys(place / "modules" for place in (clone.private, clone.common)))
            configured = clone.submodule_urls()
        address = _address(url, self.place) if url else str(self.place)
        folder = folder.resolve()
        with fill_folder(folder):
            self._copy_clone_once()
            self._mirror_with_files(commit, address).check_out(commit.id, folder)
            tree = WorkingTree(folder, PurePosixPath(), address, modules, configured, self._transport)
            check_out_submodules(tree, self._cache_dir, submodules)

    def _mirror_with_files(self, commit: Commit, address: str) -> Mirror:
        """Return a mirror that has all files of a commit.

        A partial clone has those of the commit that is checked out. The remote gives those of the others, commit by
        commit, into a mirror beside that of the history: git itself would fetch them into the user's clone.
        """
        if self._missing is None:
            return self._mirror
        files = Mirror(self._cache_dir, f"files {self.place}", self._transport)
        if not files.has_pin(commit.id):
            files.fetch_pin(commit.id, [(str(self.place), True), (address, True)])
        return files

    def remote_url(self) -> str | None:
        """Return the URL of the remote, without credentials; None where the clone has none (`PublishedSource`)."""
        with self._clone() as clone:
            url = clone.url(self._remote)
        return None if url is None else without_credentials(url)

    def _find(self, history: RepositoryReader, name: CommitName) -> Sequence[str]:
        """Return the hashes of all commits that a name could mean, by the first rule that finds any."""
        base, fetched = name.base, f"refs/fetched/{self._remote}"

        def at(*references: str) -> Sequence[str]:
            hashes = (history.find(reference, name) for reference in references)
            return list(dict.fromkeys(full_hash for full_hash in hashes if full_hash))

        if base in {"HEAD", "@"}:
            return at(_USERS_HEAD)
        if name.is_full_hash:
            return at(base)

        def remembered(name: str) -> list[str]:
            """Return the reference by which the clone remembers a branch of the remote that is not gone."""
            is_gone = self._branches is not None and self._branches.is_gone(history, name)
            return [] if is_gone else [f"refs/remotes/{name}"]

        return (
            at(f"refs/tags/{base}", f"refs/heads/{base}")
            or self._newer(history, at(*remembered(base), f"{fetched}/heads/{self._branch(base)}"))
            or (at(base) if base.startswith("refs/") else [])
            or at(*(history.expand_abbreviation(base) if name.is_hash else []))
            or at(f"{fetched}/tags/{base}")
            or self._newer(history, at(*remembered(f"{self._remote}/{base}"), f"{fetched}/heads/{base}"))
        )

    def _check_not_gone(self, history: RepositoryReader, name: str) -> None:
        """Raise if a name is that of a branch that the remote had, and no longer has.

        Raises:
            EnvironmentProblem: With the branches that it has.
        """
        for candidate in (name, f"{self._remote}/{name}"):
            if self._branches is not None and self._branches.is_gone(history, candidate):
                raise self._branches.gone(history, candidate)

    def _branch(self, base: str) -> str:
        """Return the branch in `<remote>/<branch>`; otherwise a name that no branch can have."""
        return base.removeprefix(f"{self._remote}/") if base.startswith(f"{self._remote}/") else "."

    def _newer(self, history: RepositoryReader, tips: Sequence[str]) -> Sequence[str]:
        """Return the tip that we fetched, unless that of the user contains it and the remote was not asked since.

        A branch of the remote may go back to an older commit (a forced push), which the clone does not know.
        """
        if len(tips) < 2:
            return tips
        users_tip, fetched_tip = tips
        if self._branches is not None:
            return [fetched_tip]
        return [users_tip] if history.merge_base(users_tip, fetched_tip) == fetched_tip else [fetched_tip]

    def _fetch_hash(self, history: RepositoryReader, name: CommitName) -> Sequence[str]:
        """Fetch a commit that no branch contains, for example one that was amended: the clone may still have it."""
        with contextlib.suppress(GitFailed):
            self._mirror.fetch(str(self.place), [f"{name.base}:refs/pins/{name.base}"], without=self._missing)
        return self._find(history, name)

    def _check_known(self, history: RepositoryReader, *commits: Commit) -> None:
        """Raise if a commit is gone because history was rewritten."""
        for commit in commits:
            if history.find(commit.id) is None:
                raise self._unknown(history, CommitName(commit.id))

    def _unknown(self, history: RepositoryReader, name: CommitName) -> UsageError:
        near = difflib.get_close_matches(name.base, history.references(), n=4, cutoff=0.5)
        hints = [f"did you mean {', '.join(near)}?"] if near else []
        if history.is_shallow:
            hints.append(_DEEPEN)
        return UsageError(
            f"neither {self.place} nor its remote {self._remote} has a commit {name}",
            hint="; ".join(hints) or "see `git log --all`, or fetch first",
        )

    def _clone(self) -> RepositoryReader:
        return RepositoryReader(self.place, self.name)

    @contextlib.contextmanager
    def _history(self) -> Iterator[RepositoryReader]:
        self._copy_clone_once()
        with RepositoryReader(self._mirror.path, self.name) as history:
            yield history

    def _copy_clone_once(self) -> None:
        if not self._copied:
            self._copy_clone()

    def _copy_clone(self) -> None:
        with self._clone() as clone:
            head = clone.head()
        refspecs = [*_USERS_REFERENCES, *([f"+HEAD:{_USERS_HEAD}"] if head else [])]
        self._mirror.copy(self.place, refspecs, without=self._missing)
        self._copied = True


_DEEPEN = "the clone is shallow: `git fetch --unshallow` there brings the rest of its history"


def _address(url: str, place: Path) -> str:
    """Return the URL of a remote; a relative path is relative to the clone."""
    return str((place / url).resolve()) if url.startswith(".") else url
