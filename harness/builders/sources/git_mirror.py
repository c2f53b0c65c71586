"""A bare repository of our own for each place that commits come from.

It copies what it fetches and borrows nothing, so it does not care when the user's repository is repacked, pruned or
deleted. Nothing is ever pruned in it either, so the working trees that borrow its objects stay whole.

    refs/heads, refs/tags, refs/remotes     as in the user's repository
    refs/user/HEAD                          what is checked out there
    refs/fetched/<remote>/{heads,tags}      what we fetched from the user's remote
    refs/pins/<hash>                        commits that were asked for by hash
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.builders.sources.folders import locked, mirror_folder
from harness.builders.sources.git_program import NETWORK_S, git


class Mirror:
    """The copy of one repository. Processes may share it; each object is used by one thread.

    Args:
        cache_dir: The harness's cache.
        place: Path or URL that it is a copy of.
    """

    def __init__(self, cache_dir: Path, place: str) -> None:
        self._folder = mirror_folder(cache_dir.resolve(), place)
        self.path = self._folder / "mirror.git"

    def fetch(
        self,
        place: str,
        refspecs: Sequence[str],
        *,
        follow: bool = False,
        depth: int | None = None,
        trusted: bool = True,
    ) -> None:
        """Copy references and all that belongs to them. Nothing is written at the place.

        Args:
            place: Path or URL to fetch from.
            refspecs: What goes where (git-fetch(1)).
            follow: Whether references that are gone there go here too.
            depth: How many commits of history; None for all that there is.
            trusted: Whether the user named the place; otherwise git refuses local paths.

        Raises:
            GitFailed: It cannot be reached, or does not have what is asked for.
            EnvironmentProblem: The mirror cannot be written.
        """
        options = ["--prune"] * follow + ([f"--depth={depth}"] if depth else [])
        with self._changing():
            self._fetch(place, refspecs, options, trusted=trusted)

    def copy(self, clone: Path, refspecs: Sequence[str]) -> None:
        """Become what the user's clone is, with as much history as it has by now.

        Raises:
            GitFailed: It cannot be read.
            EnvironmentProblem: The mirror cannot be written.
        """
        with self._changing():
            options = ["--prune", *["--unshallow"] * self.is_shallow]
            self._fetch(str(clone), refspecs, options, trusted=True)

    def has_pin(self, commit: str) -> bool:
        """Whether a commit was fetched by its hash, and so is whole."""
        return self.path.exists() and bool(git("for-each-ref", f"refs/pins/{commit}", at=self.path).stdout)

    def pin(self, commit: str) -> None:
        """Remember that a commit is here.

        Raises:
            GitFailed: It is not.
        """
        with self._changing():
            git("update-ref", f"refs/pins/{commit}", commit, at=self.path)

    @property
    def is_shallow(self) -> bool:
        """Whether history was cut off."""
        return (self.path / "shallow").exists()

    def check_out(self, commit: str, folder: Path) -> None:
        """Make a working tree that borrows this mirror's objects. Everything about it is in that one folder.

        A plain repository with an alternate (gitrepository-layout(5), objects/info/alternates), not a linked
        worktree: that would leave a registration behind when the folder is deleted, and share its configuration with
        all others. Files get the present time, which is what build tools expect.

        Args:
            commit: A full hash that the mirror has.
            folder: Empty.

        Raises:
            GitFailed: The commit is not whole.
        """
        git("init", "--quiet", "--template=", "--", str(folder), at=None)
        inside = folder / ".git"
        (inside / "objects" / "info").mkdir(exist_ok=True)
        (inside / "objects" / "info" / "alternates").write_text(f"{self.path / 'objects'}\n")
        if self.is_shallow:
            shutil.copyfile(self.path / "shallow", inside / "shallow")
        tags = "+refs/tags/*:refs/tags/*"
        git("fetch", "--quiet", "--no-write-fetch-head", "--update-shallow", "--", str(self.path), tags, at=inside)
        git("checkout", "--quiet", "--force", "--detach", commit, "--", at=inside)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with locked(self._folder):
            if self.path.exists():
                self._forget_dead_writers()
            git("init", "--quiet", "--bare", "--template=", "--", str(self.path), at=None)
            yield

    def _fetch(self, place: str, refspecs: Sequence[str], options: Sequence[str], *, trusted: bool) -> None:
        fixed = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-shallow")
        git("fetch", *fixed, *options, "--", place, *refspecs, at=self.path, untrusted=not trusted, timeout_s=NETWORK_S)
        self._tidy()

    def _tidy(self) -> None:
        """Pack what many small fetches brought, once there is much of it (git-gc(1): the default of 6700 objects)."""
        settings = ("gc.auto=6700", "gc.autoDetach=false", "gc.pruneExpire=never")
        git(*(word for setting in settings for word in ("-c", setting)), "gc", "--auto", "--quiet", at=self.path)

    def _forget_dead_writers(self) -> None:
        """A git that was killed leaves lock files; who holds our lock knows that nobody is behind them."""
        for lock in (*self.path.glob("*.lock"), *self.path.glob("refs/**/*.lock")):
            lock.unlink(missing_ok=True)
