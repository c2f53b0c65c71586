"""Programs that the user gives, as a build."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.core.build import PREBUILT, Build
from harness.core.errors import BuildFailed
from harness.files.digests import sha256_of_file, sha256_of_files, sha256_of_texts
from harness.files.libraries import find_libraries

RUNNER: Final = "program"
"""Placeholder of the runner."""

LAYOUTS: Final = 9
"""Largest number of further layouts of a runner: their names have one digit, and so the length of the runner's."""

_LIBRARIES: Final = "libraries_sha256"
"""Flag of programs that look for libraries relative to themselves: SHA-256 over all that they could find so."""


def layout_name(number: int) -> str:
    """Return the name of the runner in another layout: as long as that of the runner, whose stack it thus has."""
    return f"layout{number}"


def select_layout(build: Build, number: int) -> Build:
    """Return the build with its runner in one of its layouts: 0 is the ordinary one.

    Raises:
        BuildFailed: It has no such layout.
    """
    others = {layout_name(other) for other in range(1, LAYOUTS + 1)}
    programs = {name: path for name, path in build.programs.items() if name not in others}
    if number == 0:
        return build.model_copy(update={"programs": programs})
    if (program := build.programs.get(layout_name(number))) is None:
        raise BuildFailed(f"the recipe {build.recipe} linked no layout {number}", hint="see its log")
    return build.model_copy(
        update={
            "programs": {**programs, RUNNER: program},
            "digest": sha256_of_texts({"build": build.digest, "layout": str(number)}),
            "flags": {**build.flags, "layout": str(number)},
        }
    )


def prebuilt(programs: Mapping[str, Path]) -> Build:
    """Return the given programs as a build, used where they are.

    Its flags are the SHA-256 of each program, and of the libraries that they could find relative to themselves. Its
    commit begins that of the runner, or of all where none is one or libraries belong to it.

    Args:
        programs: Path of each by placeholder, at least one.

    Raises:
        BuildFailed: One is missing or cannot be read.
    """
    flags = {name: _digest(name, path) for name, path in sorted(programs.items())}
    libraries = {f"{name}/{at}": file for name, path in programs.items() for at, file in find_libraries(path).items()}
    flags |= {_LIBRARIES: sha256_of_files(libraries)} if libraries else {}
    digest = sha256_of_texts(flags)
    return Build(
        source=PREBUILT,
        commit=(digest if libraries else flags.get(RUNNER, digest))[:12],
        recipe=PREBUILT,
        flags=flags,
        digest=digest,
        commit_name=programs[RUNNER].name if RUNNER in programs else "",
        programs={name: path.absolute() for name, path in programs.items()},
    )


def distinguish(control: Path, treatment: Path) -> tuple[str, str]:
    """Return names for two programs: their file names, with as many folders as tell them apart (`old/run`, `new/run`).

    Paths that differ in nothing have the same name.
    """
    paths = [Path(os.path.normpath(path.absolute())) for path in (control, treatment)]
    for count in range(1, min(len(path.parts) for path in paths)):
        first, second = (str(Path(*path.parts[-count:])) for path in paths)
        if first != second:
            return first, second
    return str(paths[0]), str(paths[1])


def _digest(name: str, path: Path) -> str:
    hint = f"give the path of a file: --program {name}=PATH"
    if not path.is_file():
        raise BuildFailed(f"program `{name}`: there is no file {path}", hint=hint)
    try:
        return sha256_of_file(path)
    except OSError as error:
        raise BuildFailed(f"program `{name}`: {path} cannot be read: {error.strerror}", hint=hint) from error
