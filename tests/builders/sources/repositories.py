"""Real repositories, made the same way every time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from harness.builders.sources.git import GitSource
from harness.core.commit import Commit

PACKAGE = "harness-test-runner"
"""Package that exists only in the package index of the tests."""

Shelf = Callable[..., None]
"""Callable that publishes a release of `PACKAGE`: its version, and further files by path."""

FIRST_SECOND = 1_700_000_000
"""Time of the first commit; each further one is a minute later."""


def require(program: str) -> None:
    """Skip the test if a program is missing; fail in CI."""
    if shutil.which(program) is None:
        missing(f"{program} is not installed")


def missing(reason: str) -> None:
    """Skip, or fail in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and CI must test this")
    pytest.skip(reason)


class GitRepository:
    """A user's git repository."""

    def __init__(self, path: Path, *, made: bool = False) -> None:
        self.path = path
        self._commits = 0
        if not made:
            path.mkdir(parents=True)
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        time = f"{FIRST_SECOND + 60 * self._commits} +0000"
        identity = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": time}
        environment = {
            f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in identity.items()
        }
        completed = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            env={**os.environ, **environment, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == 0, f"git {arguments}: {completed.stderr}"
        return completed.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        for name, content in (files or {"file": subject}).items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(content)
            self.git("add", "--", name)
        self._commits += 1
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def clone(self, path: Path, *options: str) -> GitRepository:
        """Clone it over git's own protocol."""
        self.git("clone", "--quiet", *options, f"file://{self.path}", str(path))
        return GitRepository(path, made=True)

    def state(self) -> dict[str, object]:
        """Return all that could change: references, index, working tree, configuration, every file of `.git`."""
        told = {
            question: self.git(*question.split(), env={"GIT_OPTIONAL_LOCKS": "0"})
            for question in ("for-each-ref", "status --porcelain", "worktree list", "rev-parse HEAD", "stash list")
        }
        return {**told, **_contents(self.path)}


class HgRepository:
    """A user's Mercurial repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits = 0
        if not path.exists():
            path.mkdir(parents=True)
            self.hg("init")

    def hg(self, *arguments: str) -> str:
        environment = {"HGPLAIN": "1", "HGRCPATH": "", "HGUSER": "Ada <ada@example.org>"}
        completed = subprocess.run(
            ["hg", *arguments],
            cwd=self.path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert completed.returncode == 0, f"hg {arguments}: {completed.stderr}"
        return completed.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        for name, content in (files or {"file": subject}).items():
            (self.path / name).write_text(content)
        self._commits += 1
        date = f"{FIRST_SECOND + 60 * self._commits} 0"
        told = self.hg("commit", "--debug", "--addremove", "-m", subject, "-d", date)
        return told.rsplit(":", 1)[-1]  # the last line: `committed changeset 3:1a2b...`; Mercurial starts slowly

    def node(self, revset: str) -> str:
        return self.hg("log", "-r", revset, "-T", "{node}")

    def state(self) -> dict[str, object]:
        """Return everything that could be changed, except files that hg itself calls a cache.

        The dirstate is compared as `hg status` shows it: that command also writes times into the file, once the clock
        has left the second of the last update.
        """
        commands = (
            "log --debug -G",
            "bookmarks",
            "tags",
            "status --all",
            "identify --debug",
            "phase -r all()",
            "paths",
        )
        outputs = {command: self.hg(*command.split()) for command in commands}
        contents = _contents(self.path).items()
        files = {name: content for name, content in contents if "cache/" not in name and name != ".hg/dirstate"}
        return {**outputs, **files}


def _contents(folder: Path) -> dict[str, object]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def subjects(commits: Sequence[Commit]) -> list[str]:
    """Return the subject lines of commits."""
    return [commit.subject for commit in commits]


def clone_with_remote(folder: Path, cache: Path) -> tuple[GitRepository, GitRepository, GitSource]:
    """Return a repository with one commit, a user's clone of it, and the source of that clone."""
    remote = GitRepository(folder / "remote")
    remote.commit("one")
    clone = remote.clone(folder / "clone")
    return remote, clone, GitSource(clone.path, cache_dir=cache)
