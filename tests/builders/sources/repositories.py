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
"""A package that only the shelf of the tests has."""

Shelf = Callable[..., None]
"""Puts a release of `PACKAGE` on the shelf: its version, and further files by path."""

FIRST_SECOND = 1_700_000_000
"""Time of the first commit; each further one is a minute later."""


def require(program: str) -> None:
    """Skip where a program is missing; where everything must be tested, that is a failure."""
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
        who = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": time}
        environment = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.path,
            env={**os.environ, **environment, **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        for name, content in (files or {"file": subject}).items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(content)
            self.git("add", "--", name)
        self._commits += 1
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def clone(self, path: Path, *options: str) -> GitRepository:
        """A clone of it, over git's own protocol."""
        self.git("clone", "--quiet", *options, f"file://{self.path}", str(path))
        return GitRepository(path, made=True)

    def state(self) -> dict[str, object]:
        """Everything that could be changed: references, index, working tree, configuration, every file of `.git`."""
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
        done = subprocess.run(
            ["hg", *arguments],
            cwd=self.path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"hg {arguments}: {done.stderr}"
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        for name, content in (files or {"file": subject}).items():
            (self.path / name).write_text(content)
        self._commits += 1
        self.hg("commit", "--addremove", "-q", "-m", subject, "-d", f"{FIRST_SECOND + 60 * self._commits} 0")
        return self.node(".")

    def node(self, revset: str) -> str:
        return self.hg("log", "-r", revset, "-T", "{node}")

    def state(self) -> dict[str, object]:
        """Everything but what hg itself calls a cache."""
        asked = ("log --debug -G", "bookmarks", "tags", "status", "identify --debug", "phase -r all()", "paths")
        told = {question: self.hg(*question.split()) for question in asked}
        files = {name: content for name, content in _contents(self.path).items() if "cache/" not in name}
        return {**told, **files}


def _contents(folder: Path) -> dict[str, object]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def subjects(commits: Sequence[Commit]) -> list[str]:
    """What a person recognises commits by."""
    return [commit.subject for commit in commits]


def clone_with_remote(folder: Path, cache: Path) -> tuple[GitRepository, GitRepository, GitSource]:
    """A repository with one commit, a user's clone of it, and the source that this clone is."""
    remote = GitRepository(folder / "remote")
    remote.commit("one")
    clone = remote.clone(folder / "clone")
    return remote, clone, GitSource(clone.path, cache_dir=cache)
