"""Launches that did not count: told by side and cause, and believed to be chance only where they can be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.device import DeviceState
from harness.core.result import Launch, Outcome
from harness.run.comparability import DiscardedPairs, sign_test

HOT = DeviceState(time=0.0, thermal_status=3)


def launch(outcome: Outcome, *, hot: bool = False) -> Launch:
    return Launch(index=0, outcome=outcome, started=0.0, before=HOT if hot else None)


def voids(
    control: int = 0, treatment: int = 0, *, outcome: Outcome = Outcome.CRASHED, hot: bool = False
) -> DiscardedPairs:
    lost = DiscardedPairs()
    for side, count in (("control", control), ("treatment", treatment)):
        for _ in range(count):
            lost.add(side, launch(outcome, hot=hot))
    return lost


def test_nothing_lost_is_nothing_told() -> None:
    assert voids().notes(20) == ()
    assert voids().doubt(20) is None


def test_one_failure_in_many_is_told_and_believed_to_be_chance() -> None:
    (note,) = voids(treatment=1).notes(21)
    assert note.message == "the treatment crashed in 1 of 21 pairs"
    assert note.trust
    assert voids(treatment=1).doubt(21) is None


def test_one_failure_in_a_few_is_a_rate_of_failing() -> None:
    assert voids(treatment=1).doubt(9) is not None


def test_a_flaky_side_is_named_with_count_and_cause_and_speaks_against_no_change() -> None:
    lost = voids(treatment=3, outcome=Outcome.TIMEOUT)
    (note,) = lost.notes(25)
    assert note.code == "treatment_lost_launches"
    assert not note.trust
    assert "the treatment timed out in 3 of 25 pairs" in note.message
    assert lost.doubt(25) == note


def test_two_failures_in_a_hundred_are_not_flaky() -> None:
    assert voids(control=2).doubt(100) is None


@pytest.mark.parametrize(("treatment", "doubted"), [(7, False), (8, True)])
def test_heat_of_one_side_alone_is_no_chance(treatment: int, *, doubted: bool) -> None:
    lost = voids(treatment=treatment, outcome=Outcome.OK, hot=True)
    doubt = lost.doubt(60)
    assert (doubt is not None) is doubted
    if doubt is not None:
        assert "the treatment was slowed by heat in 8 of 60 pairs" in doubt.message


def test_heat_that_meets_both_sides_is_the_device() -> None:
    assert voids(control=9, treatment=11, outcome=Outcome.OK, hot=True).doubt(60) is None


@given(st.integers(0, 60))
def test_the_sign_test_is_exact(of: int) -> None:
    level = 0.01
    ways = [math.comb(of, ours) for ours in range(of + 1)]
    refused = sum(way for ours, way in enumerate(ways) if min(sign_test(ours, of), sign_test(of - ours, of)) <= level)
    assert refused / 2**of <= level
    assert all(0 <= sign_test(ours, of) <= 1 for ours in range(of + 1))
