from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.summary import STANDARD, collect, summarise
from harness.core.metric import Direction, Metric, Observation

untimed = settings(deadline=None)  # a busy machine is no finding
sensible = st.floats(min_value=-1e9, max_value=1e9)


def latency(*samples: float, unit: str = "ms") -> Observation:
    return Observation(type="NET", metric="latency", unit=unit, samples=samples)


def observe(**fields: object) -> Observation:
    return Observation.model_validate({"type": "NET", "metric": "latency", "unit": "ms", **fields})


def only(*launches: Observation) -> Metric:
    metrics, notes = collect([[launch] for launch in launches])
    assert notes == ()
    assert len(metrics) == 1
    return metrics[0]


def test_a_known_example_has_the_figures_of_fai_pep() -> None:
    summary = summarise([4.0, 1.0, 2.0, 3.0, 10.0])
    assert summary == {
        "mean": 4.0,
        "p0": 1.0,
        "p10": pytest.approx(1.4),
        "p50": 3.0,
        "p90": pytest.approx(7.6),
        "p100": 10.0,
        "stdev": pytest.approx(math.sqrt(10)),
        "MAD": 1.0,
        "cv": pytest.approx(math.sqrt(10) / 4),
        "min": 1.0,
        "max": 10.0,
        "n": 5.0,
    }
    assert tuple(summary) == STANDARD


def test_the_median_of_an_even_number_of_samples_is_interpolated() -> None:
    assert summarise([1.0, 2.0, 4.0, 100.0])["p50"] == 3.0


def test_requested_percentiles_are_added_under_their_name() -> None:
    summary = summarise([*map(float, range(1001))], ["p99.9", "p25", "mean"])
    assert summary["p99.9"] == pytest.approx(999.0)
    assert summary["p25"] == 250.0
    assert list(summary)[-2:] == ["p99.9", "p25"]


def test_the_variation_of_a_zero_mean_is_undefined() -> None:
    assert summarise([-1.0, 1.0])["cv"] is None


def test_values_outside_the_range_of_doubles_are_undefined() -> None:
    summary = summarise([1.7e308, 1.7e308, -1.7e308])
    assert summary["stdev"] is None
    assert summary["p100"] == 1.7e308


@pytest.mark.parametrize("name", ["p101", "p-1", "p", "median", "p1e1", "P50", ""])
def test_an_unknown_statistic_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown statistic"):
        summarise([1.0], [name])


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf]])
def test_empty_and_infinite_samples_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        summarise(samples)


@untimed
@given(st.lists(sensible, min_size=1, max_size=50), st.floats(min_value=0, max_value=100))
def test_every_statistic_matches_its_definition(samples: list[float], percent: float) -> None:
    percent = round(percent, 3)
    summary = summarise(samples, [f"p{percent:.3f}"])
    median = statistics.median(samples)
    assert summary[f"p{percent:.3f}"] == pytest.approx(np.percentile(samples, percent), rel=1e-9, abs=1e-6)
    assert summary["mean"] == pytest.approx(statistics.fmean(samples), rel=1e-9, abs=1e-6)
    assert summary["stdev"] == pytest.approx(statistics.pstdev(samples), rel=1e-9, abs=1e-6)
    assert summary["p50"] == pytest.approx(median, rel=1e-9, abs=1e-6)
    assert summary["MAD"] == pytest.approx(
        statistics.median(abs(sample - median) for sample in samples), rel=1e-9, abs=1e-6
    )
    assert (summary["min"], summary["max"], summary["n"]) == (min(samples), max(samples), len(samples))
    assert (summary["p0"], summary["p100"]) == (min(samples), max(samples))


@untimed
@given(st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=50), st.randoms())
def test_the_order_of_samples_does_not_matter(samples: list[int], chance: random.Random) -> None:
    shuffled = chance.sample(samples, len(samples))
    first, second = summarise(samples), summarise(shuffled)
    assert list(first) == list(second)
    assert list(first.values()) == pytest.approx(list(second.values()), rel=1e-9, abs=1e-6)


