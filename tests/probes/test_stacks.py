"""Sampled stacks: functions, the tree, folded lines, and their bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.probes import stacks
from harness.probes.stacks import Frame, StackProfile, clean_name


def frames(*names: str) -> list[Frame]:
    return [Frame(name, "lib.so") for name in names]


def test_functions_are_ranked_by_their_own_samples() -> None:
    profile = StackProfile()
    for _ in range(3):
        profile.add(frames("gemm", "run", "main"))
    profile.add(frames("run", "main"))
    found = profile.list_functions()
    assert [(each.symbol, each.samples, each.share) for each in found] == [("gemm", 3, 0.75), ("run", 1, 0.25)]


def test_the_tree_begins_with_threads_and_lists_functions_before_those_they_call() -> None:
    profile = StackProfile()
    profile.add(frames("a", "main"), "worker")
    profile.add(frames("b", "main"), "worker")
    listed = [(each.depth, each.symbol, each.samples) for each in profile.list_frames()]
    assert listed == [(0, "worker", 2), (1, "main", 2), (2, "a", 1), (2, "b", 1)]
    assert profile.fold().splitlines() == ["worker;main;a 1", "worker;main;b 1"]


def test_a_sample_without_functions_counts() -> None:
    profile = StackProfile()
    profile.add([])
    assert (profile.samples, profile.fold()) == (1, "[unknown] 1\n")


def test_branches_too_small_for_a_picture_are_left_out_of_the_tree_and_not_of_the_file() -> None:
    profile = StackProfile()
    profile.add(frames("rare"))
    for _ in range(999):
        profile.add(frames("often"))
    assert [each.symbol for each in profile.list_frames()] == ["often"]
    assert "rare 1" in profile.fold()


def test_hostile_profiles_are_bounded_and_lose_no_sample() -> None:
    profile = StackProfile()
    profile._nodes = stacks._NODES - 10
    for number in range(50):
        profile.add([Frame(f"f{number}" * 1000, "m")] * 1000)
    assert profile.samples == 50
    assert sum(int(line.rpartition(" ")[2]) for line in profile.fold().splitlines()) == 50
    assert max(len(each.symbol) for each in profile.list_functions()) <= 300


@given(st.text())
def test_any_name_fits_into_a_folded_line(name: str) -> None:
    cleaned = clean_name(name)
    assert cleaned
    assert cleaned.isprintable()
    assert ";" not in cleaned
