"""Compilers and sanitizers in the bytes of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.files.binaries import find_compiler, find_sanitizers, find_texts

ELF = b"\x7fELF" + bytes(60)


def program(folder: Path, *parts: bytes, beginning: bytes = ELF) -> Path:
    path = folder / "program"
    path.write_bytes(beginning + b"\0".join(parts) + b"\0")
    return path


@pytest.mark.parametrize(
    ("parts", "compiler"),
    [
        ((b"GCC: (Debian 12.2.0-14+deb12u1) 12.2.0",), "GCC 12.2.0"),
        ((b"GCC: (GNU) 8.5.0 20210514 (Red Hat 8.5.0-28)", b"GCC: (GNU) 13.3.1 20240611"), "GCC 13.3.1"),
        ((b"GCC: (Debian 12.2.0-14) 12.2.0", b"Debian clang version 16.0.6 (15~deb12u1)"), "Clang 16.0.6"),
        ((b"nothing",), None),
    ],
)
def test_the_compiler_of_a_program_is_the_newest_that_it_names(
    tmp_path: Path, parts: tuple[bytes, ...], compiler: str | None
) -> None:
    assert find_compiler(program(tmp_path, *parts)) == compiler


def test_a_script_that_mentions_a_compiler_was_compiled_by_none(tmp_path: Path) -> None:
    assert find_compiler(program(tmp_path, b"GCC: (Debian) 12.2.0", beginning=b"#!/bin/sh\n")) is None


def test_sanitizers_are_named_by_their_functions(tmp_path: Path) -> None:
    assert find_sanitizers(program(tmp_path, b"__tsan_init", b"__ubsan_handle_add_overflow")) == "thread,undefined"
    assert find_sanitizers(program(tmp_path, b"main")) == "none"


def test_files_that_cannot_be_read_hold_nothing(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for file in (empty, tmp_path / "absent"):
        assert (find_compiler(file), find_texts(file, [b"x"])) == (None, frozenset())
