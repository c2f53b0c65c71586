"""Source of the changesets of a Mercurial repository. The user's is only read; ours is a clone in the cache."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.builders.sources.commit_names import CommitName, parse_name
from harness.builders.sources.folders import fill_folder, lock_folder, mirror_folder
from harness.builders.sources.git_program import without_credentials
from harness.builders.sources.hg_bookmarks import (
    RemoteBookmarks,
    keep_remote_bookmarks,
    read_remote_bookmarks,
)
from harness.builders.sources.hg_program import (
    NETWORK_S,
    Changeset,
    HgFailed,
    hg,
    is_changeset,
    list_changesets,
    list_named,
    local_tags,
    remote_bookmarks,
)
from harness.builders.sources.mainline import trace_mainline
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem, UsageError

_MOST_DIGITS: Final = 9
"""Digits of the longest revision number: hg counts in 32 bits."""


def create(place: str, *, remote: str | None, cache_dir: Path) -> HgSource:
    """Open a Mercurial repository: the entry point of the source `hg`."""
    return HgSource(Path(place).expanduser(), cache_dir=cache_dir, remote=remote or "default")


class HgSource:
    """Source of the changesets of a repository, and of the one that it came from.

    Secret changesets are not among them: hg does not give them away.

    Args:
        place: Top folder of the user's repository.
        cache_dir: The harness's cache.
        remote: Path of the repository (`hg paths`) that `fetch` asks.

    Raises:
        UsageError: There is no hg repository at that place.
    """

    def __init__(self, place: Path, *, cache_dir: Path, remote: str = "default") -> None:
        self.place = place.resolve()
        self.name = f"hg:{self.place}"
        self.newest = "."
        if not (self.place / ".hg").is_dir():
            raise UsageError(f"{place} is not an hg repository", hint="give the top folder of a clone with --repo-dir")
        self._remote = parse_name(remote).base
        self._folder = mirror_folder(cache_dir.resolve(), str(self.place))
        self._mirror = self._folder / "mirror"
        self._copied = False

    def fetch(self) -> None:
        """Fetch new changesets from the user's repository, then from its remote, if it has one.

        Raises:
            EnvironmentProblem: The remote cannot be reached; what was known before stays known.
        """
        self._pull(str(self.place))
        url = list_named("paths", "name", "url", at=self.place).get(self._remote)
        if url is None:
            return
        try:
            self._pull(url)
            bookmarks = remote_bookmarks(url)
        except HgFailed as error:
            raise EnvironmentProblem(
                f"cannot fetch from {self._remote} ({without_credentials(url)}): {error.message}",
                hint=f"`hg identify {self._remote}` in {self.place} must work with HGRCPATH set to nothing",
            ) from error
        with self._changing():
            keep_remote_bookmarks(self._bookmark_file, bookmarks)

    def resolve(self, name: str) -> Commit:
        """Return the changeset that a hash, revision number, bookmark, tag or branch names, or an ancestor (`~2`, `^`).

        `.` and `HEAD` are the parent of the user's working folder. Local tags are the user's; a bookmark is the newer
        of the user's and the remote's, and one that is gone from the remote is not followed, although the clone has its
        copy. A branch means its tip as we know it. Revision numbers and `tip` differ from clone to clone, and are those
        of the user's. As with hg, digits are a revision number where there is one, and else the beginning of a hash.

        Raises:
            UsageError: There is none, or it could be several; the hint lists some.
            EnvironmentProblem: The repository cannot be read, or the remote had such a bookmark and no longer has it.
        """
        wanted = parse_name(name)
        self._copy_once()
        changes = self._find(wanted)
        if not changes:
            remembered = read_remote_bookmarks(self._bookmark_file)
            if wanted.base in remembered.gone:
                raise self._gone(wanted.base, remembered)
            users = list_named("bookmarks", "bookmark", "node", at=self.place)
            known = [*users, *remembered.bookmarks, *self._branches()]
            near = difflib.get_close_matches(wanted.base, known, n=4, cutoff=0.5)
            raise UsageError(
                f"{self.place} has no changeset {wanted}",
                hint=f"did you mean {', '.join(near)}?" if near else "see `hg log`, or fetch first",
            )
        if len(changes) > 1:
            listed = "; ".join(f"{commit.short} {commit.subject}" for commit in map(self._commit, changes[:5]))
            raise UsageError(f"{wanted} could be {len(changes)} changesets of {self.place}", hint=f"one of: {listed}")
        return self._commit(changes[0])

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        """Return the changesets after `older` up to and with `newer`, oldest first; none when they are the same.

        They follow first parents: what a merge brought is in the merge (`trace_mainline`).

        Raises:
            UsageError: `older` is not before `newer`.
        """
        if older.id == newer.id:
            return ()
        self._copy_once()
        way = list_changesets(f"sort({_id(older.id)}::{_id(newer.id)}, rev)", at=self._mirror)
        if not way:
            raise UsageError(
                f"{older.short} is not before {newer.short} in {self.place}",
                hint="start from a changeset that both have, such as their common ancestor",
            )
        changes = {change.node: change for change in way[1:]}
        parents = {node: (change.p1node, change.p2node) for node, change in changes.items()}
        return tuple(self._commit(changes[node]) for node in trace_mainline(older.id, newer.id, parents))

    def parents(self, commit: Commit) -> Sequence[Commit]:
        """Return the parents of a changeset, the first parent first."""
        self._copy_once()
        (change,) = list_changesets(_id(commit.id), at=self._mirror)
        nodes = [node for node in (change.p1node, change.p2node) if is_changeset(node)]
        return tuple(self._commit(parent) for node in nodes for parent in list_changesets(_id(node), at=self._mirror))

    def message(self, commit: Commit) -> str:
        """Return the whole message of a changeset."""
        self._copy_once()
        (change,) = list_changesets(_id(commit.id), at=self._mirror)
        return change.desc

    def merge_base(self, first: Commit, second: Commit) -> Commit:
        """Return the newest changeset that two lines of development share.

        Raises:
            UsageError: They have nothing in common.
        """
        self._copy_once()
        ancestors = list_changesets(f"ancestor({_id(first.id)}, {_id(second.id)})", at=self._mirror)
        if not ancestors:
            raise UsageError(f"{first.short} and {second.short} have no common ancestor in {self.place}")
        return self._commit(ancestors[0])

    def main(self) -> Commit:
        """Return the tip of the branch `default`.

        Raises:
            UsageError: There is no such branch.
        """
        return self.resolve("default")

    def tips(self, branch: str) -> Sequence[str]:
        """Name the branch, whose tip is the same in the repository and in its remote once that was asked."""
        return (branch,)

    def materialise(self, commit: Commit, folder: Path) -> None:
        """Put the files of a changeset into an empty folder, with its subrepositories. Files get the present time.

        Raises:
            BuildFailed: They cannot be fetched completely; the folder is removed.
            EnvironmentProblem: Network or disk is the reason; the folder is removed as well.
        """
        folder = folder.resolve()
        with fill_folder(folder):
            self._copy_once()
            share = ("share", "--quiet", "--noupdate", "--", str(self._mirror), str(folder))
            hg(*share, at=None, setting="extensions.share=")
            # Subrepositories with relative places come from beside the user's own.
            origin = f"paths.default={self.place}"
            update = ("update", "--quiet", "--clean", "--rev", commit.id)
            hg(*update, at=folder, setting=origin, timeout_s=NETWORK_S)

    def _find(self, name: CommitName) -> list[Changeset]:
        """Return every changeset that a name could mean, by the first rule that finds any."""
        if name.base in {"HEAD", ".", "tip"}:
            nodes = self._nodes_of_user("tip" if name.base == "tip" else ".")
        else:
            nodes = self._find_by_name(name.base) or self._find_by_number(name.base)
            nodes = nodes or (self._find_by_hash(name.base.lower()) if name.is_hash else [])
        ends = ("".join((_id(node), *name.steps)) for node in nodes if is_changeset(node))
        return [change for end in ends for change in list_changesets(end, at=self._mirror) if is_changeset(change.node)]

    def _find_by_name(self, base: str) -> list[str]:
        """Look among bookmarks and the user's local tags, then among pulled tags and branches."""
        listings: Sequence[Callable[[], Mapping[str, str]]] = (
            lambda: self._find_bookmark(base),
            lambda: local_tags(self.place),
            lambda: list_named("tags", "tag", "node", at=self._mirror),
            lambda: list_named("branches", "branch", "node", "--closed", at=self._mirror),
        )
        nodes = (node for listing in listings if (node := listing().get(base)))
        return list(itertools.islice(nodes, 1))

    def _find_bookmark(self, name: str) -> dict[str, str]:
        """Return the newer of the user's bookmark and the remote's; that of the remote where they part."""
        remembered = read_remote_bookmarks(self._bookmark_file)
        users = list_named("bookmarks", "bookmark", "node", at=self.place).get(name)
        others = remembered.bookmarks.get(name)
        if users is None or users == others:
            return {} if others is None else {name: others}
        if others is not None:
            return {name: users if self._contains(users, others) else others}
        last = remembered.gone.get(name)
        is_copy = last is not None and self._contains(last, users)
        return {} if is_copy else {name: users}

    def _contains(self, node: str, ancestor: str) -> bool:
        return bool(list_changesets(f"{_id(ancestor)} and ::{_id(node)}", at=self._mirror))

    def _gone(self, name: str, remembered: RemoteBookmarks) -> EnvironmentProblem:
        names = [*remembered.bookmarks, *self._branches()]
        near = difflib.get_close_matches(name, names, n=4, cutoff=0.5)
        listed = ", ".join([*near, *(other for other in names if other not in near)][:8])
        return EnvironmentProblem(
            f"the remote {self._remote} of {self.place} had a bookmark {name}, and has none of this name any more",
            hint=f"name another: it has {listed}",
        )

    @property
    def _bookmark_file(self) -> Path:
        return self._folder / f"bookmarks-{hashlib.sha256(self._remote.encode()).hexdigest()[:8]}.json"

    def _find_by_number(self, base: str) -> list[str]:
        """Look for a revision number in the user's repository."""
        is_number = base.isascii() and base.isdecimal() and len(base) <= _MOST_DIGITS
        return self._nodes_of_user(f"rev({int(base)})") if is_number else []

    def _nodes_of_user(self, revset: str) -> list[str]:
        return [change.node for change in list_changesets(revset, at=self.place)]

    def _branches(self) -> dict[str, str]:
        return list_named("branches", "branch", "node", at=self._mirror)

    def _find_by_hash(self, prefix: str) -> list[str]:
        """Look for a hash. An abbreviation may fit several, of which hg names none; only then all are compared."""
        exact = [change.node for change in list_changesets(_id(prefix), at=self._mirror)]
        if exact:
            return exact
        every = hg("log", "--template", "{node}\n", at=self._mirror).split()
        return [node for node in every if node.startswith(prefix)]

    def _commit(self, change: Changeset) -> Commit:
        return Commit(
            source=self.name,
            id=change.node,
            time=int(change.date[0]),
            author=change.user.partition("<")[0].strip() or change.user,
            subject=change.desc.partition("\n")[0],
            merge=is_changeset(change.p2node),
        )

    def _copy_once(self) -> None:
        if not self._copied:
            self._pull(str(self.place))
            self._copied = True

    def _pull(self, url: str) -> None:
        with self._changing():
            hg("pull", "--quiet", "--", url, at=self._mirror, timeout_s=NETWORK_S)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with lock_folder(self._folder):
            if not (self._mirror / ".hg" / "requires").exists():
                hg("init", "--", str(self._mirror), at=None)
            if (self._mirror / ".hg" / "store" / "journal").exists():
                hg("recover", "--quiet", at=self._mirror)  # a pull was killed
            yield


def _id(node: str) -> str:
    """Return the revset of hexadecimal digits, and of nothing else."""
    return f"id({int(node, 16):0{len(node)}x})"
