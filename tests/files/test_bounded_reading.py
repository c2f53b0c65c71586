"""Files that somebody else named: read whole and bounded, never waited for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from harness.files.reading import read_bounded


def test_a_regular_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1000)
    assert read_bounded(tmp_path / "file", 1000) == b"x" * 1000
    with pytest.raises(OSError, match="larger than") as refused:
        read_bounded(tmp_path / "file", 999)
    assert (refused.value.errno, refused.value.filename) == (errno.EFBIG, str(tmp_path / "file"))


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "linked").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path / "linked", Path("/dev/stdin")):
        with pytest.raises(OSError, match=r"not a regular file|No such device"):
            read_bounded(path)
    with pytest.raises(IsADirectoryError):
        read_bounded(tmp_path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "nothing")
