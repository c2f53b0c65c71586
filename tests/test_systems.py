"""Modules that not every system has are imported by the rooms that know, and nowhere else. Texts name their encoding.

mypy finds functions and constants that are missing on Windows and macOS (`make types`), but not these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[1]
POSIX_ONLY: Final = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
WINDOWS_ONLY: Final = {"_winapi", "msvcrt", "winreg"}
OWNERS: Final = {
    "harness/files/posix_locks.py": {"fcntl"},
    "harness/files/windows_locks.py": {"msvcrt"},
    "harness/shell/children.py": {"resource"},
    "harness/shell/guardian.py": {"fcntl"},
    "frameworks/exporting/writing.py": {"resource"},
}
"""Each imports it behind a check of the system."""
KERNEL: Final = (
    "platforms/host/",
    "platforms/android/",
    "frameworks/python_runner/",
    "harness/power/",
    "harness/probes/",
)
"""Rooms whose texts are ASCII of a Linux kernel."""
TEXTS: Final = {"read_text": 0, "write_text": 1}
"""Methods of `Path`, and the arguments before `encoding`."""


def product() -> Iterator[tuple[str, ast.AST]]:
    for folder in ("harness", "platforms", "frameworks", "reporters"):
        for file in (ROOT / folder).rglob("*.py"):
            name = file.relative_to(ROOT).as_posix()
            if not name.startswith("harness/testing/"):
                yield name, ast.parse(file.read_bytes())


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def guesses_encoding(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TEXTS
        and len(node.args) <= TEXTS[node.func.attr]
        and not any(keyword.arg in {"encoding", None} for keyword in node.keywords)
        for node in ast.walk(tree)
    )


def test_modules_of_single_systems_are_imported_by_their_owners_alone() -> None:
    found = {name: set(imports(tree)) & (POSIX_ONLY | WINDOWS_ONLY) for name, tree in product()}
    assert {name: modules for name, modules in found.items() if modules} == OWNERS


def test_texts_are_not_read_in_the_encoding_of_the_console() -> None:
    assert [name for name, tree in product() if guesses_encoding(tree) and not name.startswith(KERNEL)] == []
