"""Staged files where this user may make no symbolic links, as on Windows."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from harness.core.errors import BenchmarkFailed
from platforms.host import file_copies
from platforms.host.file_copies import FileCopies


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FileCopies:
    def refuse(*_arguments: object, **_keywords: object) -> NoReturn:
        raise OSError(1314, "A required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    return FileCopies(tmp_path / "copies")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.pte"
    path.write_text("original")
    return path


def test_a_file_has_its_name_and_the_original_is_protected(copies: FileCopies, model: Path, tmp_path: Path) -> None:
    link = tmp_path / "0" / "model.pte"
    copies.link(link, model)
    copies.check("it ended well")
    with link.open("a") as opened:
        opened.write(" changed")
    with pytest.raises(BenchmarkFailed, match=r"model.pte was changed"):
        copies.check("it ended well")
    assert model.read_text() == "original"
    again = tmp_path / "1" / "model.pte"
    copies.link(again, model)
    copies.check("it ended well")
    assert again.read_text() == "original"


def test_a_file_that_took_the_place_of_another_is_noticed(copies: FileCopies, model: Path, tmp_path: Path) -> None:
    link = tmp_path / "0" / "model.pte"
    copies.link(link, model)
    link.unlink()
    link.write_text("other")
    with pytest.raises(BenchmarkFailed, match=r"model.pte was changed"):
        copies.check("it ended well")


def test_a_file_on_another_disk_is_copied(
    copies: FileCopies, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> NoReturn:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    monkeypatch.setattr(file_copies, "LARGE_BYTES", 1)
    link = tmp_path / "0" / "model.pte"
    copies.link(link, model)
    copies.check("it ended well")
    assert link.read_text() == "original"
    assert not link.samefile(model)


def test_a_folder_is_copied_and_removed(copies: FileCopies, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "a").write_text("1")
    link = tmp_path / "0" / "data"
    copies.link(link, data)
    copies.check("it ended well")
    assert (link / "a").read_text() == "1"
    copies.release(link, keep_copy=False)
    assert not link.exists()
    assert (data / "a").read_text() == "1"
