"""Search for culprits: queries, answers and results."""

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
from harness.core.percent import in_percent
from tests.analysis.bisect.noisy_history import NoisyHistory, stepped
from tests.analysis.trend.made_series import recorded_noise

NOISE = np.random.default_rng(11).standard_t(4, 4000) * 0.008
COMMITS = tuple(f"c{number}" for number in range(33))


def searched(history: NoisyHistory, config: SearchConfig | None = None) -> tuple[SearchResult, Search]:
    return history.run(Search.begin(history.commits, config=config))


def test_a_culprit_is_found_and_proven() -> None:
    result, search = searched(NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1))
    (culprit,) = result.culprits
    assert result.ending is SearchEnding.FOUND
    assert (culprit.before, culprit.commits) == ("c20", ("c21",))
    assert culprit.confirmed
    assert culprit.effect.low_log_ratio is not None
    assert 0 < culprit.effect.low_log_ratio <= culprit.effect.log_ratio
    assert culprit.effect.log_ratio == pytest.approx(0.03, abs=0.01)
    assert result.pairs == search.pairs
    assert result.reason.startswith(
        f"c21 changed it by {in_percent(culprit.effect.relative_change, 2, signed=True)}; no other change of "
    )


@pytest.mark.parametrize("culprit", [1, 2, 31, 32])
def test_a_culprit_next_to_an_end_is_found(culprit: int) -> None:
    result, _ = searched(NoisyHistory(stepped(32, (culprit, 0.03)), NOISE, seed=culprit))
    assert [found.commits for found in result.culprits] == [(f"c{culprit}",)]


def test_the_commit_of_an_improvement_is_found() -> None:
    result, _ = searched(NoisyHistory(stepped(32, (9, -0.03)), NOISE, seed=4))
    assert [culprit.commits for culprit in result.culprits] == [("c9",)]
    assert result.culprits[0].effect.log_ratio < 0


def test_neighbouring_endpoints_need_no_search() -> None:
    result, _ = searched(NoisyHistory(stepped(1, (1, 0.03)), NOISE, seed=3))
    assert [culprit.commits for culprit in result.culprits] == [("c1",)]


def test_equal_endpoints_end_without_a_culprit() -> None:
    result, search = searched(NoisyHistory(stepped(32), NOISE, seed=2))
    assert result.ending is SearchEnding.NOTHING
    assert not result.culprits
    assert {answer.treatment for answer in search.answers} == {"c32"}


def test_no_change_is_claimed_only_above_the_resolution_of_the_noise() -> None:
    result, _ = searched(NoisyHistory(stepped(32, (9, 0.01)), 8 * NOISE, seed=4))
    assert result.ending is SearchEnding.NOTHING
    assert result.smallest_log_ratio > 0.01
    size = f"{in_percent(relative_change(result.smallest_log_ratio), 2)} (p25) or more, but no smaller one"
    assert f"rule out a change of {size}" in result.reason


def test_identical_endpoints_end_the_search_at_once() -> None:
    search = Search.begin(COMMITS).learn_same("c0", "c32")
    result = search.next()
    assert isinstance(result, SearchResult)
    assert (result.ending, result.pairs, result.total_log_ratio, result.further_probability) == (
        SearchEnding.NOTHING,
        0,
        0.0,
        0.0,
    )
    assert result.reason == "c0 and c32 are the same bytes: there is nothing to find between them"
    assert search.posterior().unchanged == pytest.approx(1.0)


def test_identical_builds_add_no_pairs_and_do_not_lower_the_noise() -> None:
    search = Search.begin(COMMITS, [0.03, 0.05, 0.01, 0.04] * 5, config=SearchConfig(max_pairs=20))
    with_identical = search.learn_same("c0", "c16").learn_same("c19", "c20", Purpose.CONFIRM)
    result, result_with_identical = search.next(), with_identical.next()
    assert isinstance(result, SearchResult)
    assert isinstance(result_with_identical, SearchResult)
    assert result_with_identical.pairs == 20
    assert result_with_identical.smallest_log_ratio == result.smallest_log_ratio


