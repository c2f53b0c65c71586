"""Rivals generate the same."""

from __future__ import annotations

import pytest

from harness.core.generation import GenerationRequest
from harness.core.metric import LATENCY
from harness.core.result import Result
from harness.core.rivals import compute_speeds, group_rivals
from harness.testing.results import ok_result


def generated(depth: int, uid: str) -> Result:
    result = ok_result()
    benchmark = result.benchmark.model_copy(update={"generation": GenerationRequest(depth=depth)})
    return result.model_copy(update={"benchmark": benchmark, "uid": uid})


def test_a_deeper_context_is_other_work() -> None:
    groups = group_rivals([generated(0, "a"), generated(1024, "b"), generated(0, "c")])
    assert [[result.uid for result in group] for group in groups] == [["a", "c"], ["b"]]


def test_results_of_several_runs_have_speeds_only_where_they_are_asked_for() -> None:
    results = [generated(0, "a"), generated(0, "b").model_copy(update={"run": "another"})]
    assert compute_speeds(results) == {}
    assert compute_speeds(results, across_runs=True) == {"a": 1, "b": 1}


@pytest.mark.parametrize("latency_ms", [-2.5, 0.0, 5e-324])
def test_a_latency_that_no_ratio_has_gives_no_speed(latency_ms: float) -> None:
    results = [ok_result(uid="a"), ok_result(uid="b")]
    metrics = tuple(
        metric.model_copy(update={"summary": {**metric.summary, "p50": latency_ms}})
        if metric.name == LATENCY
        else metric
        for metric in results[0].metrics
    )
    results.append(ok_result(uid="odd").model_copy(update={"metrics": metrics}))
    assert compute_speeds(results) == {"a": 1, "b": 1}
