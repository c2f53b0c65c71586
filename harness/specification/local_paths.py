"""Local paths of a specification: relative ones start from its folder, those with `//` from the model folder."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote


def local_path(written: str, folder: Path, root: Path | None) -> tuple[str | None, str | None, str | None]:
    """Return the absolute path of a local file or folder, or the fault of what is written and a hint."""
    if "\0" in written:
        return None, "contains a NUL byte", "remove it"
    if written.startswith("file:///"):
        return unquote(written.removeprefix("file://")), None, None
    if "://" in written:
        return None, "has an unsupported scheme", "use https://, file:///path or a path"
    if not written.startswith("//"):
        return os.path.normpath(Path(os.path.realpath(folder)) / written), None, None
    if root is None:
        return None, "is relative to the model folder, which is not set", "set it with --root-model-dir"
    return os.path.normpath(Path(os.path.realpath(root)) / written.lstrip("/")), None, None