def test_identical_builds_exonerate_a_commit_and_all_before_it() -> None:
    search = Search.begin(COMMITS, [0.03, 0.031] * 10).learn_same("c0", "c16").learn_same("c19", "c20")
    probabilities = {culprit.commit: culprit.probability for culprit in search.posterior().suspects}
    assert max(probabilities[f"c{number}"] for number in (*range(1, 17), 20)) < 1e-3
    assert sum(probabilities.values()) == pytest.approx(1.0, abs=1e-3)
    query = search.next()
    assert isinstance(query, Query)
    assert int(query.treatment[1:]) > 16


@pytest.mark.parametrize("culprits", [((2, 0.03),), ((17, 0.03),), ((32, 0.03),), ((8, 0.04), (20, 0.05))])
def test_commits_with_identical_builds_are_compared_once(
    culprits: tuple[tuple[int, float], ...],
) -> None:
    result, search = NoisyHistory(stepped(32, *culprits), NOISE, seed=3, plain=True).run(Search.begin(COMMITS))
    assert [culprit.commits for culprit in result.culprits] == [(f"c{commit}",) for commit, _ in culprits]
    same = [(answer.control, answer.treatment) for answer in search.answers if answer.same]
    assert same
    assert len(set(same)) == len(same)


def test_probability_of_an_earlier_culprit_is_updated_by_the_further_search() -> None:
    result, search = searched(NoisyHistory(stepped(32, (8, 0.04), (20, 0.05)), NOISE, seed=3))
    probabilities = {culprit.commit: culprit.probability for culprit in search.suspects()}
    assert list(probabilities) == list(COMMITS[1:])
    assert {culprit.commits[0]: culprit.probability for culprit in result.culprits} == {
        commit: pytest.approx(probabilities[commit]) for commit in ("c8", "c20")
    }
    assert search.culprits == result.culprits


def test_every_culprit_is_reported() -> None:
    result, _ = searched(NoisyHistory(stepped(32, (5, 0.04), (14, -0.03), (27, 0.05)), NOISE, seed=1))
    assert [culprit.commits for culprit in result.culprits] == [("c5",), ("c14",), ("c27",)]
    assert result.unexplained_log_ratio == pytest.approx(0.0, abs=0.02)


def test_two_steps_in_the_same_direction_are_both_reported() -> None:
    result, _ = searched(NoisyHistory(stepped(32, (8, 0.04), (24, 0.04)), NOISE, seed=6))
    assert [culprit.commits for culprit in result.culprits] == [("c8",), ("c24",)]
    assert result.unexplained_log_ratio == pytest.approx(0.0, abs=0.02)


@pytest.mark.exhaustive
def test_a_second_culprit_is_rarely_missed_in_loud_noise() -> None:
    loud, trials, hits = np.random.default_rng(12).standard_t(3, 4000) * 0.04, 12, 0
    for seed in range(trials):
        result, _ = searched(NoisyHistory(stepped(12, (3, 0.06), (9, 0.05)), loud, seed))
        hits += [culprit.commits for culprit in result.culprits] == [("c3",), ("c9",)]
    assert hits >= trials - 1


def test_commits_that_do_not_build_widen_the_result() -> None:
    result, search = searched(NoisyHistory(stepped(32, (16, 0.04)), NOISE, seed=5, broken=(15, 16, 17)))
    (culprit,) = result.culprits
    assert culprit.before == "c14"
    assert culprit.commits == ("c15", "c16", "c17", "c18")
    assert "one of c15, c16, c17, c18, of which only the last builds" in result.reason
    assert set(search.skipped) == {"c15", "c16", "c17"}


@pytest.mark.parametrize("confirm_pairs", [0, 100])
def test_a_history_with_few_builds_has_a_wide_result(confirm_pairs: int) -> None:
    history = NoisyHistory(stepped(300, (150, 0.04)), NOISE, seed=5, broken=range(1, 298))
    result, _ = searched(history, SearchConfig(confirm_pairs=confirm_pairs))
    (culprit,) = result.culprits
    assert culprit.before == "c0"
    assert culprit.commits == history.commits[1:299]


def test_an_exhausted_budget_is_reported_with_intermediate_results() -> None:
    config = SearchConfig(max_pairs=30)
    result, _ = searched(NoisyHistory(stepped(32, (21, 0.015)), NOISE, seed=1), config)
    assert result.ending is SearchEnding.UNDECIDED
    assert result.pairs == 30
    assert "30 pairs, the budget, are spent" in result.reason


