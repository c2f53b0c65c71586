"""Discarded pairs: noted by side and cause, and attributed to chance only where they can be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.device import DeviceState
from harness.core.result import Launch, Outcome
from harness.running.comparability import DiscardedPairs, sign_test

HOT = DeviceState(time=0.0, thermal_status=3)


def launch(outcome: Outcome, *, hot: bool = False) -> Launch:
    return Launch(index=0, outcome=outcome, started=0.0, before=HOT if hot else None)


def discarded(
    control: int = 0, treatment: int = 0, *, outcome: Outcome = Outcome.CRASHED, hot: bool = False
) -> DiscardedPairs:
    pairs = DiscardedPairs()
    for side, count in (("control", control), ("treatment", treatment)):
        for _ in range(count):
            pairs.add(side, launch(outcome, hot=hot))
    return pairs


def test_without_discarded_pairs_there_is_no_note() -> None:
    assert discarded().notes(20) == ()
    assert discarded().doubt(20) is None


def test_one_failure_in_many_pairs_is_noted_and_attributed_to_chance() -> None:
    (note,) = discarded(treatment=1).notes(21)
    assert note.message == "the treatment crashed in 1 of 21 pairs"
    assert note.trust
    assert discarded(treatment=1).doubt(21) is None


def test_one_failure_in_few_pairs_makes_a_side_flaky() -> None:
    assert discarded(treatment=1).doubt(9) is not None


def test_a_flaky_side_is_named_with_count_and_cause_and_prevents_no_change() -> None:
    pairs = discarded(treatment=3, outcome=Outcome.TIMEOUT)
    (note,) = pairs.notes(25)
    assert note.code == "treatment_lost_launches"
    assert not note.trust
    assert "the treatment timed out in 3 of 25 pairs" in note.message
    assert pairs.doubt(25) == note


def test_two_failures_in_a_hundred_are_not_flaky() -> None:
    assert discarded(control=2).doubt(100) is None


@pytest.mark.parametrize(("treatment", "doubt_expected"), [(7, False), (8, True)])
def test_throttling_of_one_side_alone_is_not_attributed_to_chance(treatment: int, *, doubt_expected: bool) -> None:
    pairs = discarded(treatment=treatment, outcome=Outcome.OK, hot=True)
    doubt = pairs.doubt(60)
    assert (doubt is not None) is doubt_expected
    if doubt is not None:
        assert "the treatment was slowed by heat in 8 of 60 pairs" in doubt.message


def test_throttling_of_both_sides_is_attributed_to_the_device() -> None:
    assert discarded(control=9, treatment=11, outcome=Outcome.OK, hot=True).doubt(60) is None


@given(st.integers(0, 60))
def test_the_sign_test_is_exact(of: int) -> None:
    level = 0.01
    ways = [math.comb(of, count) for count in range(of + 1)]
    rejected = sum(
        way for count, way in enumerate(ways) if min(sign_test(count, of), sign_test(of - count, of)) <= level
    )
    assert rejected / 2**of <= level
    assert all(0 <= sign_test(count, of) <= 1 for count in range(of + 1))
