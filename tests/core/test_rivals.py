"""Rivals generate the same."""

from __future__ import annotations

from harness.core.generation import GenerationRequest
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