def test_commits_that_are_equally_likely_are_none_the_likeliest_and_no_change_has_its_share() -> None:
    """The pairs of the ends alone leave open which of the two between them it was, and whether any."""
    pairs = [0.018, 0.003, 0.025, 0.005, 0.019, 0.01, 0.022, 0.008]
    search = Search.begin(COMMITS[:3], config=SearchConfig(max_pairs=len(pairs))).learn("c0", "c2", pairs)
    result = search.next()
    assert isinstance(result, SearchResult)
    posterior = search.posterior()
    assert 0.05 < posterior.unchanged < 0.5
    assert "most" not in result.reason
    assert result.reason.endswith(f"2 commits hold {100 * (1 - posterior.unchanged):.0f} % of the probability; "
                                  f"that nothing changed, {100 * posterior.unchanged:.0f} %")  # fmt: skip


def test_an_exhausted_budget_names_no_culprit_when_no_change_is_more_likely() -> None:
    search = Search.begin(COMMITS[:2], config=SearchConfig(max_pairs=4)).learn("c0", "c1", [0.0, 0.001, -0.001, 0.0])
    result = search.next()
    assert isinstance(result, SearchResult)
    assert result.ending is SearchEnding.UNDECIDED
    unchanged = search.posterior().unchanged
    assert result.reason == f"4 pairs, the budget, are spent: most likely nothing changed ({100 * unchanged:.0f} %)"


def test_without_confirmation_neighbours_are_not_compared() -> None:
    result, search = searched(NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1), SearchConfig(confirm_pairs=0))
    assert not result.culprits[0].confirmed
    assert "(not confirmed by fresh pairs)" in result.reason
    assert result.culprits[0].effect.log_ratio == pytest.approx(0.03, abs=0.01)
    assert {answer.control for answer in search.answers} == {"c0"}


def test_fresh_pairs_without_a_change_continue_the_search() -> None:
    search = Search.begin(COMMITS, [0.03] * 20).learn("c0", "c15", [0.0] * 20).learn("c0", "c16", [0.03] * 20)
    query = search.next()
    assert isinstance(query, Query)
    assert (query.control, query.treatment, query.purpose) == ("c15", "c16", Purpose.CONFIRM)
    doubting = search.learn("c15", "c16", [0.0] * 20, Purpose.CONFIRM).posterior()
    assert suspected(doubting, "c16") < suspected(search.posterior(), "c16")


def test_pairs_of_the_search_do_not_confirm_a_culprit() -> None:
    search = Search.begin(COMMITS[:2], [0.03, 0.031] * 30)
    query = search.next()
    assert isinstance(query, Query)
    assert query.purpose is Purpose.CONFIRM


def test_a_stored_search_continues() -> None:
    history = NoisyHistory(stepped(32, (21, 0.03)), NOISE, seed=1, broken=(16,))
    search = Search.begin(history.commits)
    while isinstance(wanted := search.next(), Query):
        again = Search.model_validate_json(search.model_dump_json())
        assert again == search
        assert again.next() == wanted
        search = history.step(search, wanted)
    assert search.next() == wanted
    assert SearchResult.model_validate_json(wanted.model_dump_json()) == wanted


def test_a_search_stored_under_former_names_is_read() -> None:
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


def test_learning_returns_a_new_search() -> None:
    search = Search.begin(COMMITS)
    search.learn("c0", "c32", [0.03])
    search.skip("c16")
    assert search == Search.begin(COMMITS)


