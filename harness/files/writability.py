"""Checks that a place can be written, by writing there: permissions alone do not show a full or read-only disk."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from harness.files.drafts import open_draft

_PROBE: Final = bytes(4096)
"""A block of most file systems: a file without content fits on a full disk."""


def check_writable_folder(folder: Path) -> None:
    """Make a folder where it is missing, write a file into it, and remove that again.

    Raises:
        OSError: The folder cannot be made or written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open_draft(folder) as draft:
        draft.write_bytes(_PROBE)
