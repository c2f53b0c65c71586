"""Drafts: what a killed process leaves is removed, what a living one works on never is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.core.result import Report
from harness.files.atomic import replacing
from harness.files.drafts import open_draft, open_scratch_folder, sweep_drafts
from harness.store.tree import DRAFTS, find_results
from harness.testing.results import ok_result
from reporters.local import LocalReporter

KILLED = """
import os, signal, sys
from pathlib import Path
from harness.files.drafts import open_draft
with open_draft(Path(sys.argv[1])) as draft:
    if sys.argv[2] == "folder":
        (draft / "deep").mkdir(parents=True)
        draft = draft / "deep" / "file"
    draft.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _leave_draft(folder: Path, kind: str = "file") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run((sys.executable, "-c", KILLED, str(folder), kind), check=False)
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_draft_of_a_killed_process_is_removed(kind: str, tmp_path: Path) -> None:
    _leave_draft(tmp_path, kind)
    sweep_drafts(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_replaced_takes_old_drafts_with_it(tmp_path: Path) -> None:
    _leave_draft(tmp_path / "folder")
    with replacing(tmp_path / "folder" / "file") as draft:
        draft.write_text("content")
    assert os.listdir(tmp_path / "folder") == ["file"]  # noqa: PTH208 - names


def test_a_draft_in_use_stays(tmp_path: Path) -> None:
    with open_draft(tmp_path) as draft:
        draft.write_text("half")
        sweep_drafts(tmp_path)
        subprocess.run(
            (sys.executable, "-c", f"from harness.files.drafts import *; sweep_drafts(Path({str(tmp_path)!r}))"),
            check=True,
        )
        assert draft.read_text() == "half"
    assert list(tmp_path.iterdir()) == []


def test_other_hidden_files_stay(tmp_path: Path) -> None:
    for name in (".lock", ".draft-of-mine", ".0123456789abcdef"):
        (tmp_path / name).touch()
    sweep_drafts(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_swept_folder_may_be_gone(tmp_path: Path) -> None:
    sweep_drafts(tmp_path / "nothing")


def test_a_file_system_without_locks_has_drafts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, shared: bool) -> bool:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("harness.files.drafts.try_lock", refuse)
    with open_draft(tmp_path) as draft:
        draft.touch()
        sweep_drafts(tmp_path)
        assert list(tmp_path.iterdir()) == [draft]
    assert list(tmp_path.iterdir()) == []


def test_scratch_folders_of_one_user_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = tmp_path / f"edge-harness-{os.getuid()}"
    _leave_draft(ours, "folder")
    with open_scratch_folder() as scratch:
        assert list(ours.glob(".draft-*[!k]")) == [scratch]
    assert list(ours.iterdir()) == []
    ours.rmdir()
    with open_scratch_folder() as scratch:
        assert scratch.parent.stat().st_mode & 0o777 == 0o700


def test_a_scratch_folder_is_not_made_where_others_can_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"edge-harness-{os.getuid()}").symlink_to("/")
    with open_scratch_folder() as scratch:
        assert scratch.parent == tmp_path


def test_the_half_result_of_a_killed_process_is_removed_with_the_next_result(tmp_path: Path) -> None:
    _leave_draft(tmp_path / DRAFTS, "folder")
    next(tmp_path.rglob("file")).rename(next(tmp_path.rglob("deep")) / "result.json")
    assert find_results(tmp_path) == []
    place = LocalReporter(tmp_path).report(Report(result=ok_result()))
    assert find_results(tmp_path) == [Path(place) / "result.json"]
    assert list((tmp_path / DRAFTS).iterdir()) == []
