"""Medians side by side, the samples of launches, and intervals that fit their verdicts."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.comparison import Comparison
from harness.core.metric import LaunchInterval, Metric, main_metric
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.presentation.comparison_table import build_columns, build_row
from harness.presentation.distributions import describe_launches
from harness.presentation.estimates import estimate, group_estimates
from harness.presentation.explanations import explain_in_full
from harness.presentation.numbers import format_interval
from harness.presentation.verdicts import stated_interval
from harness.testing.results import failed_result, ok_result
from tests.presentation.comparison_samples import compared, every_kind, made_pairs

SAMPLES = st.lists(st.floats(0.001, 1000), min_size=1, max_size=300)


def _latency(result: Result) -> Metric:
    metric = main_metric(result.metrics)
    assert metric is not None
    return metric


def _comparison(result: Result) -> Comparison:
    assert result.comparison is not None
    return result.comparison


@given(SAMPLES, st.integers(1, 5))
def test_every_launch_is_described_by_its_own_samples(samples: list[float], launches: int) -> None:
    metric = _latency(ok_result(samples=samples, launches=min(launches, len(samples))))
    described = describe_launches(metric)
    assert sum(launch.count for launch in described) == len(samples)
    for launch in described:
        own = [value for value, number in zip(metric.samples, metric.launches, strict=True) if number == launch.launch]
        values = [value for _, value in launch.points]
        assert launch.median == statistics.median(own)
        assert (launch.low, launch.high) == (min(own), max(own))
        assert {min(own), max(own)} <= set(values) <= set(own)
        assert len(values) <= 62
        assert [place for place, _ in launch.points] == sorted(place for place, _ in launch.points)
        assert launch.low <= launch.p25 <= launch.median <= launch.p75 <= launch.high


def test_a_median_has_its_interval_else_the_range_over_launches() -> None:
    result = ok_result(samples=[1.0, 1.1, 1.2, 2.0, 2.1, 2.2], launches=2)
    ranged = estimate(result, describe_launches(_latency(result)))
    assert ranged is not None
    assert (ranged.low, ranged.high, ranged.basis) == (1.1, 2.1, "range over launches")
    interval = LaunchInterval(low=1.0, high=1.5, confidence=0.95, launches=2)
    metrics = tuple(
        metric.model_copy(update={"interval": interval}) if metric.name == "NET latency" else metric
        for metric in result.metrics
    )
    known = estimate(result.model_copy(update={"metrics": metrics}), describe_launches(_latency(result)))
    assert known is not None
    assert (known.low, known.high, known.basis) == (1.0, 1.5, "95 % interval over launches")
    alone = estimate(result, ())
    assert alone is not None
    assert (alone.low, alone.high, alone.basis) == (None, None, "")


def test_only_results_of_the_same_work_stand_side_by_side() -> None:
    results = [
        ok_result(identifier="a"),
        ok_result(identifier="b"),
        ok_result(model="other"),
        ok_result(identifier="c", device=None),
        failed_result(identifier="d"),
    ]
    (group,) = group_estimates(results, {})
    assert [each.result.benchmark.identifier for each in group] == ["a", "b"]


@given(st.floats(-0.1, 0.1), st.integers(1, 60), st.floats(0.0, 5.0))
def test_interval_and_verdict_of_any_pairs_are_one_statement(change: float, pairs: int, noise: float) -> None:
    comparison = _comparison(compared("a", made_pairs(change, pairs, noise=noise)))
    assert stated_interval(comparison) == (comparison.low, comparison.high)


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_an_interval_reads_as_excluding_zero_where_it_does(first: float, second: float) -> None:
    low, high = min(first, second), max(first, second)
    text = format_interval(low, high)
    if low != high:
        lower, _, upper = text.removesuffix(" %").partition(" … ")
        assert (float(lower.replace(",", "")) > 0) is (low > 0)
        assert (float(upper.replace(",", "")) < 0) is (high < 0)


@pytest.mark.parametrize("higher_is_better", [False, True])
def test_an_interval_that_contradicts_its_verdict_is_not_shown(higher_is_better: bool) -> None:
    result = compared("a", made_pairs(0.1, 20))
    stored = _comparison(result).model_copy(
        update={
            "verdict": Verdict.REGRESSION,
            "difference": 0.168,
            "low": -0.0194,
            "high": 0.331,
            "higher_is_better": higher_is_better,
        }
    )
    old = result.model_copy(update={"comparison": stored})
    assert stated_interval(stored) is None
    assert build_row(old).interval == ""
    assert "computes both again" in explain_in_full(old, 1)
    assert "computes both again" not in explain_in_full(result, 1)


def test_the_heading_states_the_confidence_that_the_intervals_have() -> None:
    results = every_kind()
    assert "95 % interval" in [column.name for column in build_columns(results)]
    comparison = _comparison(results[0])
    parameters = comparison.parameters.model_copy(update={"alpha": 0.05})
    lenient = results[0].model_copy(update={"comparison": comparison.model_copy(update={"parameters": parameters})})
    (heading,) = (column.name for column in build_columns([lenient]) if column.name.endswith("interval"))
    assert heading not in {"95 % interval", "interval"}
    assert "interval" in [column.name for column in build_columns([lenient, *results[1:]])]
