"""The recipe for any CMake project, with real projects and the real compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import shell
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.builders.records import is_same_runner
from harness.core.build import Build
from harness.core.command import Command
from harness.core.commit import Commit
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, Folder

pytestmark = pytest.mark.slow

CMAKELISTS = "cmake_minimum_required(VERSION 3.19)\nproject(thing LANGUAGES CXX)\n"


class Project:
    """Small C++ project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a project"
        self.cache = BuildCache(folder / "cache")
        self.folder.mkdir()

    def write(self, *programs: str, text: str = "hello", more: str = "") -> None:
        lines = [f"add_executable({name} {name}.cpp)\n" for name in programs]
        (self.folder / "CMakeLists.txt").write_text(CMAKELISTS + "".join(lines))
        for name in programs:
            source = (
                f'#include <cassert>\n#include <cstdio>\nint main() {{ assert(1); std::puts("{text}"); }}\n{more}\n'
            )
            (self.folder / f"{name}.cpp").write_text(source)

    def build(self, commit: str, layouts: int = 0) -> Build:
        return build_commit(
            Folder(self.folder),
            Commit(source="folder", id=commit),
            find_recipe("generic", "host", [OURS]),
            platform="host",
            cache=self.cache,
            progress=RecordedProgress(),
            layouts=layouts,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def says(program: Path) -> str:
    return shell.run(Command((str(program),))).stdout


def test_the_only_executable_is_the_runner(project: Project) -> None:
    project.write("whatever")
    build = project.build("c1")
    assert set(build.programs) == {"program"}
    assert says(build.programs["program"]) == "hello\n"
    assert {"c++", "cmake", "machine"} <= set(build.flags)


def test_an_executable_named_runner_is_the_runner_and_others_are_kept(project: Project) -> None:
    project.write("runner", "convert")
    build = project.build("c1")
    assert set(build.programs) == {"program", "convert"}
    assert says(build.programs["convert"]) == "hello\n"


def test_several_executables_without_a_runner_are_reported(project: Project) -> None:
    project.write("one", "other")
    with pytest.raises(BuildFailed, match="makes 2 executables and none is named runner"):
        project.build("c1")


def test_a_compiler_error_is_quoted(project: Project) -> None:
    project.write("runner", more="int broken( {")
    with pytest.raises(BuildFailed, match=r"runner\.cpp:4") as caught:
        project.build("c1")
    assert "the whole log is" in (caught.value.hint or "")


def test_commits_that_differ_in_a_comment_have_the_same_runner(project: Project) -> None:
    project.write("runner")
    build = project.build("c1")
    project.write("runner", more="// a comment")
    same = project.build("c2")
    project.write("runner", text="goodbye")
    different = project.build("c3")
    assert build.digest != same.digest
    assert is_same_runner(build, same)
    assert not is_same_runner(build, different)


def test_a_folder_that_is_not_a_cmake_project_is_reported(project: Project) -> None:
    with pytest.raises(BuildFailed, match=r"has no CMakeLists\.txt: write a recipe"):
        project.build("c1")


def test_layouts_are_links_of_the_same_objects(project: Project) -> None:
    project.write("runner", more="int filling[256] = {1};")
    (project.folder / "part.cpp").write_text("int part[64] = {2};\n")
    cmake = CMAKELISTS + "add_executable(runner runner.cpp part.cpp)\n"
    (project.folder / "CMakeLists.txt").write_text(cmake)
    build = project.build("c1", layouts=3)
    programs = [build.programs[name] for name in ("program", "layout1", "layout2", "layout3")]
    assert len({program.read_bytes() for program in programs}) == 4
    assert len({len(str(program)) for program in programs}) == 1
    for program in programs:
        assert shell.run(Command((str(program),))).stdout.strip() == "hello"
    (log,) = (project.cache.folder / "logs").iterdir()
    assert "Building CXX" not in log.read_text()  # the log of the last link