@pytest.mark.parametrize(
    ("control", "treatment", "ratios", "message"),
    [
        ("c0", "c99", [0.1], "not in the history"),
        ("c5", "c9", [0.1], "neither the good commit nor the one before"),
        ("c9", "c9", [0.1], "neither"),
        ("c0", "c3", [0.1], "neither"),
        ("c0", "c9", [], "finite numbers"),
        ("c0", "c9", [math.nan], "finite numbers"),
    ],
)
def test_invalid_answers_are_refused(control: str, treatment: str, ratios: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Search.begin(COMMITS).skip("c3").learn(control, treatment, ratios)


def test_a_measured_commit_cannot_be_skipped() -> None:
    search = Search.begin(COMMITS).learn("c0", "c9", [0.0])
    with pytest.raises(ValueError, match="was measured"):
        search.skip("c9")
    for end in ("c0", "c32"):
        with pytest.raises(ValueError, match="nothing to search between"):
            search.skip(end)


@pytest.mark.parametrize("commits", [(), ("c0",), ("c0", "c1", "c0")])
def test_a_history_needs_two_ends_and_unique_commits(commits: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Search.begin(commits)


measured_ratios = st.lists(
    st.tuples(st.integers(1, 16), st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=6)), min_size=1, max_size=8
)


@settings(deadline=None, max_examples=40)
@given(measured_ratios)
def test_posterior_is_a_distribution_for_any_answers(measurements: list[tuple[int, list[float]]]) -> None:
    search = Search.begin(COMMITS[:17])
    for commit, ratios in measurements:
        search = search.learn("c0", f"c{commit}", ratios)
    posterior = search.posterior()
    assert all(0 <= suspect.probability <= 1 for suspect in posterior.suspects)
    assert sum(suspect.probability for suspect in posterior.suspects) + posterior.unchanged == pytest.approx(1.0)
    assert 0 <= posterior.several <= 1
    assert Posterior.model_validate_json(posterior.model_dump_json()) == posterior
    assert isinstance(search.next(), Query | SearchResult)


def test_the_likeliest_suspects_are_a_minimal_set() -> None:
    search = Search.begin(COMMITS, [0.03] * 20).learn("c0", "c15", [0.0] * 20).learn("c0", "c18", [0.03] * 20)
    assert {suspect.commit for suspect in search.posterior().likeliest()} == {"c16", "c17", "c18"}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_recorded_noise_rarely_misleads() -> None:
    noise, trials, hits = recorded_noise(), 40, 0
    for seed in range(trials):
        culprit = int(np.random.default_rng(seed).integers(1, 65))
        result, _ = searched(NoisyHistory(stepped(64, (culprit, math.log1p(0.02))), noise, seed))
        hits += [found.commits for found in result.culprits] == [(f"c{culprit}",)]
    assert hits >= 0.9 * trials


def suspected(posterior: Posterior, commit: str) -> float:
    return next(suspect.probability for suspect in posterior.suspects if suspect.commit == commit)


def test_nothing_is_suspected_between_commits_of_the_same_program() -> None:
    commits = tuple(f"c{number}" for number in range(9))
    search = Search.begin(commits, [0.10, 0.11, 0.09, 0.10])
    for number, log_ratio in ((3, 0.0), (6, 0.04)):  # noise: between them, only a comparison of bytes can tell
        search = search.learn("c0", f"c{number}", [log_ratio, log_ratio + 0.01, log_ratio - 0.01, log_ratio])
    suspected = {suspect.commit: suspect.probability for suspect in search.suspects()}
    assert sum(suspected[f"c{number}"] for number in (4, 5, 6)) > 0.1
    known = search.identify("c3", "a").identify("c6", "a").identify("c8", "b")
    suspected = {suspect.commit: suspect.probability for suspect in known.suspects()}
    assert [suspected[f"c{number}"] for number in (4, 5, 6)] == [0.0, 0.0, 0.0]
    assert math.fsum(suspected.values()) == pytest.approx(1.0, abs=0.01)
    assert Search.model_validate_json(known.model_dump_json()) == known


def test_a_program_between_two_equal_ones_separates_them() -> None:
    commits = tuple(f"c{number}" for number in range(9))
    search = Search.begin(commits, [0.10, 0.11, 0.09, 0.10])
    for number, log_ratio in ((2, 0.0), (4, 0.10), (6, 0.0)):
        search = search.learn("c0", f"c{number}", [log_ratio, log_ratio + 0.01, log_ratio - 0.01, log_ratio] * 3)
    known = search.identify("c2", "a").identify("c4", "b").identify("c6", "a")
    suspected = {suspect.commit: suspect.probability for suspect in known.suspects()}
    assert suspected["c3"] + suspected["c4"] > 0.9


def test_only_a_commit_of_the_history_is_identified() -> None:
    with pytest.raises(ValueError, match="not in the history"):
        Search.begin(("c0", "c1")).identify("c2", "a")
