from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.discovery import (
    ProvenChange,
    proven_changes,
    select_discovered_changes,
    select_discoveries,
    select_unfinished,
)
from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.made_pairs import PARAMETERS, feed_pairs, flat

Q = 0.05
evidences = st.dictionaries(st.integers(), st.floats(min_value=0, max_value=1e6), max_size=12)


@pytest.mark.parametrize(
    ("evidence", "total", "discoveries"),
    [
        ({"a": 20.0}, 1, {"a"}),
        ({"a": 19.9}, 1, set()),
        ({"a": 100.0}, 10, set()),
        ({"a": 100.0, "b": 100.0}, 10, {"a", "b"}),
        ({"a": 70.0, "b": 70.0, "c": 70.0, "d": 1.0}, 10, {"a", "b", "c"}),
        ({"a": 250.0, "b": 90.0}, 10, {"a"}),
        ({}, 3, set()),
    ],
)
def test_the_smallest_of_k_discoveries_has_evidence_of_total_over_qk(
    evidence: dict[str, float], total: int, discoveries: set[str]
) -> None:
    assert select_discoveries(evidence, total, 0.05) == discoveries


@given(evidences, st.integers(0, 20), st.sampled_from([0.01, 0.05, 0.5]))
def test_discoveries_are_the_largest_self_consistent_set(evidence: dict[int, float], more: int, q: float) -> None:
    total = len(evidence) + more
    discoveries = select_discoveries(evidence, total, q)
    for size in range(len(evidence), 0, -1):
        best = sorted(evidence.values(), reverse=True)[:size]
        if best[-1] * q * size >= total:
            assert len(discoveries) == size
            break
    else:
        assert not discoveries
    assert all(evidence[key] >= evidence[rejected] for key in discoveries for rejected in evidence.keys() - discoveries)


def test_more_evidence_than_benchmarks_is_refused() -> None:
    with pytest.raises(ValueError, match="2 benchmarks, of 1"):
        select_discoveries({"a": 1.0, "b": 1.0}, 1, 0.05)


@pytest.mark.parametrize("q", [0.0, 1.1])
def test_an_invalid_false_discovery_rate_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="share"):
        select_discoveries({}, 0, q)


@pytest.mark.parametrize(("size", "verdict"), [(0.5, Verdict.REGRESSION), (-0.5, Verdict.IMPROVEMENT)])
def test_a_change_is_measured_until_it_is_a_discovery(size: float, verdict: Verdict) -> None:
    test = feed_pairs(flat([size] * 8))
    assert test.verdict() is verdict
    tests = {"a": test}
    assert select_unfinished(tests, select_discovered_changes(proven_changes(tests), 1, Q)) == frozenset()
    assert select_unfinished(tests, select_discovered_changes(proven_changes(tests), 100, Q)) == {"a"}
    for pair in flat([size] * 5):
        test.add(pair)
    assert select_unfinished(tests, select_discovered_changes(proven_changes(tests), 100, Q)) == frozenset()


def test_changes_of_each_direction_are_selected_by_themselves() -> None:
    changes = {
        "worse": ProvenChange(Verdict.REGRESSION, 100.0),
        "better": ProvenChange(Verdict.IMPROVEMENT, 100.0),
        "also better": ProvenChange(Verdict.IMPROVEMENT, 110.0),
    }
    assert select_discovered_changes(changes, 10, Q) == {"better", "also better"}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_of_a_hundred_unchanged_benchmarks_a_run_seldom_tells_an_improvement() -> None:
    """By itself each is called better in up to 1 %, so that a third of the runs would tell one."""
    chance, runs = np.random.default_rng(3), 16
    alone, reported = Counter[Verdict](), Counter[Verdict]()
    for _ in range(runs):
        tests = {number: SequentialTest(PARAMETERS, higher_is_better=False) for number in range(100)}
        live, shown = dict(tests), set[Verdict]()
        while live:
            for test in live.values():
                test.add(flat(chance.normal(0.0, 0.01, 1))[0].model_copy(update={"index": test.pairs}))
            shown |= {change.verdict for change in proven_changes(live).values()}
            discovered = select_discovered_changes(proven_changes(tests), 100, Q)
            live = {number: tests[number] for number in select_unfinished(live, discovered)}
        alone.update(shown)
        changes = proven_changes(tests)
        discovered = select_discovered_changes(changes, 100, Q)
        reported.update({changes[number].verdict for number in discovered})
    assert min(alone[Verdict.IMPROVEMENT], alone[Verdict.REGRESSION]) >= runs / 8
    assert reported[Verdict.IMPROVEMENT] <= runs / 8
    assert reported[Verdict.REGRESSION] <= runs / 8


def test_only_changes_without_other_goals_contribute_evidence() -> None:
    precise = Parameters(seed=1, precision=1e-6)
    tests = {
        "worse": feed_pairs(flat([0.5] * 8)),
        "measured for precision": feed_pairs(flat([0.5] * 8), precise),
        "spent short of a verdict": feed_pairs(flat([0.5] * 7), Parameters(seed=1, max_pairs=7)),
        "equal": feed_pairs(flat([0.0] * 20)),
        "better": feed_pairs(flat([-0.5] * 8)),
    }
    assert tests["spent short of a verdict"].evidence().regression > 50
    assert proven_changes(tests) == {
        "worse": (Verdict.REGRESSION, tests["worse"].evidence().regression),
        "better": (Verdict.IMPROVEMENT, tests["better"].evidence().improvement),
    }


def test_only_open_comparisons_need_pairs() -> None:
    tests = {
        "new": SequentialTest(PARAMETERS, higher_is_better=False),
        "equal": feed_pairs(flat([0.0] * 20)),
        "faster": feed_pairs(flat([-0.5] * 8)),
        "spent": feed_pairs(flat([0.5] * 8), Parameters(seed=1, max_pairs=8)),
    }
    assert select_unfinished(tests, frozenset()) == {"new", "faster"}
    assert select_unfinished(tests, {"faster"}) == {"new"}
