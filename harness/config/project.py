"""Defaults of a project: `harness.toml`, or the table `tool.edge-harness` of a `pyproject.toml`.

The file of the working folder counts, or the nearest one above it up to the root of the repository. It is only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.config.options import OptionTable
from harness.core.errors import UsageError
from harness.core.placeholders import suggest
from harness.files.reading import read_bounded

FILE: Final = "harness.toml"
_PYPROJECT: Final = "pyproject.toml"
_TABLE: Final = "edge-harness"
_MISSPELT: Final = "edge_harness"
_ROOTS: Final = (".git", ".hg")
"""Entries of the root of a repository."""


class ProjectDefaults(Struct, frozen=True):
    """Defaults of a project.

    Attributes:
        file: Where they stand.
        values: Values by key; relative paths are below the folder of the file.
        text: Content of the file.
        mistakes: Mistakes by key: no option is called so, or one of a single run. These keys have no values.
        keys: All keys, in the order of the file.
    """

    file: Path
    values: Mapping[str, object]
    text: str
    mistakes: Mapping[str, UsageError]
    keys: tuple[str, ...]

    def place(self, key: str) -> str:
        """Return the file and the line of a key, for messages."""
        return _place(self.file, self.text, key)


def read_project(folder: Path, table: OptionTable) -> ProjectDefaults | None:
    """Read the defaults of the project that a folder belongs to; None where it has none.

    Raises:
        UsageError: The file is damaged.
    """
    for place in _folders(folder):
        if (place / FILE).is_file():
            text, values = _read(place / FILE)
            return _check(place / FILE, values, text, table)
        pyproject = place / _PYPROJECT
        if pyproject.is_file() and _mentions_table(pyproject):
            text, content = _read(pyproject)
            tool = content.get("tool")
            tables = tool if isinstance(tool, dict) else {}
            if _MISSPELT in tables:
                place_of_table = _place(pyproject, text, _MISSPELT)
                raise UsageError(f"{place_of_table}: no table tool.{_MISSPELT}", hint=f"write [tool.{_TABLE}]")
            if (ours := tables.get(_TABLE)) is not None:
                return _check(pyproject, ours, text, table)
    return None


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the folder and those above it up to the root of its repository; it alone where it is in none."""
    above = (folder, *folder.parents)
    roots = [number for number, place in enumerate(above) if any((place / name).exists() for name in _ROOTS)]
    yield from above[: roots[0] + 1 if roots else 1]


def _mentions_table(pyproject: Path) -> bool:
    """Return whether a file may have our table; one that cannot be read is not about us.

    Projects of plug-ins name groups of entry points: `edge_harness.platforms` alone is no table.
    """
    try:
        content = read_bounded(pyproject)
    except OSError:
        return False
    return _TABLE.encode() in content or f"tool.{_MISSPELT}".encode() in content


def _read(file: Path) -> tuple[str, dict[str, object]]:
    import tomllib  # noqa: PLC0415 - most folders have no such file

    try:
        text = read_bounded(file).decode()
        return text, tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}", hint="mend it: it is a file of TOML, as in `timeout = 60`") from error


def _check(file: Path, values: object, text: str, table: OptionTable) -> ProjectDefaults:
    if not isinstance(values, dict):
        raise UsageError(f"{file}: tool.{_TABLE} is no table", hint=f"as in [tool.{_TABLE}], then timeout = 60")
    absolute: dict[str, object] = {}
    mistakes: dict[str, UsageError] = {}
    for key, value in values.items():
        option = table.find(key)
        if option is None:
            if (flag := _find_flag(key)) is not None:
                problem = f"{_place(file, text, key)}: `{key}` belongs on the command line"
                mistakes[key] = UsageError(problem, hint=f"remove it, and give {flag} to the commands that take it")
                continue
            hint = _explain_heading(file, key, value) or suggest(key.replace("-", "_"), table.keys)
            hint = hint or "`harness run --help` lists every option"
            mistakes[key] = UsageError(f"{_place(file, text, key)}: no setting `{key}`", hint=hint)
            continue
        if not option.option.saved:
            problem = f"{_place(file, text, key)}: `{key}` belongs on the command line"
            mistakes[key] = UsageError(problem, hint="remove it")
            continue
        absolute[key] = _resolve_paths(value, file.parent) if option.bare_type is Path else value
        if option.name == "program":
            absolute[key] = _resolve_programs(value, file.parent)
    return ProjectDefaults(file, absolute, text, mistakes, tuple(values))


def _explain_heading(file: Path, key: str, value: object) -> str | None:
    """Return what to do about a heading where keys are meant to stand; None where it is none."""
    if not isinstance(value, dict):
        return None
    top = "at the top, without a heading" if file.name == FILE else f"below [tool.{_TABLE}]"
    return f"`{key}` is a heading: write its settings {top}"


def _find_flag(key: str) -> str | None:
    from harness.config.flags import find_flag_without_default  # noqa: PLC0415 - most folders have no such file

    return find_flag_without_default(key)


def _resolve_paths(value: object, folder: Path) -> object:
    return str(folder / Path(value).expanduser()) if isinstance(value, str) and value else value


def _resolve_programs(value: object, folder: Path) -> object:
    """Return programs as a table of paths, or as the words of a command line, with paths below the folder."""
    if isinstance(value, dict):
        return [f"{name}={_resolve_paths(path, folder)}" for name, path in value.items()]
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list):
        return value
    parts = (str(word).rpartition("=") for word in words)
    return [f"{name}{equals}{_resolve_paths(path, folder)}" for name, equals, path in parts]


def _place(file: Path, text: str, key: str) -> str:
    pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
    header = re.compile(rf"\s*\[.*\b{re.escape(key)}\]")
    for number, line in enumerate(text.splitlines(), start=1):
        if pattern.match(line) or header.match(line):
            return f"{file}:{number}"
    return str(file)
