"""Bookmarks of the remote of a Mercurial repository, as they were when it was last asked, and those that it had before.

A clone copies the bookmarks of its remote, and its copies neither follow nor vanish by themselves. So the remote is
asked for its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from harness.core.values import Value
from harness.files.atomic import write_atomically


class RemoteBookmarks(Value):
    """Bookmarks of a remote.

    Attributes:
        bookmarks: Hash by name.
        gone: Last hash of those that it had, and no longer has.
    """

    bookmarks: Mapping[str, str] = {}
    gone: Mapping[str, str] = {}

    def updated(self, bookmarks: Mapping[str, str]) -> RemoteBookmarks:
        """Return the bookmarks as they are now, with those that vanished."""
        before = {**self.gone, **self.bookmarks}
        gone = {name: node for name, node in before.items() if name not in bookmarks}
        return RemoteBookmarks(bookmarks=dict(bookmarks), gone=gone)


def read_remote_bookmarks(file: Path) -> RemoteBookmarks:
    """Read the bookmarks that were kept; none where the remote was never asked."""
    try:
        return RemoteBookmarks.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return RemoteBookmarks()


def keep_remote_bookmarks(file: Path, bookmarks: Mapping[str, str]) -> None:
    """Keep the bookmarks that the remote has now."""
    write_atomically(file, read_remote_bookmarks(file).updated(bookmarks).model_dump_json())
