"""Lists of metrics: several kinds of figures of one benchmark."""

from __future__ import annotations

import pytest

from tests.specification.conftest import Complain, Expand


def test_a_list_names_all_kinds_and_the_first_is_the_metric(expand: Expand) -> None:
    (benchmark,) = expand({}, {"metric": ["delay", "operators", "memory"]})
    assert benchmark.metric == "delay"
    assert benchmark.kinds == ("delay", "operators", "memory")
    assert benchmark.has_operators
    assert not benchmark.operators


def test_a_single_metric_may_be_any_word(expand: Expand) -> None:
    (benchmark,) = expand({}, {"metric": "whatever"})
    assert benchmark.metric == "whatever"
    assert benchmark.kinds == ()


def test_the_metric_of_a_list_is_a_placeholder(expand: Expand) -> None:
    (benchmark,) = expand({}, {"metric": ["power", "delay"], "command": "run --{metric}"})
    assert benchmark.variables["metric"] == "power"
    assert not benchmark.energy  # energy has a pass of its own


def test_kinds_are_part_of_what_is_measured(expand: Expand) -> None:
    plain, listed = expand({}, {"metric": "delay"}, {"metric": ["delay", "memory"]})
    assert plain.digest != listed.digest


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (["delay", "operator"], "no kind of metric 'operator'"),
        (["delay", "delay"], "'delay' is named twice"),
        ([], "metric"),
        (["delay", 3], "metric"),
    ],
)
def test_mistakes_in_a_list_are_named(complain: Complain, metric: list[object], words: str) -> None:
    problems = complain({}, {"metric": metric})
    assert any(words in problem.message or words in problem.pointer for problem in problems), problems
