"""Writing a file in one step: whoever looks sees the old content or the new, also after a crash."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.files.drafts import open_draft, sweep_drafts


def write_atomically(path: Path, content: str | bytes, *, durable: bool = False, mode: int = 0o666) -> None:
    """Write a file, whole or not at all, in place of one that may be there. Its folder is made when needed.

    Args:
        path: The file. A symbolic link is replaced, not followed.
        content: Text is encoded as UTF-8, with line ends as they are.
        durable: Return only when content and name are on the disk: after a power failure too, the file is there.
        mode: Permissions of the file, from which the umask takes away: 0o600 for secrets, 0o777 for programs.

    Raises:
        OSError: It cannot be written; then what was there before is still there.
    """
    data = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, durable=durable) as draft:
        draft.touch(mode, exist_ok=False)
        draft.write_bytes(data)


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Give a hidden name beside a file; what is there at the end replaces the file in one step.

    When the context ends with an error, the draft is removed and the file stays as it was. Drafts of killed processes
    are removed when a process first replaces a file in their folder.

    Args:
        path: The file, in a folder that exists.
        durable: As for `write_atomically`.

    Raises:
        OSError: The file cannot be replaced.
    """
    _sweep_once(path.parent)
    with open_draft(path.parent) as draft:
        yield draft
        if durable:
            sync(draft)
        draft.replace(path)
    if durable:
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Windows opens no folders, and flushes only what may be written: there, nothing waits for names.

    Raises:
        OSError: There is no such file, or the disk refuses.
    """
    opens_folders = hasattr(os, "O_DIRECTORY")
    if not opens_folders and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if opens_folders else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _sweep_once(folder: Path) -> None:
    sweep_drafts(folder)
