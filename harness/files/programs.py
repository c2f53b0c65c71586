"""Programs that the user gives, as a build."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.files.digests import sha256_of_file, sha256_of_texts

PREBUILT: Final = "prebuilt"
"""Source and recipe of such a build."""

RUNNER: Final = "program"
"""Placeholder of the runner."""


_LIBRARY: Final = re.compile(r"[\w.+-]+\.(?:so(?:\.\d+)*|dylib)")


def is_library(program: Path) -> bool:
    """Return whether a file is a shared library by its name: it is loaded, and needs no right to be executed."""
    return _LIBRARY.fullmatch(program.name) is not None


def prebuilt(programs: Mapping[str, Path]) -> Build:
    """Return the given programs as a build, used where they are.

    Its flags are the SHA-256 of each program, and its commit begins that of the runner, or of all where none is one.

    Args:
        programs: Path of each by placeholder, at least one.

    Raises:
        BuildFailed: One is missing or cannot be read.
    """
    flags = {name: _digest(name, path) for name, path in sorted(programs.items())}
    digest = sha256_of_texts(flags)
    return Build(
        source=PREBUILT,
        commit=flags.get(RUNNER, digest)[:12],
        recipe=PREBUILT,
        flags=flags,
        digest=digest,
        programs={name: path.absolute() for name, path in programs.items()},
    )


def _digest(name: str, path: Path) -> str:
    hint = f"give the path of a file: --program {name}=PATH"
    if not path.is_file():
        raise BuildFailed(f"program `{name}`: there is no file {path}", hint=hint)
    try:
        return sha256_of_file(path)
    except OSError as error:
        raise BuildFailed(f"program `{name}`: {path} cannot be read: {error.strerror}", hint=hint) from error
