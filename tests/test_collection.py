"""Every test module that exists is collected, and no folder has a name that tools skip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("harness", "platforms", "frameworks", "reporters", "specifications", "tests")
RESERVED = frozenset({"build", "dist", "env", "node_modules", "spec", "target", "venv", "CVS", "_darcs", "wheels"})
"""Names of folders that pytest, setuptools, git-ignore templates or packagers pass over."""


@pytest.mark.slow
def test_every_test_module_is_collected_and_every_test_is_named_alike_each_time(
    request: pytest.FixtureRequest,
) -> None:
    """A name with a time or an address in it would be another one in the next process, and end a parallel run."""
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests")
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    collected = {line for line in listing.splitlines() if line.startswith("tests/")}
    existing = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert existing - {line.split(":")[0] for line in collected} == set()
    groups = {item: mark.args[0] for item in request.session.items for mark in item.iter_markers("xdist_group")}
    ours = {item.nodeid.removesuffix(f"@{groups.get(item)}") for item in request.session.items}
    assert ours - collected == set()


@pytest.mark.parametrize("room", ROOMS)
def test_no_folder_has_a_name_that_tools_skip(room: str) -> None:
    folders = {path.parent for path in (ROOT / room).rglob("*.py")}
    parts = {part for folder in folders for part in folder.relative_to(ROOT).parts}
    assert parts & RESERVED == set()
