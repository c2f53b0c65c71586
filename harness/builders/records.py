"""What identifies a build, and what is kept of it beside its programs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.core.values import Value
from harness.files.digests import files_below, sha256_of_files, sha256_of_texts

RUNNER: Final = "program"
META: Final = "meta.json"
CONTENT: Final = "programs_sha256"
"""Flag of a build: SHA-256 over its programs and everything that lies beside them."""

_PLACEHOLDER: Final = re.compile(r"\w[\w.]*")
_META: Final = TypeAdapter(dict[str, JsonValue])


class BuildKey(Value):
    """Everything that determines a build.

    Attributes:
        source: Where the commit is from.
        commit: Which commit, by its immutable identity.
        recipe: Name of the recipe.
        recipe_digest: SHA-256 of the recipe.
        platform: For which kind of device.
        machine: System and processor of the machine that builds.
        toolchain: SHA-256 of the toolchain.
        options: Anything else, such as the machine architecture (`abi`) that it was built for.
    """

    source: str
    commit: str
    recipe: str
    recipe_digest: str
    platform: str
    machine: str
    toolchain: str
    options: dict[str, str] = {}

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return sha256_of_texts({"key": json.dumps(self.model_dump(mode="json"), sort_keys=True)})


class Record(Value):
    """One build as it is kept.

    Attributes:
        key: What determined it.
        build: The build; its programs are named relative to the folder of the record.
        made: When it was made, Unix seconds.
        seconds: How long that took.
        size_bytes: Size of all its files.
    """

    key: BuildKey
    build: Build
    made: float
    seconds: float
    size_bytes: int

    def located(self, folder: Path) -> Build:
        """The build with its programs where they are."""
        return self.build.model_copy(
            update={"programs": {name: folder / path for name, path in self.build.programs.items()}}
        )


def read_record(file: Path) -> Record | None:
    """A record, or None where there is none that can be read.

    Raises:
        OSError: There may be one, but it cannot be looked at.
    """
    try:
        return Record.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def same_runner(one: Build, other: Build) -> bool:
    """Whether two builds have the same programs, byte for byte, so that comparing them compares nothing."""
    if CONTENT in one.flags and CONTENT in other.flags:
        return one.flags[CONTENT] == other.flags[CONTENT]
    return bool(one.digest) and one.digest == other.digest


def find_programs(folder: Path, what: str) -> dict[str, Path]:
    """The programs that a build wrote, by placeholder. The runner is made executable if it is not.

    Programs whose names cannot be placeholders stay where they are, for the use of those that can.

    Args:
        folder: The folder that the build wrote to.
        what: What was built, for messages.

    Raises:
        BuildFailed: The runner is missing, or something is a link to what will not be there.
    """
    runner = folder / RUNNER
    for link in _links_out_of(folder):
        raise BuildFailed(
            f"{what}: its recipe made {link.relative_to(folder)} a link to {link.readlink()}, which is not kept",
            hint="copy what the runner needs into the folder of the destination",
        )
    if not runner.is_file():
        raise BuildFailed(
            f"{what}: its recipe ended well and wrote no runner",
            hint='it must write the program to its second argument: cp build/runner "$2"',
        )
    runner.chmod(runner.stat().st_mode | 0o500)
    files = (file for file in sorted(folder.iterdir()) if file.is_file() and os.access(file, os.X_OK))
    return {file.name: file for file in files if _PLACEHOLDER.fullmatch(file.name)}


def read_meta(folder: Path, what: str) -> dict[str, str]:
    """What the recipe says about its build; texts as they are, anything else as JSON.

    Raises:
        BuildFailed: The file is no JSON object.
    """
    file = folder / META
    if not file.is_file():
        return {}
    try:
        said = _META.validate_json(file.read_bytes())
    except ValidationError as error:
        raise BuildFailed(f"{what}: its recipe wrote a {META} that is not a JSON object: {error}") from error
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()}


def content_of(folder: Path) -> str:
    """SHA-256 over everything in a folder of programs but `meta.json`, which may tell the time of day."""
    files = (file for file in files_below(folder) if file != folder / META)
    return sha256_of_files({str(file.relative_to(folder)): file for file in files})


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder and below."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _links_out_of(folder: Path) -> Iterator[Path]:
    home = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and (path.readlink().is_absolute() or not path.resolve().is_relative_to(home)):
            yield path
