from __future__ import annotations

import pytest

from harness.core.metric import Metric, Observation
from harness.running.derived_metrics import operator_medians, sum_by_kind, sum_operators


def observe(type_: str, *samples: float, metric: str = "latency", unit: str = "us") -> Observation:
    return Observation(type=type_, metric=metric, unit=unit, samples=samples)


def test_each_operator_has_the_median_of_its_samples_in_microseconds() -> None:
    observations = [
        observe("conv #1", 3, 1, 2),
        observe("add #1", 0.004, 0.006, unit="ms"),
        observe("mul #1", 1500, unit="ns"),
    ]
    assert operator_medians(observations) == {"conv #1": 2.0, "add #1": 5.0, "mul #1": 1.5}


def test_operators_of_a_kind_are_summed_by_phase() -> None:
    medians = {"prefill: mul.out #1": 5.0, "prefill: mul.out #2": 7.0, "decode: mul.out #1": 1.0, "odd #x": 2.0}
    assert sum_by_kind(medians) == {"prefill: mul.out": 12.0, "decode: mul.out": 1.0, "odd #x": 2.0}


def test_other_observations_are_not_operator_times() -> None:
    observations = [
        observe("NET", 100.0),
        observe("RUN", 5.0),
        observe("LLM", 5.0),
        observe("conv #1", 7.0, metric="memory", unit="bytes"),
        observe("conv #1", 7.0, metric="latency", unit=""),
        Observation(type="conv #1", metric="latency", info="unknown"),
    ]
    assert operator_medians(observations) == {}


def test_a_reported_median_is_used() -> None:
    observations = [Observation(type="ID_0_Conv", metric="latency", unit="us", summary={"p50": 12.0, "mean": 14.0})]
    assert operator_medians(observations) == {"ID_0_Conv": 12.0}


@pytest.mark.parametrize(("type_", "whole"), [("NET", False), ("Convolution (NHWC, F32) IGEMM #3", True)])
def test_total_times_are_not_operators(type_: str, whole: bool) -> None:
    metric = Metric(name=f"{type_} latency", type=type_, metric="latency", unit="us")
    assert metric.is_of_operator is whole


def test_repeated_calls_in_one_iteration_are_summed() -> None:
    observations = [observe("NET", 180, 190), observe("conv", 100, 50, 110, 60), observe("relu", 10, 11)]
    summed, notes = sum_operators(observations)
    assert operator_medians(summed) == {"conv": 160.0, "relu": 10.5}
    assert [operator.samples for operator in summed] == [(180, 190), (150, 170), (10, 11)]
    assert not notes


def test_repeated_calls_in_several_parts_of_the_output_are_summed() -> None:
    observations = [observe("NET", 180), observe("NET", 190), observe("conv", 100, 50), observe("conv", 110, 60)]
    assert [operator.samples for operator in sum_operators(observations)[0][2:]] == [(150,), (170,)]


def test_calls_that_do_not_match_the_iterations_are_kept_with_a_note() -> None:
    observations = [observe("NET", 180, 190), observe("conv", 100, 50, 110)]
    same, (note,) = sum_operators(observations)
    assert same == tuple(observations)
    assert note.code == "repeated_operator"
    assert note.message.startswith("conv latency was reported 3 times in 2 iterations")


@pytest.mark.parametrize("observations", [[observe("conv", 1, 2)], [observe("NET", 9, 9), observe("conv", 1)]])
def test_without_repeated_calls_nothing_is_summed(observations: list[Observation]) -> None:
    assert sum_operators(observations) == (tuple(observations), ())


def test_other_metrics_of_many_samples_are_kept() -> None:
    observations = [observe("NET", 180), observe("RUN", 1, 2), observe("conv", 1, 2, metric="memory", unit="bytes")]
    assert sum_operators(observations) == (tuple(observations), ())
