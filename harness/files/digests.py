"""Digests of files, of folders and of named texts, as lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path


def md5_of_file(path: Path) -> str:
    """Return the MD5 of a file's content: distinguishes contents, but does not protect against forgery."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, read piecewise: it may be gigabytes."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def sha256_of_texts(texts: Mapping[str, str]) -> str:
    """Return a SHA-256 over names and values, in whatever order they come; the same in every locale."""
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        for part in (name.encode(errors="surrogateescape"), text.encode(errors="surrogateescape")):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def sha256_of_files(files: Mapping[str, Path]) -> str:
    """Return a SHA-256 over names and contents, the same wherever the files lie."""
    return sha256_of_texts({name: sha256_of_file(file) for name, file in files.items()})


def sha256_of_folder(folder: Path) -> str:
    """Return a SHA-256 over the relative names and contents of all files below a folder (see `files_below`)."""
    return sha256_of_files({file.relative_to(folder).as_posix(): file for file in files_below(folder)})


def files_below(folder: Path) -> Iterator[Path]:
    """Yield every file in a folder and below, without what Python compiles beside its sources."""
    for file in folder.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file
