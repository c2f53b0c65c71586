"""Shared libraries, and programs that need files beside themselves: a copy of such a program alone is another one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from harness.files.binaries import find_matches, find_texts, starts_with

_LIBRARY: Final = re.compile(r"[\w.+-]+\.(?:so(?:\.\d+)*|dylib)")
_SCRIPT: Final = b"#!"
_OWN_FOLDER: Final = (b"$ORIGIN", b"${ORIGIN}", b"@loader_path", b"@executable_path", b"@rpath")
"""Names of a program's own folder in its search path for libraries (ld.so(8), dyld(1))."""
_SEARCHED: Final = re.compile(rb"(?:\$ORIGIN|\$\{ORIGIN\}|@loader_path|@executable_path)([\w./+-]*)")


def is_library(program: Path) -> bool:
    """Return whether a file is a shared library by its name: it is loaded, and needs no right to be executed."""
    return _LIBRARY.fullmatch(program.name) is not None


def explain_place(program: Path) -> str:
    """Return why a program has to be used where it is, as the predicate of a sentence; empty where nothing says so."""
    if starts_with(program, _SCRIPT):
        return "is a script, which may read files beside itself"
    return "looks for libraries relative to itself" if find_texts(program, _OWN_FOLDER) else ""


def find_libraries(program: Path) -> dict[str, Path]:
    """Return the libraries in the folders in which a program looks for them relative to itself, by relative name.

    What it loads in the end is known to the system's loader alone; these are all that it could find there.
    """
    if starts_with(program, _SCRIPT):
        return {}
    found: dict[str, Path] = {}
    for suffix in sorted({suffix.decode().strip("/") for suffix in find_matches(program, _SEARCHED)}):
        place = program.parent / suffix
        folder = place.parent if is_library(place) else place
        if folder.is_dir():
            found |= {f"{suffix}/{file.name}": file for file in folder.iterdir() if is_library(file) and file.is_file()}
    return found