def test_samples_are_collected_with_their_launch_index() -> None:
    metric = only(latency(1.0, 2.0), latency(3.0))
    assert metric.name == "NET latency"
    assert (metric.samples, metric.launches) == ((1.0, 2.0, 3.0), (0, 0, 1))
    assert metric.summary["mean"] == 2.0
    assert metric.direction is Direction.LOWER


def test_a_launch_without_observations_keeps_its_index() -> None:
    metrics, _ = collect([[latency(1.0)], [], [latency(2.0)]])
    assert metrics[0].launches == (0, 2)


def test_the_unit_is_that_of_the_first_launch() -> None:
    metric = only(latency(1.0, unit="ms"), latency(2e6, unit="ns"))
    assert (metric.unit, metric.samples) == ("ms", (1.0, 2.0))


def test_observations_of_one_name_in_one_launch_are_joined() -> None:
    metrics, _ = collect([[latency(1.0), latency(2.0)]])
    assert (metrics[0].samples, metrics[0].launches) == ((1.0, 2.0), (0, 0))


@pytest.mark.parametrize("second", [latency(5.0, unit="cycles"), latency(1e308, unit="s")])
def test_an_incompatible_unit_becomes_a_separate_metric_with_a_note(second: Observation) -> None:
    metrics, notes = collect([[latency(1.0, unit="ns")], [second], [second]])
    assert [(metric.name, metric.unit) for metric in metrics] == [
        ("NET latency", "ns"),
        (f"NET latency ({second.unit})", second.unit),
    ]
    assert metrics[1].launches == (1, 2)
    assert [note.code for note in notes] == ["units"]


def test_metrics_keep_the_order_of_first_mention_and_their_names_are_unique() -> None:
    load = Observation(type="RUN", metric="load_time", unit="ms", samples=(1.0,))
    metrics, _ = collect([[load, latency(1.0)], [latency(1.0), load]])
    assert [metric.name for metric in metrics] == ["RUN load_time", "NET latency"]


def test_rates_are_better_when_higher() -> None:
    rate = Observation(type="LLM", metric="generate_tokens_per_second", unit="tokens/s", samples=(1.0,))
    assert only(rate).direction is Direction.HIGHER


def test_requested_statistics_are_in_the_metric() -> None:
    metrics, _ = collect([[latency(1.0)]], ["p99"])
    assert metrics[0].summary["p99"] == 1.0


def test_a_precomputed_summary_is_kept() -> None:
    metric = only(observe(summary={"p50": 2.0, "n": 7.0}))
    assert (metric.summary, metric.samples) == ({"p50": 2.0, "n": 7.0}, ())
    assert metric.direction is Direction.LOWER


def test_the_first_of_several_precomputed_summaries_is_kept_with_a_note() -> None:
    metrics, notes = collect([[observe(summary={"p50": 2.0})], [observe(summary={"p50": 3.0})]])
    assert metrics[0].summary == {"p50": 2.0}
    assert [note.code for note in notes] == ["summary_left_out"]


def test_samples_take_precedence_over_a_precomputed_summary() -> None:
    metrics, notes = collect([[observe(summary={"p50": 99.0})], [latency(1.0)]])
    assert metrics[0].summary["p50"] == 1.0
    assert [note.code for note in notes] == ["summary_left_out"]


def test_a_text_metric_has_no_direction() -> None:
    metric = only(observe(info="native"), observe(info="native"))
    assert (metric.info, metric.direction, metric.summary) == ("native", None, {})


def test_differing_texts_are_noted() -> None:
    metrics, notes = collect([[observe(info="native")], [observe(info="python")]])
    assert metrics[0].info == "native"
    assert [note.code for note in notes] == ["info_differs"]
    assert "'python' (launch 1)" in notes[0].message


@untimed
@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4), min_size=1, max_size=5))
def test_no_sample_is_lost_or_moved(launches: list[list[float]]) -> None:
    metrics, _ = collect([[latency(*samples)] for samples in launches])
    collected = [
        [sample for sample, launch in zip(metrics[0].samples, metrics[0].launches, strict=True) if launch == index]
        for index in range(len(launches))
    ]
    assert collected == launches
