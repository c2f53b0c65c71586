"""SHA-256 of what determines a build, and of what a build is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path


def of_file(file: Path) -> str:
    """Digest of one file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def of_texts(texts: Mapping[str, str]) -> str:
    """Digest over names and values, in whatever order they come."""
    whole = hashlib.sha256()
    for name, text in sorted(texts.items()):
        for part in (os.fsencode(name), os.fsencode(text)):
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def of_folder(folder: Path) -> str:
    """Digest over the names and contents of every file in a folder and below, wherever the folder lies."""
    return of_texts({str(file.relative_to(folder)): of_file(file) for file in files_below(folder)})


def files_below(folder: Path) -> Iterator[Path]:
    """Every file in a folder and below, without what Python compiles beside its sources."""
    for file in folder.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file
