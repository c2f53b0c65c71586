"""Runners that the user gives: programs, and packages of apps."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.builders.cache import BuildCache
from harness.core.errors import UsageError
from harness.flows.measure.runners import BuildTarget, GivenRunner, Programs, Side, installed_runner
from harness.testing.progress import RecordedProgress
from harness.testing.results import DEVICE


def sides(programs: dict[str, Path], folder: Path) -> tuple[Side, ...]:
    return (installed_runner, GivenRunner(Programs(programs), BuildCache(folder)))


def target(programs: dict[str, Path], *, app_suffix: str = "", recipe_variant: str = "") -> BuildTarget:
    return BuildTarget(Generic(programs), DEVICE, "", recipe_variant, app_suffix)


@pytest.mark.parametrize("side", [0, 1])
def test_an_app_is_used_where_it_is(tmp_path: Path, side: int) -> None:
    app = tmp_path / "speed.apk"
    app.write_text("package")
    programs = {"program": app}
    made = sides(programs, tmp_path / "cache")[side](target(programs, app_suffix=".apk"), RecordedProgress())
    assert made.programs == programs, "a copy would lose the name by which it is known as an app"
    assert made.source == "prebuilt"


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", ["libbackend.so", "libc++_shared.so", "libcrypto.so.1.1", "libbackend.dylib"])
def test_a_library_beside_the_runner_needs_no_execute_bit(tmp_path: Path, side: int, name: str) -> None:
    runner, library = tmp_path / "runner", tmp_path / name
    for file in (runner, library):
        file.write_text(file.name)
        file.chmod(0o644)
    runner.chmod(0o755)
    programs = {"program": runner, "library": library}
    build = sides(programs, tmp_path / "cache")[side](target(programs), RecordedProgress())
    assert build.programs["library"].read_text() == name
    assert build.programs["library"].name == name, "the runner looks for it by its name"


def test_apps_need_no_runner_beside_them(tmp_path: Path) -> None:
    first, second = tmp_path / "one.apk", tmp_path / "two.apk"
    builds = []
    for app in (first, second):
        app.write_text(app.name)
        runner = GivenRunner(Programs({"app": app}), BuildCache(tmp_path / "cache"))
        builds.append(runner(target({}, app_suffix=".apk"), RecordedProgress()))
    assert [build.programs["app"] for build in builds] == [first, second]
    assert builds[0].digest != builds[1].digest


@pytest.mark.parametrize("side", [0, 1])
def test_a_recipe_where_nothing_is_built_is_an_error(tmp_path: Path, side: int) -> None:
    build = sides({}, tmp_path)[side]
    with pytest.raises(UsageError, match="names a recipe, and nothing is built"):
        build(target({}, recipe_variant="incremental"), RecordedProgress())


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({}, "run (2cf24dba5fb0)"),
        ({"name": "new/run"}, "new/run (2cf24dba5fb0)"),
        ({"name": "new/run", "commit": "v2"}, "v2"),
    ],
)
def test_a_given_program_is_named_by_its_file_unless_its_commit_is_given(
    tmp_path: Path, given: dict[str, str], label: str
) -> None:
    program = tmp_path / "run"
    program.write_text("hello")
    program.chmod(0o755)
    side = GivenRunner(Programs({"program": program}, **given), BuildCache(tmp_path / "cache"))  # type: ignore[arg-type]
    assert side(target({}), RecordedProgress()).commit_label == label
