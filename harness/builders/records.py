"""Keys and records of builds: what identifies a build, and what the cache keeps of it beside its programs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import JsonValue, TypeAdapter, ValidationError

from harness.core.build import CONTENT, Build, BuildInfo
from harness.core.errors import BuildFailed
from harness.core.values import Value
from harness.files.digests import files_below, sha256_of_files, sha256_of_texts
from harness.files.libraries import is_library
from harness.files.programs import RUNNER

META: Final = "meta.json"
_OPTIONS: Final = "options"
_PLACEHOLDER: Final = re.compile(r"\w[\w.+-]*")
"""Names of files; as placeholders such as `{libstdc++.so.6}` they would be odd, but programs may need the files."""
_META: Final = TypeAdapter(dict[str, JsonValue])


class BuildKey(Value):
    """Everything that determines a build.

    Attributes:
        source: Name of the source of the commit.
        commit: Id of the commit.
        recipe: Name of the recipe.
        recipe_digest: SHA-256 of the recipe.
        platform: Kind of device that it is for.
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
        """SHA-256 over all fields."""
        return sha256_of_texts({"key": json.dumps(self.model_dump(mode="json"), sort_keys=True)})


class BuildDetails(Value):
    """Facts about a build that are known once it was made.

    Attributes:
        options: Options that it was compiled with; those that its recipe recorded replace them.
        dependencies: Commits of the submodules that it was built from, by path.
    """

    options: dict[str, str] = {}
    dependencies: dict[str, str] = {}


class Record(Value):
    """Stored record of a build.

    Attributes:
        key: Everything that determined it.
        build: The build; paths of its programs are relative to the folder of the record.
        made: Time at which it was made, Unix seconds.
        seconds: Duration of the build.
        size_bytes: Size of all its files.
    """

    key: BuildKey
    build: Build
    made: float
    seconds: float
    size_bytes: int

    def resolve_paths(self, folder: Path) -> Build:
        """Return the build with absolute paths of its programs."""
        return self.build.model_copy(
            update={"programs": {name: folder / path for name, path in self.build.programs.items()}}
        )


def read_record(file: Path) -> Record | None:
    """Read a record; return None where there is none, or none that is valid.

    Raises:
        OSError: There may be one, but it cannot be accessed.
    """
    try:
        return Record.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def is_same_runner(first: Build, second: Build) -> bool:
    """Return whether two builds have the same programs, byte for byte, so that comparing them is pointless."""
    if CONTENT in first.flags and CONTENT in second.flags:
        return first.flags[CONTENT] == second.flags[CONTENT]
    return bool(first.digest) and first.digest == second.digest


def content_of(build: BuildInfo) -> str | None:
    """Return the SHA-256 over the programs of a build and what lies beside them; None where it is not known."""
    return build.flags.get(CONTENT)


def find_programs(folder: Path, title: str) -> dict[str, Path]:
    """Return the programs that a build wrote, by placeholder. The runner is made executable if it is not.

    Programs with odd names are left out; the others may need them.

    Args:
        folder: Folder that the build wrote to.
        title: Name of the build, for messages.

    Raises:
        BuildFailed: The runner is missing, or a link leads out of the folder.
    """
    runner = folder / RUNNER
    for link in _links_out_of(folder):
        raise BuildFailed(
            f"{title}: its recipe made {link.relative_to(folder)} a link to {link.readlink()}, which is not kept",
            hint="copy what the runner needs into the folder of the destination",
        )
    if not runner.is_file():
        raise BuildFailed(
            f"{title}: its recipe succeeded but wrote no runner",
            hint='it must write the program to its second argument: cp build/runner "$2"',
        )
    runner.chmod(runner.stat().st_mode | 0o500)
    files = [file for file in sorted(folder.iterdir()) if file.is_file()]
    executable = (file for file in files if os.access(file, os.X_OK) and _PLACEHOLDER.fullmatch(file.name))
    return {file.name: file for file in (*executable, *filter(is_library, files))}


def read_meta(folder: Path, title: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the entries of `meta.json`, which a recipe may write; and the options among them (`options`, an object).

    Texts stay as they are, anything else is JSON.

    Raises:
        BuildFailed: The file is not a JSON object, or its options are none.
    """
    file = folder / META
    if not file.is_file():
        return {}, {}
    try:
        entries = _META.validate_json(file.read_bytes())
    except ValidationError as error:
        raise BuildFailed(f"{title}: its recipe wrote a {META} that is not a JSON object: {error}") from error
    options = entries.pop(_OPTIONS, {})
    if not isinstance(options, dict):
        raise BuildFailed(f"{title}: its recipe wrote a {META} whose `{_OPTIONS}` is not an object")
    return (
        {name: _as_text(value) for name, value in entries.items()},
        {name: _as_switch(value) for name, value in options.items() if value is not None},
    )


def _as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _as_switch(value: JsonValue) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else _as_text(value)


def content_digest(folder: Path) -> str:
    """Return a SHA-256 over everything in a folder of programs but `meta.json`, which may hold the time of day."""
    files = (file for file in files_below(folder) if file != folder / META)
    return sha256_of_files({file.relative_to(folder).as_posix(): file for file in files})


def size_of(folder: Path) -> int:
    """Return the size in bytes of all files in a folder and below."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _links_out_of(folder: Path) -> Iterator[Path]:
    home = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and (path.readlink().is_absolute() or not path.resolve().is_relative_to(home)):
            yield path
