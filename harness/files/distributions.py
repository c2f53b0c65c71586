"""Installed distributions: their versions and entry points, read once.

The files are read again when a folder of the search path changes: a process that lives long sees `pip install`.
"""

from __future__ import annotations

import functools
import os
import sys
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:  # only one of them exists in each version of Python
    from importlib.metadata import EntryPoints, SelectableGroups

_SearchPath: TypeAlias = tuple[tuple[str, int], ...]


def find_version(distribution: str) -> str | None:
    """Return the version of an installed distribution; None where it is not installed."""
    return _read_version(distribution, _search_path())


def find_entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return every installed entry point of a group."""
    return _select_entry_points(group, _search_path())


def _search_path() -> _SearchPath:
    """Return the folders in which distributions are looked for, with the time of their last change."""
    return tuple((folder, _changed_ns(folder)) for folder in sys.path)


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder or os.curdir).st_mtime_ns  # noqa: PTH116 - each plug-in asks, and a path takes longer
    except OSError:
        return 0


@functools.lru_cache(maxsize=256)
def _read_version(distribution: str, _path: _SearchPath) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@functools.lru_cache(maxsize=256)
def _select_entry_points(group: str, path: _SearchPath) -> tuple[EntryPoint, ...]:
    """Select those of a group, once: each selection looks at all of them."""
    return tuple(_read_entry_points(path).select(group=group))


@functools.lru_cache(maxsize=4)
def _read_entry_points(_path: _SearchPath) -> SelectableGroups | EntryPoints:
    """Read the entry points of every distribution: those of one group take as long."""
    return metadata.entry_points()
