"""Searches that look at the five figures of a launch, and what they say that they ruled out."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.bisect.queries import Query, SearchConfig
from harness.analysis.bisect.search import Search
from harness.core.comparison import GAIN_STATISTICS, STATISTICS
from harness.core.culprit import SearchEnding, SearchResult
from harness.core.effect import relative_change
from harness.core.percent import in_percent
from tests.analysis.bisect.noisy_history import NoisyHistory, stepped
from tests.analysis.compare.simulated_launches import QUIET, figures, iterations
from tests.analysis.trend.made_series import paired_figures

NOISE = paired_figures(figures(iterations(QUIET, np.random.default_rng(7), 4000)))
TAIL = (0.0, 0.0, 0.05, 0.11, 1.0)
"""A change of the tail, for one of 1 in p90: one iteration in ten takes longer."""


def history_of(*steps: tuple[int, float], shape: tuple[float, ...] = (1.0,) * 5, seed: int = 1) -> NoisyHistory:
    return NoisyHistory(stepped(32, *steps), NOISE, seed, shape=shape)


@pytest.mark.parametrize("seed", range(3))
def test_a_change_of_the_tail_alone_is_found(seed: int) -> None:
    result, _ = history_of((11, 0.18), shape=TAIL, seed=seed).run(Search.begin([f"c{n}" for n in range(33)]))
    (culprit,) = result.culprits
    assert (culprit.commits, culprit.confirmed) == (("c11",), True)
    assert result.figure in {"mean", "p90"}
    assert culprit.figure == result.figure
    assert culprit.effect.log_ratio == pytest.approx(0.18 * TAIL[STATISTICS.index(result.figure)], abs=0.02)


def test_a_change_of_every_figure_is_found() -> None:
    result, _ = history_of((11, 0.03)).run(Search.begin([f"c{n}" for n in range(33)]))
    assert [culprit.commits for culprit in result.culprits] == [("c11",)]


def test_equal_ends_are_ruled_out_in_every_figure() -> None:
    result, _ = history_of().run(Search.begin([f"c{n}" for n in range(33)]))
    assert result.ending is SearchEnding.NOTHING
    assert [out.figure for out in result.ruled_out] == list(STATISTICS)
    for out in result.ruled_out:
        assert out.probability > 0.99
        assert f"{in_percent(relative_change(out.log_ratio), 2)} ({out.figure})" in result.reason


def test_no_figure_is_ruled_out_that_may_have_changed() -> None:
    search = Search.begin([f"c{n}" for n in range(33)], config=SearchConfig(max_pairs=400))
    result, _ = history_of((11, 0.18), shape=TAIL).run(search)
    assert result.ending is SearchEnding.FOUND


def test_a_search_says_the_smallest_other_change_that_it_ruled_out_and_where() -> None:
    result, _ = history_of((11, 0.04)).run(Search.begin([f"c{n}" for n in range(33)]))
    (out,) = result.ruled_out
    assert (out.after, out.until) == ("c0", "c32")
    assert out.log_ratio == pytest.approx(0.01, abs=0.002)
    size = f"{in_percent(relative_change(out.log_ratio), 2)} or more ({out.figure}) behind c0 up to c32"
    assert f"no other change of {size}" in result.reason
    assert "smaller ones were not looked for" in result.reason
    assert "100" not in result.reason


def test_pairs_of_an_earlier_harness_are_searched_in_the_figure_that_they_have() -> None:
    commits = [f"c{n}" for n in range(33)]
    search = Search.begin(commits, [0.0] * 8)
    result, ended = history_of((11, 0.03)).run(search)
    assert result.figure == "p25"
    assert any(answer.figures for answer in ended.answers)
    assert Search.model_validate_json(ended.model_dump_json()) == ended


def test_the_figures_of_a_rate_have_their_own_names() -> None:
    search = Search.begin([f"c{n}" for n in range(33)]).model_copy(update={"statistics": GAIN_STATISTICS})
    result, _ = history_of((11, -0.18), shape=TAIL).run(search)
    assert result.figure in {"mean", "p10"}


def test_a_search_goes_on_from_verified_pairs_with_all_figures() -> None:
    history = history_of((11, 0.18), shape=TAIL)
    figures = history.figures("c0", "c32", 20)
    search = Search.begin(history.commits, [pair[1] for pair in figures], figures=figures)
    query = search.next()
    assert isinstance(query, Query)
    assert query.treatment != "c32", "the ends are known to differ"


def test_figures_must_be_complete() -> None:
    search = Search.begin(["c0", "c1"])
    with pytest.raises(ValueError, match="every figure"):
        search.learn("c0", "c1", [0.1, 0.2], figures=[[0.1] * 5])
    with pytest.raises(ValueError, match="finite"):
        search.learn("c0", "c1", [0.1], figures=[[0.1, 0.1, 0.1, 0.1, float("nan")]])
    assert not isinstance(search.next(), SearchResult)
