from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.builds import build_prebuilt
from harness.builders.cache import BuildCache
from harness.builders.records import is_same_runner
from harness.core.errors import BuildFailed
from harness.files.programs import prebuilt
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import write_program


@pytest.fixture
def cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache")


def test_prebuilt_programs_are_copied_to_paths_of_equal_length(tmp_path: Path, cache: BuildCache) -> None:
    (tmp_path / "a long folder").mkdir()
    first = build_prebuilt({"program": write_program(tmp_path / "r", "x\n")}, cache, RecordedProgress())
    second = build_prebuilt(
        {"program": write_program(tmp_path / "a long folder/runner", "xy\n")}, cache, RecordedProgress()
    )
    assert first.programs["program"].read_text() == "x\n"
    assert len(str(first.programs["program"])) == len(str(second.programs["program"]))
    assert (first.source, len(first.commit)) == ("prebuilt", 12)
    assert first.commit != second.commit
    assert not is_same_runner(first, second)


def test_equal_programs_are_one_build(tmp_path: Path, cache: BuildCache) -> None:
    first = build_prebuilt({"program": write_program(tmp_path / "one", "x")}, cache, RecordedProgress())
    second = build_prebuilt({"program": write_program(tmp_path / "same", "x")}, cache, RecordedProgress())
    assert first == second.model_copy(update={"commit_name": first.commit_name})
    assert is_same_runner(first, second)


def test_a_library_keeps_its_name_which_is_part_of_the_build(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "r", "x")
    builds = []
    for name in ("libone.so", "libother.so.2"):
        library = write_program(tmp_path / name, "equal bytes")
        library.chmod(0o644)
        builds.append(build_prebuilt({"program": runner, "backend": library}, cache, RecordedProgress()))
    assert [build.programs["backend"].name for build in builds] == ["libone.so", "libother.so.2"]
    assert builds[0].programs["program"].parent == builds[0].programs["backend"].parent
    assert not is_same_runner(builds[0], builds[1])


def test_two_libraries_of_one_name_are_refused(tmp_path: Path, cache: BuildCache) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    libraries = {folder: write_program(tmp_path / folder / "lib.so", folder) for folder in ("a", "b")}
    with pytest.raises(BuildFailed, match="two programs are called alike"):
        build_prebuilt({"program": write_program(tmp_path / "r", "x"), **libraries}, cache, RecordedProgress())


def test_another_helper_makes_another_build(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "x")
    builds = [
        build_prebuilt({"program": runner, "tool": write_program(tmp_path / "tool", text)}, cache, RecordedProgress())
        for text in ("1", "2")
    ]
    assert builds[0].programs["tool"].read_text() == "1"
    assert builds[1].programs["tool"].read_text() == "2"


def test_a_rebuilt_program_is_copied_again(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "1")
    build_prebuilt({"program": runner}, cache, RecordedProgress())
    write_program(runner, "2")
    assert build_prebuilt({"program": runner}, cache, RecordedProgress()).programs["program"].read_text() == "2"


def test_a_program_with_libraries_beside_it_is_used_in_place(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "ELF $ORIGIN/lib")
    progress = RecordedProgress()
    assert build_prebuilt({"program": runner}, cache, progress).programs == {"program": runner}
    assert "used where it is" in progress.lines[0]


def test_equal_scripts_in_two_folders_are_not_the_same_runner(tmp_path: Path, cache: BuildCache) -> None:
    """What they read beside themselves may differ."""
    builds, progress = [], RecordedProgress()
    for folder in ("a", "b", "a"):
        (tmp_path / folder).mkdir(exist_ok=True)
        script = write_program(tmp_path / folder / "run.sh", "#!/bin/sh\n. ./settings\n")
        builds.append(build_prebuilt({"program": script}, cache, progress))
        assert builds[-1].programs == {"program": script}
    assert progress.lines[0].endswith("is a script, which may read files beside itself, so it is used where it is")
    assert not is_same_runner(builds[0], builds[1])
    assert is_same_runner(builds[0], builds[2])


@pytest.mark.parametrize(
    ("path", "library"),
    [("$ORIGIN", "libx.so"), ("${ORIGIN}/../lib", "../lib/libx.so.2"), ("@loader_path/libx.dylib", "libx.dylib")],
)
def test_libraries_that_a_program_looks_for_beside_itself_are_part_of_it(
    path: str, library: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    runner = write_program(tmp_path / "bin/runner", f"\x7fELF {path}\0 more")
    alone = prebuilt({"program": runner})
    place = tmp_path / "bin" / library
    builds = []
    for text in ("1", "2", "1"):
        place.write_text(text)
        builds.append(prebuilt({"program": runner}))
    assert builds[0] == builds[2]
    assert len({build.digest for build in (alone, *builds)}) == 3
    assert len({build.commit for build in (alone, *builds)}) == 3
    (place.parent / "notes.txt").write_text("no library")
    assert prebuilt({"program": runner}) == builds[0]


def test_a_prebuilt_program_must_exist(tmp_path: Path, cache: BuildCache) -> None:
    with pytest.raises(BuildFailed, match="there is no file") as caught:
        build_prebuilt({"program": tmp_path / "runner"}, cache, RecordedProgress())
    assert "--program program=PATH" in (caught.value.hint or "")


def test_one_program_must_be_named_as_the_runner(tmp_path: Path, cache: BuildCache) -> None:
    with pytest.raises(BuildFailed, match="no program is named `program`"):
        build_prebuilt({"tool": write_program(tmp_path / "tool", "x")}, cache, RecordedProgress())
