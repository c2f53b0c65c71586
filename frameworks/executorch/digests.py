"""SHA-256 of what determines a runner or a program."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path


def of_file(file: Path) -> str:
    """Digest of one file, read piecewise: it may be a checkpoint of gigabytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def of_files(files: Mapping[str, Path]) -> str:
    """Digest over names and contents, the same wherever the files lie."""
    return of_texts({name: of_file(file) for name, file in files.items()})


def of_folder(folder: Path) -> str:
    """Digest over the files of a folder, without those of folders in it."""
    return of_files({file.name: file for file in folder.iterdir() if file.is_file()})


def of_texts(texts: Mapping[str, str]) -> str:
    """Digest over names and values, in whatever order they come."""
    return hashlib.sha256("\0".join(f"{name}={text}" for name, text in sorted(texts.items())).encode()).hexdigest()
