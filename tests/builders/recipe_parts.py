"""Small real parts for the tests of recipes and of the build cache."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.builders.records import BuildKey
from harness.builders.toolchain import Toolchain
from harness.builders.workdirs import Workdir
from harness.core.commit import Commit
from harness.core.protocols import Task

ROOT = Path(__file__).parents[2]
OURS = ROOT / "specifications/frameworks"

TOOLS = Toolchain(machine="Linux x86_64", tools={"c++": "/usr/bin/c++ (c++ 12)"})


def key_of(commit: str, **changes: str) -> BuildKey:
    return BuildKey(
        **{
            "source": "git:/src/thing",
            "commit": commit,
            "recipe": "thing/host",
            "recipe_digest": "0" * 64,
            "platform": "host",
            "machine": "Linux x86_64",
            "toolchain": "1" * 64,
            **changes,
        }
    )


def writes(content: str, size: int = 0) -> Callable[[Workdir, Task], None]:
    """Return a build step that writes a runner that prints the content."""

    def make(workdir: Workdir, _: Task) -> None:
        write_program(workdir.program, f"#!/bin/sh\necho {content}\n" + "#" * size)

    return make


def write_program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def write_recipe(folder: Path, name: str, lines: str) -> Path:
    script = folder / name / "build.sh"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(lines)
    return script


class Folder:
    """Source whose only commit is the current content of a folder."""

    name = "folder"
    newest = "now"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.materialised: list[Path] = []

    def fetch(self) -> None:
        pass

    def resolve(self, name: str) -> Commit:
        return Commit(source="folder", id=name, time=1)

    def between(self, older: Commit, newer: Commit) -> Sequence[Commit]:
        return [newer]

    def materialise(self, commit: Commit, folder: Path) -> None:
        self.materialised.append(folder)
        shutil.copytree(self._folder, folder, dirs_exist_ok=True, symlinks=True)
