"""A folder that cannot be read, also for tests that root runs, who may read every folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest


def forbid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the content of a folder be listed by nobody."""
    scan = os.scandir

    def refuse(path: str | os.PathLike[str] = ".") -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
        if Path(path) == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
