from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.builders.cache import BuildCache
from harness.builders.records import BuildKey, is_same_runner
from harness.builders.workdirs import Workdir
from harness.core.build import Build
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.protocols import Task
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import key_of, writes


class Calendar:
    """Clock that tests advance."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.fixture
def progress() -> RecordedProgress:
    return RecordedProgress()


@pytest.fixture
def cache(tmp_path: Path) -> BuildCache:
    return BuildCache(tmp_path / "cache", clock=Calendar())


def fails(workdir: Workdir, _: Task) -> None:
    raise BuildFailed("no such luck", hint="try another day")


def must_not_run(workdir: Workdir, _: Task) -> None:
    raise AssertionError("made again")


def fill(folder: Path, clock: Calendar, *commits: str, size: int = 1000) -> None:
    with BuildCache(folder, clock=clock) as cache:
        for commit in commits:
            cache.get_or_build(key_of(commit), writes(commit, size), progress=RecordedProgress())


def cached_commits(folder: Path) -> list[str]:
    return [entry.record.build.commit for entry in BuildCache(folder).entries()]


# --- once --------------------------------------------------------------------------------------------------------


def test_an_existing_build_is_not_built_again(cache: BuildCache, tmp_path: Path, progress: RecordedProgress) -> None:
    build = cache.get_or_build(key_of("c1"), writes("1"), progress=progress, flags={"a": "b"}, commit_time=3)
    assert cache.get_or_build(key_of("c1"), must_not_run, progress=progress) == build
    another = BuildCache(tmp_path / "cache")
    assert another.get_or_build(key_of("c1"), must_not_run, progress=progress) == build
    assert (build.commit_time, build.flags["a"], build.digest) == (3, "b", key_of("c1").digest)


@pytest.mark.parametrize("part", [name for name in BuildKey.model_fields if name != "options"])
def test_every_part_of_the_key_makes_another_build(part: str) -> None:
    assert key_of("c1").model_copy(update={part: "another"}).digest != key_of("c1").digest
    assert key_of("c1").model_copy(update={"options": {"x": "y"}}).digest != key_of("c1").digest


def test_a_damaged_build_is_detected_and_built_again(tmp_path: Path, progress: RecordedProgress) -> None:
    with BuildCache(tmp_path) as cache:
        program = cache.get_or_build(key_of("c1"), writes("1"), progress=progress).programs["program"]
    program.write_text("something else")
    with BuildCache(tmp_path) as cache:
        again = cache.get_or_build(key_of("c1"), writes("1"), progress=progress)
    assert again.programs["program"].read_text() == "#!/bin/sh\necho 1\n"
    assert any("is damaged; building again" in line for line in progress.lines)


@pytest.mark.parametrize("damage", ["", "{", '{"key": 1}'])
def test_a_build_with_an_unreadable_record_is_built_again(
    tmp_path: Path, progress: RecordedProgress, damage: str
) -> None:
    with BuildCache(tmp_path) as cache:
        build = cache.get_or_build(key_of("c1"), writes("1"), progress=progress)
    (build.programs["program"].parent.parent / "build.json").write_text(damage)
    assert cached_commits(tmp_path) == []
    with BuildCache(tmp_path) as cache:
        assert cache.get_or_build(key_of("c1"), writes("1"), progress=progress) == build


def test_a_cache_can_be_moved(tmp_path: Path, progress: RecordedProgress) -> None:
    with BuildCache(tmp_path / "here") as cache:
        cache.get_or_build(key_of("c1"), writes("1"), progress=progress)
    (tmp_path / "here").rename(tmp_path / "there")
    build = BuildCache(tmp_path / "there").get_or_build(key_of("c1"), must_not_run, progress=progress)
    assert build.programs["program"].read_text() == "#!/bin/sh\necho 1\n"


def test_paths_of_builds_have_equal_length(cache: BuildCache, progress: RecordedProgress) -> None:
    first = cache.get_or_build(key_of("c1"), writes("1"), progress=progress)
    second = cache.get_or_build(key_of("a" * 40), writes("22"), progress=progress)
    assert len(str(first.programs["program"])) == len(str(second.programs["program"]))


def test_a_record_has_key_programs_size_and_duration(cache: BuildCache, progress: RecordedProgress) -> None:
    build = cache.get_or_build(key_of("c1"), writes("1"), progress=progress)
    record = json.loads((build.programs["program"].parent.parent / "build.json").read_text())
    assert record["key"] == key_of("c1").model_dump()
    assert record["build"]["programs"] == {"program": "programs/program"}
    assert record["size_bytes"] == build.programs["program"].stat().st_size
    assert record["seconds"] >= 0


# --- the same runner ---------------------------------------------------------------------------------------------


def test_commits_with_identical_binaries_have_the_same_runner(cache: BuildCache, progress: RecordedProgress) -> None:
    build, same, different = (
        cache.get_or_build(key_of(commit), writes(content), progress=progress)
        for commit, content in (("c1", "x"), ("c2", "x"), ("c3", "y"))
    )
    assert is_same_runner(build, same)
    assert not is_same_runner(build, different)


def test_another_library_beside_the_runner_makes_another_runner(cache: BuildCache, progress: RecordedProgress) -> None:
    def with_library(content: str) -> Build:
        def make(workdir: Workdir, task: Task) -> None:
            writes("x")(workdir, task)
            (workdir.programs / "lib").mkdir()
            (workdir.programs / "lib/libx.so").write_text(content)

        return cache.get_or_build(key_of(content), make, progress=progress)

    assert not is_same_runner(with_library("1"), with_library("2"))


def test_builds_without_digest_are_not_the_same() -> None:
    assert not is_same_runner(Build(source="a", commit="b"), Build(source="a", commit="b"))


# --- failures ----------------------------------------------------------------------------------------------------


def test_a_failure_is_remembered_for_one_run(cache: BuildCache, tmp_path: Path, progress: RecordedProgress) -> None:
    with pytest.raises(BuildFailed, match="no such luck"):
        cache.get_or_build(key_of("c1"), fails, progress=progress)
    with pytest.raises(BuildFailed, match="no such luck") as caught:
        cache.get_or_build(key_of("c1"), must_not_run, progress=progress)
    assert caught.value.hint == "try another day"
    assert BuildCache(tmp_path / "cache").get_or_build(key_of("c1"), writes("1"), progress=progress).commit == "c1"


def test_a_failed_build_can_be_forced(cache: BuildCache, progress: RecordedProgress) -> None:
    with pytest.raises(BuildFailed):
        cache.get_or_build(key_of("c1"), fails, progress=progress)
    assert cache.get_or_build(key_of("c1"), writes("1"), progress=progress, force=True).commit == "c1"


def test_a_failure_does_not_affect_another_commit(cache: BuildCache, progress: RecordedProgress) -> None:
    with pytest.raises(BuildFailed):
        cache.get_or_build(key_of("c1"), fails, progress=progress)
    assert cache.get_or_build(key_of("c2"), writes("2"), progress=progress).commit == "c2"


def test_an_unwritable_cache_folder_is_named(tmp_path: Path, progress: RecordedProgress) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(EnvironmentProblem, match="cannot be kept in") as caught:
        BuildCache(tmp_path / "cache").get_or_build(key_of("c1"), writes("1"), progress=progress)
    assert "--cache-dir" in (caught.value.hint or "")
    assert not isinstance(caught.value, BuildFailed), "it says nothing about the commit"


def test_network_and_disk_failures_are_retried(cache: BuildCache, progress: RecordedProgress) -> None:
    def spoiled(workdir: Workdir, task: Task) -> None:
        raise EnvironmentProblem("no network")

    with pytest.raises(EnvironmentProblem, match="no network"):
        cache.get_or_build(key_of("c1"), spoiled, progress=progress)
    assert cache.get_or_build(key_of("c1"), writes("1"), progress=progress).commit == "c1"


# --- making room -------------------------------------------------------------------------------------------------


def test_least_recently_used_builds_are_removed_first(tmp_path: Path, progress: RecordedProgress) -> None:
    clock = Calendar()
    fill(tmp_path, clock, "c1", "c2", "c3")
    with BuildCache(tmp_path, clock=clock) as cache:
        cache.get_or_build(key_of("c1"), must_not_run, progress=progress)  # used again
    assert cached_commits(tmp_path) == ["c2", "c3", "c1"]
    removed = BuildCache(tmp_path).prune(limit_bytes=2500)
    assert [entry.record.build.commit for entry in removed] == ["c2"]
    assert cached_commits(tmp_path) == ["c3", "c1"]


def test_a_new_build_evicts_old_ones(tmp_path: Path, progress: RecordedProgress) -> None:
    clock = Calendar()
    fill(tmp_path, clock, "c1", "c2")
    with BuildCache(tmp_path, limit_bytes=2500, clock=clock) as cache:
        cache.get_or_build(key_of("c3"), writes("c3", 1000), progress=progress)
    assert cached_commits(tmp_path) == ["c2", "c3"]


def test_a_build_larger_than_the_limit_is_usable_until_the_cache_closes(
    tmp_path: Path, progress: RecordedProgress
) -> None:
    with BuildCache(tmp_path, limit_bytes=10) as cache:
        build = cache.get_or_build(key_of("c1"), writes("c1", 1000), progress=progress)
        assert build.programs["program"].exists()


def test_builds_in_use_are_not_evicted(tmp_path: Path, progress: RecordedProgress) -> None:
    clock = Calendar()
    fill(tmp_path, clock, "c1", "c2")
    with BuildCache(tmp_path, clock=clock) as user:
        user.get_or_build(key_of("c1"), must_not_run, progress=progress)
        assert [entry.record.build.commit for entry in user.prune(limit_bytes=0)] == ["c2"]
        assert BuildCache(tmp_path).prune(limit_bytes=0) == []
    assert len(BuildCache(tmp_path).prune(limit_bytes=0)) == 1
    assert cached_commits(tmp_path) == []


def test_two_caches_can_use_one_build(tmp_path: Path, progress: RecordedProgress) -> None:
    fill(tmp_path, Calendar(), "c1")
    with BuildCache(tmp_path) as one, BuildCache(tmp_path) as other:
        one.get_or_build(key_of("c1"), must_not_run, progress=progress)
        other.get_or_build(key_of("c1"), must_not_run, progress=progress)
        one.close()
        assert BuildCache(tmp_path).prune(limit_bytes=0) == []


def test_builds_unused_for_long_are_removed(tmp_path: Path) -> None:
    clock = Calendar()
    fill(tmp_path, clock, "old")
    clock.now += 86_400
    fill(tmp_path, clock, "young")
    assert len(BuildCache(tmp_path, clock=clock).prune(unused_for_s=3600)) == 1
    assert cached_commits(tmp_path) == ["young"]


def test_removing_a_build_removes_its_log(tmp_path: Path, progress: RecordedProgress) -> None:
    def make(workdir: Workdir, task: Task) -> None:
        workdir.log.write_text("said")
        writes("1")(workdir, task)

    with BuildCache(tmp_path) as cache:
        cache.get_or_build(key_of("c1"), make, progress=progress)
    assert len(list((tmp_path / "logs").iterdir())) == 1
    BuildCache(tmp_path).prune(limit_bytes=0)
    assert list((tmp_path / "logs").iterdir()) == []
