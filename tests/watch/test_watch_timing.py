"""When to look for new commits, how to wait, and how a person stops it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import EnvironmentProblem
from harness.watch.fai_pep_files import StopFile, read_commit, write_commit
from harness.watch.timing import Backoff, polling_backoff
from tests.watch.watching import Clock

DAY_S = 24 * 3600.0
chances = st.floats(0, 1, exclude_max=True)


@given(st.floats(1, 1e6), chances)
def test_the_interval_varies_by_a_tenth(interval_s: float, chance: float) -> None:
    assert 0.899 * interval_s <= polling_backoff(interval_s).pause_s(0, chance) <= 1.101 * interval_s


@given(st.floats(1, 1e6), st.integers(1, 10**9), chances)
def test_failures_make_pauses_longer_and_never_endless(interval_s: float, failures: int, chance: float) -> None:
    rhythm = polling_backoff(interval_s)
    pause_s = rhythm.pause_s(failures, chance)
    assert 0 < pause_s <= 1.101 * max(3600.0, interval_s)
    assert rhythm.pause_s(failures + 1, chance) >= pause_s


def test_pauses_double() -> None:
    rhythm = Backoff(100.0, first_s=10.0, most_s=70.0)
    assert [rhythm.pause_s(failures, 0.5) for failures in range(6)] == [100, 10, 20, 40, 70, 70]


@pytest.mark.parametrize("jump_s", [-DAY_S, DAY_S])
def test_a_clock_that_is_set_does_not_change_how_long_is_waited(clock: Clock, jump_s: float) -> None:
    def jump() -> None:
        if len(clock.waited) == 5:
            clock.wall += jump_s

    clock.meanwhile = jump
    clock.timing.wait(clock.monotonic + 60.0, lambda: False)
    assert sum(clock.waited) == pytest.approx(60.0)


def test_a_waiting_watcher_looks_at_its_status_file_each_second(clock: Clock, tmp_path: Path) -> None:
    switch = StopFile(tmp_path / "status")
    switch.create()

    def stop() -> None:
        if len(clock.waited) == 3:
            (tmp_path / "status").write_text("0")

    clock.meanwhile = stop
    clock.timing.wait(clock.monotonic + 3600.0, switch.is_stop_requested)
    assert sum(clock.waited) == 3.0


def test_a_status_file_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert not StopFile(tmp_path / "pipe").is_stop_requested()
    with pytest.raises(EnvironmentProblem, match="not a regular file"):
        read_commit(tmp_path / "pipe")


def test_the_status_file_is_made_with_a_one_and_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "status"
    StopFile(file).create()
    assert file.read_text().strip() == "1"
    file.write_text("0")
    StopFile(file).create()
    assert StopFile(file).is_stop_requested()


@pytest.mark.parametrize(("content", "off"), [("0", True), (" 0\n", True), ("1", False), ("", False), ("00", False)])
def test_only_a_zero_stops(tmp_path: Path, content: str, off: bool) -> None:
    (tmp_path / "status").write_text(content)
    assert StopFile(tmp_path / "status").is_stop_requested() is off


def test_a_missing_status_file_stops_nothing(tmp_path: Path) -> None:
    assert not StopFile(tmp_path / "none").is_stop_requested()
    assert not StopFile().is_stop_requested()


def test_a_status_file_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="status file"):
        StopFile(tmp_path / "file" / "status").create()


def test_the_commit_file_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "commit"
    assert read_commit(file) is None
    for commit in ("a" * 40, "b" * 40):
        write_commit(file, commit)
        assert read_commit(file) == commit
    assert [path.name for path in file.parent.iterdir()] == ["commit"]


def test_an_empty_commit_file_names_none(tmp_path: Path) -> None:
    (tmp_path / "commit").write_text("\n")
    assert read_commit(tmp_path / "commit") is None


def test_a_commit_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "commit").mkdir()
    with pytest.raises(EnvironmentProblem, match="commit file"):
        write_commit(tmp_path / "commit", "a")
    assert [path.name for path in tmp_path.iterdir()] == ["commit"]
