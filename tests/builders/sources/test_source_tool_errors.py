"""Tool errors: environment problems are told apart from faults of the commit, and neither leaves a partial folder."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from harness.builders.sources.folders import fill_folder
from harness.builders.sources.git_program import GitFailed
from harness.builders.sources.hg_program import HgFailed
from harness.core.errors import BuildFailed, EnvironmentProblem, HarnessError

NETWORK = GitFailed("git fetch: fatal: unable to access 'http://x/': Could not resolve host: x")
DISK = HgFailed("hg update: abort: No space left on device")
GONE = GitFailed("git fetch: fatal: remote error: upload-pack: not our ref 1111")
DAMAGED = HgFailed("hg update: abort: unknown revision '1111'!")
LOCKED = EnvironmentProblem("another process has used x for 1800 s")
FULL = OSError(errno.ENOSPC, "No space left on device")


def fill_half(folder: Path, raised: Exception) -> None:
    with fill_folder(folder):
        (folder / "half").touch()
        raise raised


@pytest.mark.parametrize(
    ("raised", "about_the_commit"),
    [(NETWORK, False), (DISK, False), (GONE, True), (DAMAGED, True), (LOCKED, False), (FULL, False)],
    ids=str,
)
def test_only_errors_of_the_commit_fail_the_build(tmp_path: Path, raised: Exception, about_the_commit: bool) -> None:
    with pytest.raises(HarnessError) as caught:
        fill_half(tmp_path / "tree", raised)
    assert isinstance(caught.value, BuildFailed) == about_the_commit
    assert isinstance(caught.value, EnvironmentProblem)
    assert not (tmp_path / "tree").exists()
