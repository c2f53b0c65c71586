"""Scenarios: when executions are asked for, and for how long."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from harness.core.scenario import Arrival, Pattern, SustainedRequest
from tests.specification.conftest import Complain, Expand, Members

MODEL: Members = {"framework": "executorch", "files": {"model": {"filename": "m.pte", "location": "/m.pte"}}}
TYPED: Members = {"command": None}


def test_a_test_without_the_blocks_runs_back_to_back(expand: Expand) -> None:
    (benchmark,) = expand()
    assert (benchmark.arrival, benchmark.sustained) == (None, None)


def test_executions_may_arrive_at_fixed_intervals(expand: Expand) -> None:
    (benchmark,) = expand(MODEL, {**TYPED, "arrival": {"every_ms": 20, "deadline_ms": 10.5}})
    assert benchmark.arrival == Arrival(pattern=Pattern.PERIODIC, interval_s=0.02, deadline_s=0.0105)


def test_executions_may_arrive_at_random(expand: Expand) -> None:
    (benchmark,) = expand(MODEL, {**TYPED, "arrival": {"per_second": 50, "random": True, "seed": 7}})
    assert benchmark.arrival == Arrival(pattern=Pattern.POISSON, interval_s=0.02, seed=7)


def test_each_interval_of_an_axis_is_a_benchmark_of_its_own(expand: Expand) -> None:
    test: Members = {"identifier": "e{every}", "matrix": {"every": [10, 33.3]}, "arrival": {"every_ms": "{every}"}}
    benchmarks = expand(MODEL, {**TYPED, **test})
    intervals = [benchmark.arrival.interval_s for benchmark in benchmarks if benchmark.arrival is not None]
    assert intervals == pytest.approx([0.01, 0.0333])
    assert benchmarks[0].digest != benchmarks[1].digest


def test_a_long_run_is_asked_for_in_seconds(expand: Expand) -> None:
    (benchmark,) = expand(MODEL, {**TYPED, "sustained": {"seconds": 600}})
    assert benchmark.sustained == SustainedRequest(seconds=600)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"arrival": {}}, "neither `every_ms` nor `per_second`"),
        ({"arrival": {"every_ms": 5, "per_second": 5}}, "both given"),
        ({"arrival": {"every_ms": 0}}, "must be more than 0"),
        ({"arrival": {"every_ms": 5, "deadline_ms": -1}}, "must be more than 0"),
        ({"arrival": {"deadline_ms": 5}}, "neither"),
        ({"arrival": {"every_ms": 5, "seed": 3}}, "`seed` means nothing"),
        ({"arrival": {"every": 5}}, "every_ms"),
        ({"arrival": {"every_ms": "{pause}"}, "pause": "long"}, "not a number above 0"),
        ({"arrival": {"every_ms": 5}, "operators": True}, "`operators` means nothing"),
        ({"sustained": {}}, "seconds"),
        ({"sustained": {"seconds": 9}}, "no long run"),
        ({"sustained": {"seconds": 60}, "command": "{program}"}, "do not name {sustained_s}"),
        ({"arrival": {"every_ms": 5}, "arguments": "--iter 3"}, "do not name {arrival}"),
    ],
)
def test_contradictions_are_refused_in_words(complain: Complain, members: dict[str, JsonValue], words: str) -> None:
    problems = complain(MODEL, {**TYPED, **members})
    assert any(words in f"{problem.message}; {problem.hint}" for problem in problems)


def test_commands_that_name_the_placeholders_may_be_paced(expand: Expand) -> None:
    asked: Members = {"arrival": {"every_ms": 20}, "sustained": {"seconds": 60}}
    (benchmark,) = expand(MODEL, {"command": "{program} {arrival} {sustained_s}", **asked})
    assert benchmark.arrival is not None
    assert benchmark.arrival.text == "periodic:0.020000000"
    assert benchmark.sustained is not None
