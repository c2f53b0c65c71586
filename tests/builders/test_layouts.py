"""Links in other layouts: the program that permutes a link, builds with layouts, and their selection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import specifications
from harness.core.build import Build
from harness.core.errors import BuildFailed
from harness.files.programs import select_layout

PERMUTE_LINK = Path(specifications.__path__[0], "frameworks", "permute_link.py")
SHOW = "import sys; [print(open(word).read() if word.endswith('.s') else word) for word in sys.argv[1:]]"
OBJECTS = [f"{letter}.o" for letter in "abcdefgh"]


def link(seed: int, *words: str) -> list[str]:
    """Return what a linker is given, which shows the content of assembler files."""
    argv = [sys.executable, str(PERMUTE_LINK), str(seed), sys.executable, "-c", SHOW, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def test_objects_are_permuted_by_the_seed_and_nothing_else() -> None:
    words = ["-O2", *OBJECTS, "-o", "out.o", "libx.a", "-lm"]
    first, again, other = link(1, *words), link(1, *words), link(2, *words)
    assert first == again != other
    kept = [line for line in first if line in words]
    assert sorted(kept) == sorted(words)
    assert [word for word in kept if word not in OBJECTS] == ["-O2", "-o", "out.o", "libx.a", "-lm"]
    assert [word for word in kept if word in OBJECTS] != OBJECTS


def test_each_object_is_moved_by_multiples_of_its_alignment() -> None:
    skipped = [int(line.split()[1]) for line in link(3, *OBJECTS) if line.startswith(".skip")]
    assert len(skipped) == 4 * len(OBJECTS)
    assert len(set(skipped)) > 8
    assert all(size % 16 == 0 and size < 2048 for size in skipped)


def test_the_exit_code_of_the_linker_is_kept() -> None:
    argv = [sys.executable, str(PERMUTE_LINK), "1", sys.executable, "-c", "import sys; sys.exit(7)"]
    assert subprocess.run(argv, check=False).returncode == 7


def test_a_layout_is_a_build_of_its_own() -> None:
    programs = {name: Path("/b", name) for name in ("program", "layout1", "layout2", "helper")}
    build = Build(source="git", commit="1", digest="d", programs=programs)
    ordinary, second = select_layout(build, 0), select_layout(build, 2)
    assert ordinary.programs == {"program": Path("/b/program"), "helper": Path("/b/helper")}
    assert second.programs == {"program": Path("/b/layout2"), "helper": Path("/b/helper")}
    assert len({ordinary.digest, second.digest, select_layout(build, 1).digest}) == 3
    with pytest.raises(BuildFailed, match="no layout 3"):
        select_layout(build, 3)
