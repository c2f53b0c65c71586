"""The search asks, learns and finds."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.analysis.bisect.queries import Posterior, Purpose, Query, SearchConfig
from harness.analysis.bisect.search import Search
from harness.core.culprit import SearchEnding, SearchResult
from harness.core.effect import relative_change
from tests.analysis.bisect.noisy_history import NoisyHistory, stepped
from tests.analysis.trend.made_series import recorded_noise

NOISE = np.random.default_rng(11).standard_t(4, 4000) * 0.008
COMMITS = tuple(f"c{number}" for number in range(33))


def searched(history: NoisyHistory, config: SearchConfig | None = None) -> tuple[SearchResult, Search]:
    return history.run(Search.begin(history.commits, config=config))


def test_a_culprit_is_found_and_proven() -> None:
    found, search = searched(NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1))
    (culprit,) = found.culprits
    assert found.ending is SearchEnding.FOUND
    assert (culprit.before, culprit.commits) == ("c20", ("c21",))
    assert culprit.confirmed
    assert culprit.effect.low_log_ratio is not None
    assert 0 < culprit.effect.low_log_ratio <= culprit.effect.log_ratio
    assert culprit.effect.log_ratio == pytest.approx(0.03, abs=0.01)
    assert found.pairs == search.pairs
    assert found.reason == f"c21 changed it by {culprit.effect.relative_change:+.2%}"


@pytest.mark.parametrize("culprit", [1, 2, 31, 32])
def test_a_culprit_next_to_an_end_is_found(culprit: int) -> None:
    found, _ = searched(NoisyHistory(stepped(32, (culprit, 0.03)), NOISE, seed=culprit))
    assert [one.commits for one in found.culprits] == [(f"c{culprit}",)]


def test_the_commit_that_made_it_faster_is_found_too() -> None:
    found, _ = searched(NoisyHistory(stepped(32, (9, -0.03)), NOISE, seed=4))
    assert [culprit.commits for culprit in found.culprits] == [("c9",)]
    assert found.culprits[0].effect.log_ratio < 0


def test_two_neighbours_leave_nothing_to_locate() -> None:
    found, _ = searched(NoisyHistory(stepped(1, (1, 0.03)), NOISE, seed=3))
    assert [culprit.commits for culprit in found.culprits] == [("c1",)]


def test_equal_endpoints_are_told_as_no_change() -> None:
    found, search = searched(NoisyHistory(stepped(32), NOISE, seed=2))
    assert found.ending is SearchEnding.NOTHING
    assert not found.culprits
    assert {answer.treatment for answer in search.answers} == {"c32"}


def test_nothing_is_told_only_of_what_the_noise_lets_one_see() -> None:
    found, _ = searched(NoisyHistory(stepped(32, (9, 0.01)), 8 * NOISE, seed=4))
    assert found.ending is SearchEnding.NOTHING
    assert found.smallest_log_ratio > 0.01
    assert f"a change of {relative_change(found.smallest_log_ratio):.2%} or more, but no smaller one" in found.reason


def test_between_ends_of_the_same_bytes_there_is_nothing_to_find() -> None:
    search = Search.begin(COMMITS).learn_same("c0", "c32")
    found = search.next()
    assert isinstance(found, SearchResult)
    assert (found.ending, found.pairs, found.total_log_ratio, found.further_probability) == (
        SearchEnding.NOTHING,
        0,
        0.0,
        0.0,
    )
    assert found.reason == "c0 and c32 are the same bytes: there is nothing to find between them"
    assert search.posterior().unchanged == pytest.approx(1.0)


def test_equal_bytes_are_no_pairs_and_make_no_noise_smaller() -> None:
    search = Search.begin(COMMITS, [0.03, 0.05, 0.01, 0.04] * 5, config=SearchConfig(max_pairs=20))
    told = search.learn_same("c0", "c16").learn_same("c19", "c20", Purpose.CONFIRM)
    spent, spent_too = search.next(), told.next()
    assert isinstance(spent, SearchResult)
    assert isinstance(spent_too, SearchResult)
    assert spent_too.pairs == 20
    assert spent_too.smallest_log_ratio == spent.smallest_log_ratio


def test_equal_bytes_clear_a_commit_and_all_before_it_for_good() -> None:
    search = Search.begin(COMMITS, [0.03, 0.031] * 10).learn_same("c0", "c16").learn_same("c19", "c20")
    told = {one.commit: one.probability for one in search.posterior().suspects}
    assert max(told[f"c{number}"] for number in (*range(1, 17), 20)) < 1e-3
    assert sum(told.values()) == pytest.approx(1.0, abs=1e-3)
    asked = search.next()
    assert isinstance(asked, Query)
    assert int(asked.treatment[1:]) > 16


@pytest.mark.parametrize("culprits", [((2, 0.03),), ((17, 0.03),), ((32, 0.03),), ((8, 0.04), (20, 0.05))])
def test_a_culprit_among_commits_that_change_no_byte_is_found_and_no_answer_asked_for_twice(
    culprits: tuple[tuple[int, float], ...],
) -> None:
    found, search = NoisyHistory(stepped(32, *culprits), NOISE, seed=3, plain=True).run(Search.begin(COMMITS))
    assert [culprit.commits for culprit in found.culprits] == [(f"c{commit}",) for commit, _ in culprits]
    same = [(answer.control, answer.treatment) for answer in search.answers if answer.same]
    assert same
    assert len(set(same)) == len(same)


def test_what_is_believed_of_a_culprit_is_told_also_when_the_search_has_gone_on_behind_it() -> None:
    found, search = searched(NoisyHistory(stepped(32, (8, 0.04), (20, 0.05)), NOISE, seed=3))
    told = {one.commit: one.probability for one in search.suspects()}
    assert list(told) == list(COMMITS[1:])
    assert {culprit.commits[0]: culprit.probability for culprit in found.culprits} == {
        commit: pytest.approx(told[commit]) for commit in ("c8", "c20")
    }
    assert search.culprits == found.culprits


def test_every_culprit_is_told() -> None:
    found, _ = searched(NoisyHistory(stepped(32, (5, 0.04), (14, -0.03), (27, 0.05)), NOISE, seed=1))
    assert [culprit.commits for culprit in found.culprits] == [("c5",), ("c14",), ("c27",)]
    assert found.unexplained_log_ratio == pytest.approx(0.0, abs=0.02)


def test_two_steps_in_the_same_direction_are_both_told() -> None:
    found, _ = searched(NoisyHistory(stepped(32, (8, 0.04), (24, 0.04)), NOISE, seed=6))
    assert [culprit.commits for culprit in found.culprits] == [("c8",), ("c24",)]
    assert found.unexplained_log_ratio == pytest.approx(0.0, abs=0.02)


def test_commits_that_do_not_build_widen_the_answer() -> None:
    found, search = searched(NoisyHistory(stepped(32, (16, 0.04)), NOISE, seed=5, broken=(15, 16, 17)))
    (culprit,) = found.culprits
    assert culprit.before == "c14"
    assert culprit.commits == ("c15", "c16", "c17", "c18")
    assert "one of c15, c16, c17, c18, of which only the last builds" in found.reason
    assert set(search.skipped) == {"c15", "c16", "c17"}


@pytest.mark.parametrize("confirm_pairs", [0, 100])
def test_a_history_that_hardly_builds_has_a_wide_answer(confirm_pairs: int) -> None:
    history = NoisyHistory(stepped(300, (150, 0.04)), NOISE, seed=5, broken=range(1, 298))
    found, _ = searched(history, SearchConfig(confirm_pairs=confirm_pairs))
    (culprit,) = found.culprits
    assert culprit.before == "c0"
    assert culprit.commits == history.commits[1:299]


def test_a_spent_budget_is_told_with_what_is_known() -> None:
    config = SearchConfig(max_pairs=30)
    found, _ = searched(NoisyHistory(stepped(32, (21, 0.015)), NOISE, seed=1), config)
    assert found.ending is SearchEnding.UNDECIDED
    assert found.pairs == 30
    assert "30 pairs, the budget, are spent" in found.reason


def test_a_spent_budget_accuses_nobody_where_no_change_is_likelier() -> None:
    search = Search.begin(COMMITS[:2], config=SearchConfig(max_pairs=4)).learn("c0", "c1", [0.0, 0.001, -0.001, 0.0])
    found = search.next()
    assert isinstance(found, SearchResult)
    assert found.ending is SearchEnding.UNDECIDED
    unchanged = search.posterior().unchanged
    assert found.reason == f"4 pairs, the budget, are spent: most likely nothing changed ({unchanged:.0%})"


def test_without_confirmation_no_neighbours_are_compared() -> None:
    found, search = searched(NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1), SearchConfig(confirm_pairs=0))
    assert not found.culprits[0].confirmed
    assert "(not confirmed by fresh pairs)" in found.reason
    assert found.culprits[0].effect.log_ratio == pytest.approx(0.03, abs=0.01)
    assert {answer.control for answer in search.answers} == {"c0"}


def test_fresh_pairs_that_see_nothing_send_the_search_on() -> None:
    search = Search.begin(COMMITS, [0.03] * 20).learn("c0", "c15", [0.0] * 20).learn("c0", "c16", [0.03] * 20)
    asked = search.next()
    assert isinstance(asked, Query)
    assert (asked.control, asked.treatment, asked.purpose) == ("c15", "c16", Purpose.CONFIRM)
    doubting = search.learn("c15", "c16", [0.0] * 20, Purpose.CONFIRM).posterior()
    assert suspected(doubting, "c16") < suspected(search.posterior(), "c16")


def test_pairs_that_were_not_fresh_prove_nothing() -> None:
    search = Search.begin(COMMITS[:2], [0.03, 0.031] * 30)
    asked = search.next()
    assert isinstance(asked, Query)
    assert asked.purpose is Purpose.CONFIRM


def test_a_stored_search_goes_on_where_it_stood() -> None:
    history = NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1, broken=(16,))
    search = Search.begin(history.commits)
    while isinstance(wanted := search.next(), Query):
        again = Search.model_validate_json(search.model_dump_json())
        assert again == search
        assert again.next() == wanted
        search = history.step(search, wanted)
    assert search.next() == wanted
    assert SearchResult.model_validate_json(wanted.model_dump_json()) == wanted


def test_a_search_that_was_stored_under_former_names_is_read() -> None:
    answer = {"control": "c0", "treatment": "c2", "purpose": "locate", "log_ratios": [0.03, 0.02], "same": False}
    stored = {
        "commits": ["c0", "c1", "c2"],
        "costs": {"pair_s": 1.0, "build_s": 0.0, "built": []},
        "aims": {"confidence": 0.9, "max_pairs": 7},
        "heard": [answer],
        "skipped": ["c1"],
    }
    config = SearchConfig(confidence=0.9, max_pairs=7)
    expected = Search.begin(COMMITS[:3], [0.03, 0.02], config=config).skip("c1")
    assert Search.model_validate_json(json.dumps(stored)) == expected


def test_a_search_stays_as_it_was_when_it_learns() -> None:
    search = Search.begin(COMMITS)
    search.learn("c0", "c32", [0.03])
    search.skip("c16")
    assert search == Search.begin(COMMITS)


@pytest.mark.parametrize(
    ("control", "treatment", "ratios", "complaint"),
    [
        ("c0", "c99", [0.1], "not in the history"),
        ("c5", "c9", [0.1], "neither the good commit nor the one before"),
        ("c9", "c9", [0.1], "neither"),
        ("c0", "c3", [0.1], "neither"),
        ("c0", "c9", [], "finite numbers"),
        ("c0", "c9", [math.nan], "finite numbers"),
    ],
)
def test_answers_that_mean_nothing_are_refused(
    control: str, treatment: str, ratios: list[float], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Search.begin(COMMITS).skip("c3").learn(control, treatment, ratios)


def test_what_was_measured_builds() -> None:
    search = Search.begin(COMMITS).learn("c0", "c9", [0.0])
    with pytest.raises(ValueError, match="was measured"):
        search.skip("c9")
    for end in ("c0", "c32"):
        with pytest.raises(ValueError, match="nothing to search between"):
            search.skip(end)


@pytest.mark.parametrize("commits", [(), ("c0",), ("c0", "c1", "c0")])
def test_a_history_needs_two_ends_and_has_each_commit_once(commits: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Search.begin(commits)


answers = st.lists(
    st.tuples(st.integers(1, 16), st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=6)), min_size=1, max_size=8
)


@settings(deadline=None, max_examples=40)
@given(answers)
def test_what_is_believed_is_a_distribution_whatever_is_heard(heard: list[tuple[int, list[float]]]) -> None:
    search = Search.begin(COMMITS[:17])
    for commit, ratios in heard:
        search = search.learn("c0", f"c{commit}", ratios)
    told = search.posterior()
    assert all(0 <= suspect.probability <= 1 for suspect in told.suspects)
    assert sum(suspect.probability for suspect in told.suspects) + told.unchanged == pytest.approx(1.0)
    assert 0 <= told.several <= 1
    assert Posterior.model_validate_json(told.model_dump_json()) == told
    assert isinstance(search.next(), Query | SearchResult)


def test_the_likeliest_are_as_few_as_possible() -> None:
    search = Search.begin(COMMITS, [0.03] * 20).learn("c0", "c15", [0.0] * 20).learn("c0", "c18", [0.03] * 20)
    assert {suspect.commit for suspect in search.posterior().likeliest()} == {"c16", "c17", "c18"}


@pytest.mark.slow
def test_recorded_noise_seldom_misleads() -> None:
    noise, trials, hits = recorded_noise(), 40, 0
    for seed in range(trials):
        culprit = int(np.random.default_rng(seed).integers(1, 65))
        found, _ = searched(NoisyHistory(stepped(64, (culprit, math.log1p(0.02))), noise, seed))
        hits += [one.commits for one in found.culprits] == [(f"c{culprit}",)]
    assert hits >= 0.9 * trials


def suspected(posterior: Posterior, commit: str) -> float:
    return next(suspect.probability for suspect in posterior.suspects if suspect.commit == commit)
