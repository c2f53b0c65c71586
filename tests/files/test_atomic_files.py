from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from harness.files.atomic import replacing, write_atomically


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was synchronised with the disk, as they were at that moment."""
    names: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: names.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    return names


def test_a_file_is_written_with_its_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "deep" / "down" / "file", "täxt\r\n")
    assert (tmp_path / "deep" / "down" / "file").read_bytes() == "täxt\r\n".encode()


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "old")
    write_atomically(tmp_path / "file", b"new", durable=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize(("mode", "umask", "wanted"), [(0o666, 0o022, 0o644), (0o777, 0o022, 0o755), (0o600, 0, 0o600)])
def test_the_mode_is_that_of_a_file_that_is_made(tmp_path: Path, mode: int, umask: int, wanted: int) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", "", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == wanted


def test_a_name_of_full_length_is_possible(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), "content")
    assert (tmp_path / ("n" * 255)).read_text() == "content"


def test_whoever_looks_sees_one_content_or_the_other(tmp_path: Path) -> None:
    file = tmp_path / "file"
    contents = [character * 100_000 for character in "abcd"]
    write_atomically(file, contents[0])
    writers = [threading.Thread(target=write_atomically, args=(file, content)) for content in contents]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert file.read_text() in contents
    assert file.read_text() in contents


def _replace(file: Path, text: str) -> None:
    with replacing(file) as draft, draft.open("w", encoding="utf-8") as stream:
        for character in text:
            stream.write(character)


def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "old")
    with pytest.raises(UnicodeEncodeError):
        _replace(tmp_path / "file", "half\ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_durable_file_is_on_the_disk_before_it_has_its_name_and_then_its_name_is(
    tmp_path: Path, synced: list[str]
) -> None:
    write_atomically(tmp_path / "file", "content", durable=True)
    content, name = synced
    assert Path(content).parent == tmp_path
    assert Path(content).name.startswith(".")
    assert name == str(tmp_path)


def test_a_file_that_can_be_made_again_waits_for_no_disk(tmp_path: Path, synced: list[str]) -> None:
    write_atomically(tmp_path / "file", "content")
    assert synced == []
