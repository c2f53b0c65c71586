from __future__ import annotations

import pytest

from harness.core.metric import Metric, Observation
from harness.run.derived_metrics import operator_medians, sum_operators


def observed(type_: str, *samples: float, metric: str = "latency", unit: str = "us") -> Observation:
    return Observation(type=type_, metric=metric, unit=unit, samples=samples)


def test_each_operator_has_the_median_of_its_samples_in_microseconds() -> None:
    said = [
        observed("conv #1", 3, 1, 2),
        observed("add #1", 0.004, 0.006, unit="ms"),
        observed("mul #1", 1500, unit="ns"),
    ]
    assert operator_medians(said) == {"conv #1": 2.0, "add #1": 5.0, "mul #1": 1.5}


def test_what_is_no_time_of_an_operator_is_left_out() -> None:
    said = [
        observed("NET", 100.0),
        observed("RUN", 5.0),
        observed("LLM", 5.0),
        observed("conv #1", 7.0, metric="memory", unit="bytes"),
        observed("conv #1", 7.0, metric="latency", unit=""),
        Observation(type="conv #1", metric="latency", info="unknown"),
    ]
    assert operator_medians(said) == {}


def test_a_median_that_the_program_reported_itself_counts() -> None:
    said = [Observation(type="ID_0_Conv", metric="latency", unit="us", summary={"p50": 12.0, "mean": 14.0})]
    assert operator_medians(said) == {"ID_0_Conv": 12.0}


@pytest.mark.parametrize(("type_", "whole"), [("NET", False), ("Convolution (NHWC, F32) IGEMM #3", True)])
def test_a_metric_is_of_an_operator_when_its_type_is_no_whole(type_: str, whole: bool) -> None:
    metric = Metric(name=f"{type_} latency", type=type_, metric="latency", unit="us")
    assert metric.is_of_operator is whole


def test_calls_of_one_name_in_one_iteration_are_added_up() -> None:
    said = [observed("NET", 180, 190), observed("conv", 100, 50, 110, 60), observed("relu", 10, 11)]
    summed, notes = sum_operators(said)
    assert operator_medians(summed) == {"conv": 160.0, "relu": 10.5}
    assert [one.samples for one in summed] == [(180, 190), (150, 170), (10, 11)]
    assert not notes


def test_calls_in_several_parts_of_the_output_are_added_up() -> None:
    said = [observed("NET", 180), observed("NET", 190), observed("conv", 100, 50), observed("conv", 110, 60)]
    assert [one.samples for one in sum_operators(said)[0][2:]] == [(150,), (170,)]


def test_calls_that_do_not_fit_the_iterations_stay_and_are_remarked() -> None:
    said = [observed("NET", 180, 190), observed("conv", 100, 50, 110)]
    same, (note,) = sum_operators(said)
    assert same == tuple(said)
    assert note.code == "repeated_operator"
    assert note.message.startswith("conv latency was reported 3 times in 2 iterations")


@pytest.mark.parametrize("said", [[observed("conv", 1, 2)], [observed("NET", 9, 9), observed("conv", 1)]])
def test_where_nothing_was_repeated_everything_stays(said: list[Observation]) -> None:
    assert sum_operators(said) == (tuple(said), ())


def test_other_metrics_of_many_samples_stay() -> None:
    said = [observed("NET", 180), observed("RUN", 1, 2), observed("conv", 1, 2, metric="memory", unit="bytes")]
    assert sum_operators(said) == (tuple(said), ())
