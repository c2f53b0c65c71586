"""Compilers and sanitizers that programs and libraries name in their bytes: of any format and architecture."""

from __future__ import annotations

import mmap
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_COMPILED: Final = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""Beginnings of ELF and Mach-O files, and of Mach-O files for several architectures."""

_COMPILERS: Final = {
    "Clang": re.compile(rb"clang version (\d+\.\d+\.\d+)"),
    "GCC": re.compile(rb"GCC: \([^)\0]{1,80}\) (\d+\.\d+\.\d+)"),
}
"""What GCC and Clang write into the section `.comment` (`-fident`), which `strip` keeps."""

_SANITIZERS: Final = {
    "address": b"__asan_init",
    "hwaddress": b"__hwasan_init",
    "memory": b"__msan_init",
    "thread": b"__tsan_init",
    "undefined": b"__ubsan_handle_",
}
"""A function that every program of a sanitizer calls (compiler-rt, `lib/*/`)."""


def find_texts(file: Path, texts: Sequence[bytes]) -> frozenset[bytes]:
    """Return those texts that are in the bytes of a file; none where it cannot be read."""
    content = _map(file)
    if content is None:
        return frozenset()
    with content:
        return frozenset(text for text in texts if content.find(text) >= 0)


def find_matches(file: Path, pattern: re.Pattern[bytes]) -> list[bytes]:
    """Return what the group of a pattern matches in the bytes of a file, each once; nothing where it cannot be read."""
    content = _map(file)
    if content is None:
        return []
    with content:
        return list(dict.fromkeys(match[1] for match in pattern.finditer(content)))


def starts_with(file: Path, text: bytes) -> bool:
    """Return whether a file begins with a text; not where it cannot be read."""
    content = _map(file)
    if content is None:
        return False
    with content:
        return content[: len(text)] == text


def find_compiler(file: Path) -> str | None:
    """Return `GCC 13.3.1` or `Clang 17.0.2`; None where a file is no compiled program, or does not say.

    The linker keeps what every object says, and the system's own, which are in every program, are by an older GCC: so a
    Clang counts before a GCC, and the newest of either.
    """
    content = _map(file)
    if content is None:
        return None
    with content:
        if not content[:4].startswith(_COMPILED):
            return None
        for name, pattern in _COMPILERS.items():
            if versions := {tuple(map(int, version.split(b"."))) for version in pattern.findall(content)}:
                return f"{name} {'.'.join(map(str, max(versions)))}"
    return None


def find_sanitizers(file: Path) -> str:
    """Return the sanitizers that a file was compiled with, separated by commas; `none` without one."""
    present = find_texts(file, tuple(_SANITIZERS.values()))
    return ",".join(name for name, function in _SANITIZERS.items() if function in present) or "none"


def _map(file: Path) -> mmap.mmap | None:
    try:
        with file.open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return None
