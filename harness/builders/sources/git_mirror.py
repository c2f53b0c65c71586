"""Mirrors: a bare repository of ours for each place that commits come from.

It copies what it fetches and borrows nothing, so it does not care when the user's repository is repacked, pruned or
deleted. Nothing is ever pruned in it either, so the working trees that borrow its objects stay whole.

    refs/heads, refs/tags, refs/remotes     as in the user's repository
    refs/user/HEAD                          the commit that is checked out there
    refs/fetched/<remote>/{heads,tags}      fetched from the user's remote
    refs/pins/<hash>                        commits that were asked for by hash
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.builders.sources.folders import lock_folder, mirror_folder
from harness.builders.sources.git_program import NETWORK_S, GitFailed, git

_PROMISING: Final = "partial"
_FILTERING: Final = "git -c uploadpack.allowFilter=true upload-pack"
"""Program that reads the user's clone on this machine. By default it refuses filters, which cost a server time."""


class Mirror:
    """Mirror of one repository. Processes may share it; each object is used by one thread.

    Args:
        cache_dir: The harness's cache.
        place: Path or URL of the repository.
        transport: Configuration for reaching servers, names and values.
    """

    def __init__(self, cache_dir: Path, place: str, transport: Sequence[tuple[str, str]] = ()) -> None:
        self._transport = transport
        self._folder = mirror_folder(cache_dir.resolve(), place)
        self.path = self._folder / "mirror.git"

    def fetch(
        self,
        place: str,
        refspecs: Sequence[str],
        *,
        follow: bool = False,
        depth: int | None = None,
        without: str | None = None,
        trusted: bool = True,
    ) -> None:
        """Copy references with everything that they need. Nothing is written at the place.

        Args:
            place: Path or URL to fetch from.
            refspecs: References to copy (git-fetch(1)).
            follow: Whether references that were deleted there are deleted here.
            depth: Number of commits of history; None for all.
            without: Filter of what to leave out (git-rev-list(1), `--filter`); None for nothing.
            trusted: Whether the user named the place; otherwise git refuses local paths.

        Raises:
            GitFailed: It cannot be reached, or lacks a reference.
            EnvironmentProblem: The mirror cannot be written.
        """
        options = ["--prune"] * follow + ([f"--depth={depth}"] if depth else [])
        with self._locked():
            self._fetch(place, refspecs, options, without=without, trusted=trusted)

    def fetch_pin(self, commit: str, places: Sequence[tuple[str, bool]]) -> None:
        """Fetch the files of one commit, without history.

        Args:
            commit: Full hash.
            places: Paths and URLs, and whether the user named each (`fetch`); the first that gives it is enough.

        Raises:
            GitFailed: The last place does not give it, nor do the others.
        """
        refspec = [f"{commit}:refs/pins/{commit}"]
        for place, trusted in places[:-1]:
            with contextlib.suppress(GitFailed):
                self.fetch(place, refspec, depth=1, trusted=trusted)
                return
        url, trusted = places[-1]
        try:
            self.fetch(url, refspec, depth=1, trusted=trusted)
        except GitFailed as error:
            # Old servers give only commits of a branch or a tag.
            if "unadvertised" not in error.message:
                raise
            self.fetch(url, ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"], trusted=trusted)
            self.pin(commit)

    def copy(self, clone: Path, refspecs: Sequence[str], *, without: str | None = None) -> None:
        """Copy the references of the user's clone, with as much history as it has.

        Args:
            clone: Where it is.
            refspecs: References to copy.
            without: What the clone lacks, as it was cloned with a filter; None for nothing.

        Raises:
            GitFailed: It cannot be read.
            EnvironmentProblem: The mirror cannot be written.
        """
        with self._locked():
            filtering = [] if without is None else [f"--upload-pack={_FILTERING}"]
            options = ["--prune", *["--unshallow"] * self.is_shallow, *filtering]
            self._fetch(str(clone), refspecs, options, without=without, trusted=True)

    def has_pin(self, commit: str) -> bool:
        """Return whether a commit was fetched by its hash, and so is complete."""
        return self.path.exists() and bool(git("for-each-ref", f"refs/pins/{commit}", at=self.path).stdout)

    def pin(self, commit: str) -> None:
        """Record that the mirror has a commit.

        Raises:
            GitFailed: It does not have it.
        """
        with self._locked():
            git("update-ref", f"refs/pins/{commit}", commit, at=self.path)

    @property
    def is_shallow(self) -> bool:
        """True if history is cut off."""
        return (self.path / "shallow").exists()

    def check_out(self, commit: str, folder: Path) -> None:
        """Make a working tree that borrows the objects of this mirror. Everything about it is in one folder.

        A plain repository with an alternate (gitrepository-layout(5), objects/info/alternates), not a linked
        worktree: that would leave a registration behind when the folder is deleted, and share its configuration with
        all others. Files get the present time, which is what build tools expect.

        Args:
            commit: Full hash of a commit of the mirror.
            folder: Empty folder.

        Raises:
            GitFailed: The commit is incomplete.
        """
        git("init", "--quiet", "--template=", "--", str(folder), at=None)
        inside = folder / ".git"
        (inside / "objects" / "info").mkdir(exist_ok=True)
        (inside / "objects" / "info" / "alternates").write_text(f"{self.path / 'objects'}\n", encoding="utf-8")
        if self.is_shallow:
            shutil.copyfile(self.path / "shallow", inside / "shallow")
        tags = "+refs/tags/*:refs/tags/*"
        git("fetch", "--quiet", "--no-write-fetch-head", "--update-shallow", "--", str(self.path), tags, at=inside)
        git("checkout", "--quiet", "--force", "--detach", commit, "--", at=inside)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with lock_folder(self._folder):
            if self.path.exists():
                self._remove_stale_files()
            git("init", "--quiet", "--bare", "--template=", "--", str(self.path), at=None)
            yield

    def _fetch(
        self, place: str, refspecs: Sequence[str], options: Sequence[str], *, without: str | None, trusted: bool
    ) -> None:
        fixed = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-shallow")
        settings: tuple[str, ...] = ()
        if without is not None:
            # Only a remote with a name may promise what it leaves out; whichever it is, nothing is fetched later.
            git("config", f"remote.{_PROMISING}.promisor", "true", at=self.path)
            git("config", f"remote.{_PROMISING}.partialclonefilter", without, at=self.path)
            settings, place = (f"remote.{_PROMISING}.url={place}",), _PROMISING
            options = [*options, f"--filter={without}"]
        words = (*fixed, *options, "--", place, *refspecs)
        with self._undone_on_failure():
            git(
                "fetch",
                *words,
                at=self.path,
                untrusted=not trusted,
                timeout_s=NETWORK_S,
                settings=settings,
                transport=self._transport,
            )
        self._tidy()

    @contextlib.contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        """Remove what a failed fetch brought: git leaves an unfinished pack for ever, as nothing here is pruned.

        The objects stay if some references were updated before the failure: these may need them.
        """
        objects, shallow = self.path / "objects", self.path / "shallow"
        files = set(_files(objects))
        references = self._references()
        border = shallow.read_bytes() if self.is_shallow else None
        try:
            yield
        except BaseException:
            _remove_unfinished(objects)
            if self._references() == references:
                for file in set(_files(objects)) - files:
                    file.unlink(missing_ok=True)
                shallow.unlink(missing_ok=True) if border is None else shallow.write_bytes(border)
            raise

    def _references(self) -> str:
        return git("for-each-ref", at=self.path).stdout

    def _tidy(self) -> None:
        """Pack the objects of many small fetches once there are 6700 of them, the default of git-gc(1)."""
        settings = ("gc.auto=6700", "gc.autoDetach=false", "gc.pruneExpire=never")
        git(*(word for setting in settings for word in ("-c", setting)), "gc", "--auto", "--quiet", at=self.path)

    def _remove_stale_files(self) -> None:
        """Remove lock files and unfinished objects of a git that was killed; as we hold our lock, none is in use."""
        for lock in (*self.path.glob("*.lock"), *self.path.glob("refs/**/*.lock")):
            lock.unlink(missing_ok=True)
        _remove_unfinished(self.path / "objects")


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_file())


def _remove_unfinished(objects: Path) -> None:
    """Remove unfinished packs and objects, and the marks that protect a new pack until its references are written."""
    for file in (*objects.glob("pack/tmp_*"), *objects.glob("*/tmp_obj_*"), *objects.glob("pack/*.keep")):
        file.unlink(missing_ok=True)
