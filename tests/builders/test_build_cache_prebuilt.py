from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.builds import build_prebuilt
from harness.builders.cache import BuildCache
from harness.builders.records import same_runner
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import write_program


@pytest.fixture
def cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache")


def test_given_programs_are_copied_to_paths_of_equal_length(tmp_path: Path, cache: BuildCache) -> None:
    (tmp_path / "a long folder").mkdir()
    one = build_prebuilt({"program": write_program(tmp_path / "r", "#!/bin/sh\n")}, cache, RecordedProgress())
    other = build_prebuilt(
        {"program": write_program(tmp_path / "a long folder/runner", "#!/bin/sh\nexit\n")}, cache, RecordedProgress()
    )
    assert one.programs["program"].read_text() == "#!/bin/sh\n"
    assert len(str(one.programs["program"])) == len(str(other.programs["program"]))
    assert (one.source, len(one.commit)) == ("prebuilt", 12)
    assert one.commit != other.commit
    assert not same_runner(one, other)


def test_equal_programs_are_one_build(tmp_path: Path, cache: BuildCache) -> None:
    one = build_prebuilt({"program": write_program(tmp_path / "one", "x")}, cache, RecordedProgress())
    same = build_prebuilt({"program": write_program(tmp_path / "same", "x")}, cache, RecordedProgress())
    assert one == same
    assert same_runner(one, same)


def test_another_helper_makes_another_build(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "x")
    builds = [
        build_prebuilt({"program": runner, "tool": write_program(tmp_path / "tool", text)}, cache, RecordedProgress())
        for text in ("1", "2")
    ]
    assert builds[0].programs["tool"].read_text() == "1"
    assert builds[1].programs["tool"].read_text() == "2"


def test_a_program_that_is_built_again_is_copied_again(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "1")
    build_prebuilt({"program": runner}, cache, RecordedProgress())
    write_program(runner, "2")
    assert build_prebuilt({"program": runner}, cache, RecordedProgress()).programs["program"].read_text() == "2"


def test_a_program_that_needs_libraries_beside_itself_is_used_where_it_is(tmp_path: Path, cache: BuildCache) -> None:
    runner = write_program(tmp_path / "runner", "ELF $ORIGIN/lib")
    progress = RecordedProgress()
    assert build_prebuilt({"program": runner}, cache, progress).programs == {"program": runner}
    assert "used where it is" in progress.lines[0]


def test_a_given_program_must_be_there_and_executable(tmp_path: Path, cache: BuildCache) -> None:
    with pytest.raises(BuildFailed, match="is not there"):
        build_prebuilt({"program": tmp_path / "runner"}, cache, RecordedProgress())
    (tmp_path / "runner").write_text("")
    with pytest.raises(BuildFailed, match="cannot be executed") as caught:
        build_prebuilt({"program": tmp_path / "runner"}, cache, RecordedProgress())
    assert caught.value.hint == f"chmod +x {tmp_path / 'runner'}"


def test_one_program_must_be_the_runner(tmp_path: Path, cache: BuildCache) -> None:
    with pytest.raises(BuildFailed, match="no program is named `program`"):
        build_prebuilt({"tool": write_program(tmp_path / "tool", "x")}, cache, RecordedProgress())
