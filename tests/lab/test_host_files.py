"""Files of a lab by their content: parts that arrive, files that are fetched, and what is removed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem
from harness.lab import host_files
from harness.lab.host_files import fetch_file, missing_files, prune_files, read_part, store_part, use_build
from harness.lab.jobs import FILES, LabFile

TEXT = bytes(range(256)) * 10
DIGEST = hashlib.sha256(TEXT).hexdigest()
DAY_S = 86_400.0


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache of the host whose process this is; a file travels in several parts."""
    monkeypatch.setattr(host_files, "host_cache_dir", lambda: tmp_path)
    monkeypatch.setattr(host_files, "PART_BYTES", 1000)
    return tmp_path


def store(content: bytes, transfer: str = "one", digest: str = DIGEST) -> None:
    for offset in range(0, max(len(content), 1), 1000):
        store_part(digest, transfer, offset, content[offset : offset + 1000], len(content))


def file_of(content: bytes = TEXT) -> LabFile:
    return LabFile(sha256=hashlib.sha256(content).hexdigest(), name="x", size_bytes=len(content))


@pytest.mark.parametrize("content", [TEXT, b"", b"x", TEXT[:1000], TEXT[:2000]])
def test_a_file_arrives_in_parts_and_is_read_in_parts(cache: Path, content: bytes) -> None:
    digest = hashlib.sha256(content).hexdigest()
    assert missing_files((digest,)) == (digest,)
    store(content, digest=digest)
    assert missing_files((digest,)) == ()
    assert [path.name for path in (cache / FILES / digest).iterdir()] == ["content"]

    other = cache / "other"
    fetch_file(file_of(content), other, lambda offset: read_part(digest, offset))
    assert file_of(content).below(other / FILES).read_bytes() == content


def test_two_transfers_of_one_file_do_not_mix(cache: Path) -> None:
    store_part(DIGEST, "one", 0, TEXT[:1000], len(TEXT))
    store(TEXT, "two")
    store_part(DIGEST, "one", 1000, TEXT[1000:2000], len(TEXT))
    store_part(DIGEST, "one", 2000, TEXT[2000:], len(TEXT))
    assert (cache / FILES / DIGEST / "content").read_bytes() == TEXT


def test_a_damaged_file_and_one_with_a_gap_do_not_appear(cache: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="instead of"):
        store(TEXT[::-1])
    store_part(DIGEST, "one", 0, TEXT[:1000], len(TEXT))
    with pytest.raises(EnvironmentProblem, match="missing before"):
        store_part(DIGEST, "one", 2000, TEXT[2000:], len(TEXT))
    assert missing_files((DIGEST,)) == (DIGEST,)
    assert list((cache / FILES / DIGEST).iterdir()) == []


def test_a_host_without_room_says_so(cache: Path) -> None:
    (cache / "lab").write_text("a file in the way")
    with pytest.raises(EnvironmentProblem, match="cannot keep a file: Not a directory"):
        store(TEXT)


def test_what_is_fetched_damaged_or_cut_short_is_not_kept(cache: Path) -> None:
    for wrong in (TEXT[::-1], TEXT[:1500]):
        with pytest.raises(EnvironmentProblem, match="instead of"):
            fetch_file(file_of(), cache, lambda offset, wrong=wrong: wrong[offset : offset + 1000])  # type: ignore[misc]
        assert not file_of().below(cache / FILES).exists()


def test_a_file_that_is_here_is_not_fetched_unless_it_is_damaged(cache: Path) -> None:
    store(TEXT)

    def refuse(offset: int) -> bytes:
        raise AssertionError(offset)

    fetch_file(file_of(), cache, refuse)
    file_of().below(cache / FILES).write_bytes(b"damaged")
    fetch_file(file_of(), cache, lambda offset: TEXT[offset : offset + 1000])
    assert file_of().below(cache / FILES).read_bytes() == TEXT


def test_what_was_used_least_recently_goes_first_and_nothing_of_today(cache: Path) -> None:
    now = 100 * DAY_S
    contents = [bytes([number]) * 100 for number in range(4)]
    for number, content in enumerate(contents):
        digest = hashlib.sha256(content).hexdigest()
        store(content, digest=digest)
        for path in (cache / FILES / digest / "content", cache / FILES / digest):
            os.utime(path, (now - (number + 0.5) * DAY_S,) * 2)
    folder, is_there = use_build({"bin/run": file_of()}, cache)
    assert not is_there
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "run").write_bytes(b"x" * 100)
    os.utime(folder, (now - 10 * DAY_S,) * 2)
    (folder.parent / "tmpx").mkdir()
    os.utime(folder.parent / "tmpx", (now - 2 * DAY_S,) * 2)

    assert prune_files(cache, 500, now=now) == (1, 0), "what was left half made"
    assert prune_files(cache, 350, now=now) == (2, 200)
    assert not folder.exists()
    left = [hashlib.sha256(content).hexdigest() for content in contents[:3]]
    assert sorted(path.name for path in (cache / FILES).iterdir()) == sorted(left)
    assert prune_files(cache, 0, now=now) == (2, 200), "the first was used today"
    assert prune_files(cache, 0, now=now) == (0, 0)


def test_what_is_being_copied_stays_as_it_is(cache: Path) -> None:
    store(TEXT)
    place = cache / FILES / DIGEST / "content"
    os.utime(place, (0, 0))
    before = place.stat()
    store(TEXT, "two")
    missing_files((DIGEST,))
    fetch_file(file_of(), cache, lambda offset: TEXT[offset : offset + 1000])
    after = place.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    assert place.parent.stat().st_mtime > time.time() - 60


def test_a_damaged_file_is_replaced(cache: Path) -> None:
    store(TEXT)
    (cache / FILES / DIGEST / "content").write_bytes(b"damaged")
    store(TEXT, "two")
    assert (cache / FILES / DIGEST / "content").read_bytes() == TEXT


def test_use_keeps_files_and_builds(cache: Path) -> None:
    store(TEXT)
    folder, _ = use_build({"run": file_of()}, cache)
    folder.mkdir(parents=True)
    for path in (cache / FILES / DIGEST / "content", cache / FILES / DIGEST, folder):
        os.utime(path, (0, 0))
    missing_files((DIGEST,))
    assert use_build({"run": file_of()}, cache) == (folder, True)
    assert prune_files(cache, 0) == (0, 0)
