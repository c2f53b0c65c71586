"""Options that a build records: from CMake's cache, from its recipe, and the submodules it was made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.builders.build_options import OPTIONS, read_cmake_options, read_names
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.dependencies import read_submodules
from harness.builders.recipes import find_recipe
from harness.core.build import COMPILED_WITH, Build
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import TOOLS, Folder, write_recipe
from tests.builders.sources.repositories import require

COMPILER = """set(CMAKE_CXX_COMPILER "/usr/bin/c++")
set(CMAKE_CXX_COMPILER_ID "GNU")
set(CMAKE_CXX_COMPILER_VERSION "12.2.0")
"""
"""Lines of a `CMakeFiles/3.25.1/CMakeCXXCompiler.cmake`."""


def build_in(folder: Path, lines: str, **files: str) -> Build:
    """Build the commit of a folder with a recipe."""
    recipe = write_recipe(folder / "recipes", "thing/host", lines)
    for name, text in files.items():
        (recipe.parent / name.replace("_json", ".json")).write_text(text)
    sources = folder / "sources"
    sources.mkdir(exist_ok=True)
    source = Folder(sources)
    with BuildCache(folder / "cache") as cache:
        found = find_recipe("thing", "host", [folder / "recipes"])
        return build_commit(
            source,
            source.resolve("now"),
            found,
            platform="host",
            cache=cache,
            progress=RecordedProgress(),
            toolchain=TOOLS,
        )


def test_options_of_a_real_cmake_project_are_recorded_with_the_build(tmp_path: Path) -> None:
    require("cmake")
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources/CMakeLists.txt").write_text(
        'cmake_minimum_required(VERSION 3.19)\nproject(thing LANGUAGES NONE)\noption(THING_TRACE "" OFF)\n'
        'set(THING_KERNELS "fast" CACHE STRING "")\n'
    )
    build = build_in(
        tmp_path,
        'cmake -S "$1" -B "$HARNESS_BUILD_DIR" -DTHING_TRACE=ON -DCMAKE_BUILD_TYPE=Release '
        '-DCMAKE_CXX_FLAGS="-g -fsanitize=undefined,address -I$HARNESS_BUILD_DIR/x" && echo : > "$2"',
        options_json='{"tracer": "THING_TRACE", "kernels": "THING_KERNELS", "absent": "THING_OTHER"}',
    )
    assert build.options["tracer"] == "on"
    assert build.options["kernels"] == "fast"
    assert "absent" not in build.options
    assert build.options["build_type"] == "Release"
    assert build.options["sanitizers"] == "address,undefined"
    assert build.options["lto"] == "off"
    assert build.options["cxx_flags"].endswith("-I.../build/x"), "places of one build are no difference"
    assert build.flags[COMPILED_WITH] == TOOLS.digest


def test_a_recipe_records_options_of_its_own(tmp_path: Path) -> None:
    lines = """echo : > "$2"; echo '{"kind": "x", "options": {"tracer": true, "lto": "thin", "gone": null}}' """
    build = build_in(tmp_path, lines + '> "$(dirname "$2")/meta.json"')
    assert build.options == {"tracer": "on", "lto": "thin"}
    assert build.flags["kind"] == "x"
    assert "options" not in build.flags


def test_options_that_are_no_object_fail_the_build(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="`options` is not an object"):
        build_in(tmp_path, """echo : > "$2"; echo '{"options": "none"}' > "$(dirname "$2")/meta.json" """)


def test_names_of_options_must_be_an_object_of_texts(tmp_path: Path) -> None:
    (tmp_path / OPTIONS).write_text('["THING_TRACE"]')
    with pytest.raises(BuildFailed, match="not a JSON object of texts"):
        read_names(tmp_path)


def test_of_several_projects_the_one_with_the_named_options_counts(tmp_path: Path) -> None:
    for folder, text in (("", "CMAKE_BUILD_TYPE:STRING=Debug"), ("inner", "THING_TRACE:BOOL=OFF")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "CMakeCache.txt").write_text(f"# comment\n//help\n{text}\n")
    made = tmp_path / "inner/CMakeFiles/3.25.1/CMakeCXXCompiler.cmake"
    made.parent.mkdir(parents=True)
    made.write_text(COMPILER)
    options = read_cmake_options(tmp_path, {"tracer": "THING_TRACE"}, hidden=tmp_path)
    assert (options["tracer"], options["compiler"], options["build_type"]) == ("off", "GCC 12.2.0", "none")
    assert read_cmake_options(tmp_path / "elsewhere", {}, hidden=tmp_path) == {}


def test_submodules_that_were_fetched_are_dependencies(tmp_path: Path) -> None:
    pin, identity = "1" * 40, ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for path in ("third-party/used", "third-party/unused"):
        index = ("update-index", "--add", "--cacheinfo", f"160000,{pin},{path}")
        subprocess.run(["git", *identity, "-C", tmp_path, *index], check=True)
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "third-party/used/file").touch()
    assert read_submodules(tmp_path) == {"third-party/used": pin}
    assert read_submodules(tmp_path / "third-party") == {}
