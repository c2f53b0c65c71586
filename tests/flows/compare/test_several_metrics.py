"""Several metrics of one comparison: the same launches, a verdict and a result of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.comparison import Parameters
from harness.core.metric import LATENCY
from harness.core.result import Outcome, Result
from harness.core.verdict import Verdict
from harness.shell import Interrupted
from tests.flows.compare.test_resuming import interrupting
from tests.flows.runs import Run

LOAD_TIME = "NET load_time"
BOTH = (LATENCY, LOAD_TIME)
PARAMETERS = Parameters(seed=3, max_pairs=40)


def by_metric(run: Run) -> dict[str, Result]:
    """Return the results of a comparison of one benchmark on one device."""
    compared = {result.comparison.metric: result for result in run.recorder.results if result.comparison is not None}
    assert len(compared) == len(run.recorder.results)
    return compared


def test_each_metric_has_a_verdict_by_the_same_pairs(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH)
    results = by_metric(run)
    comparisons = {name: result.comparison for name, result in results.items()}
    latency, load = comparisons[LATENCY], comparisons[LOAD_TIME]
    assert latency is not None
    assert load is not None
    assert (latency.verdict, load.verdict) == (Verdict.REGRESSION, Verdict.NO_CHANGE)
    launches = [[(pair.index, pair.control_launch, pair.seconds) for pair in each.pairs] for each in (latency, load)]
    assert launches[0] == launches[1]
    assert run.launches_of("A") == 2 * len(latency.pairs) + 2  # each side warms up once
    assert latency.seconds == load.seconds


def test_results_of_one_comparison_differ_in_name_and_samples(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH)
    results = by_metric(run)
    assert results[LATENCY].uid != results[LOAD_TIME].uid
    assert results[LATENCY].metric(LOAD_TIME) is None
    assert [metric.name for metric in results[LOAD_TIME].metrics] == [LOAD_TIME]
    load = results[LOAD_TIME].metric(LOAD_TIME)
    assert load is not None
    assert load.control is not None
    assert len(load.control.control_values) == len(load.samples)


def test_metrics_count_among_all_that_is_compared(tmp_path: Path) -> None:
    """The evidence that eight pairs bring suffices among five comparisons, and not among ten."""
    few, names = Parameters(seed=3, max_pairs=8), ["several-on-A", *(f"several-{number}" for number in range(4))]
    alone, both = Run(tmp_path / "alone"), Run(tmp_path / "both")
    alone.compare(["A"], names, parameters=few)
    both.compare(["A"], names, parameters=few, metrics=BOTH)
    assert len(both.recorder.results) == 2 * len(alone.recorder.results)
    compared = [
        comparison
        for run in (alone, both)
        for result in run.recorder.results
        if (comparison := result.comparison) is not None and comparison.verdict.is_change
    ]
    assert [(comparison.metric, comparison.discovered) for comparison in compared] == [
        (LATENCY, True),
        (LATENCY, False),
    ]


def test_a_metric_that_nobody_reports_is_a_failure_in_words(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=(LATENCY, "NET nothing"))
    (result,) = run.recorder.results
    assert result.outcome is Outcome.FAILED
    assert result.reason == "the control reports no samples of NET nothing"


def test_an_interrupted_comparison_resumes_all_its_metrics(tmp_path: Path) -> None:
    whole, parts = Run(tmp_path / "whole"), Run(tmp_path / "parts")
    whole.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH)
    with pytest.raises(Interrupted):
        parts.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH, watch=interrupting("A", 11))
    again = Run(tmp_path / "parts")
    again.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH, resume=True)
    expected, resumed = by_metric(whole), by_metric(again)
    assert resumed.keys() == expected.keys()
    for name, result in resumed.items():
        comparison, uninterrupted = result.comparison, expected[name].comparison
        assert comparison is not None
        assert uninterrupted is not None
        assert comparison.verdict is uninterrupted.verdict
        assert [pair.control_first for pair in comparison.pairs] == [
            pair.control_first for pair in uninterrupted.pairs[: len(comparison.pairs)]
        ]
    assert again.waiting() == 0


def test_pairs_of_other_metrics_are_not_resumed(tmp_path: Path) -> None:
    first = Run(tmp_path)
    with pytest.raises(Interrupted):
        first.compare(["A"], ["several-on-A"], parameters=PARAMETERS, watch=interrupting("A", 11))
    again = Run(tmp_path)
    again.compare(["A"], ["several-on-A"], parameters=PARAMETERS, metrics=BOTH, resume=True)
    comparison = by_metric(again)[LATENCY].comparison
    assert comparison is not None
    assert all(pair.control_launch is not None for pair in comparison.pairs)
