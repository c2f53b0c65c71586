"""Submodules that the files of a commit hold, with their commits."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.builders.sources.git_program import git
from harness.core.errors import EnvironmentProblem

_GITLINK: Final = "160000 "


def read_submodules(folder: Path) -> dict[str, str]:
    """Return the commit of each submodule that is checked out in a working tree, by path; empty without git.

    Those that were not fetched have empty folders and are no part of the build.
    """
    at = folder / ".git"
    if not at.exists():
        return {}
    try:
        staged = git("ls-files", "--stage", "-z", at=at).stdout.split("\0")
    except EnvironmentProblem:
        return {}
    links = (line.partition("\t") for line in staged if line.startswith(_GITLINK))
    return {path: facts.split()[1] for facts, _, path in links if _holds_files(folder / path)}


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
