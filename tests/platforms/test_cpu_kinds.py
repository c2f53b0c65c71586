"""Kinds of CPUs, and the words for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import EnvironmentProblem
from platforms.cpu_kinds import choose_kind, group_by_kind, select_kind

PRIME, GOLD, SILVER = (7,), (4, 5, 6), (0, 1, 2, 3)
PHONE = {**dict.fromkeys(SILVER, 325.0), **dict.fromkeys(GOLD, 871.0), 7: 1024.0}
"""Capacities of a Snapdragon 855."""


def test_words_name_the_kinds_of_a_phone() -> None:
    kinds = group_by_kind(PHONE)
    assert kinds == (PRIME, GOLD, SILVER)
    assert [select_kind(kinds, word) for word in ("prime", "big", "little")] == [PRIME, GOLD, SILVER]


def test_of_two_kinds_the_fast_one_is_prime_and_big() -> None:
    kinds = group_by_kind({0: 2000.0, 1: 2000.0, 2: 3000.0, 3: 3000.0})
    assert [select_kind(kinds, word) for word in ("prime", "big", "little")] == [(2, 3), (2, 3), (0, 1)]


def test_a_few_percent_of_clock_make_no_kind() -> None:
    assert group_by_kind({0: 4950.0, 1: 5050.0, 2: 5050.0, 3: 4800.0}) == ((0, 1, 2, 3),)


def test_a_device_of_one_kind_is_said_to_have_no_other() -> None:
    said: list[str] = []
    assert choose_kind(((0, 1),), "big", "this machine", said.append) == (0, 1)
    assert said == ["--cpus big: this machine reports CPUs of one kind only (0, 1): all may be used"]
    assert choose_kind((PRIME, SILVER), "big", "this machine", said.append) == PRIME
    assert len(said) == 1
    with pytest.raises(EnvironmentProblem, match="does not report"):
        choose_kind((), "big", "Pixel", said.append)


@given(st.dictionaries(st.integers(0, 63), st.floats(0, 1e7), min_size=1))
def test_every_cpu_is_of_one_kind(ranks: dict[int, float]) -> None:
    kinds = group_by_kind(ranks)
    assert sorted(cpu for kind in kinds for cpu in kind) == sorted(ranks)
    fastest = [max(ranks[cpu] for cpu in kind) for kind in kinds]
    assert fastest == sorted(fastest, reverse=True)
