from __future__ import annotations

import pytest

from harness.core.metric import Direction, Metric, convert, direction_of, main_metric


@pytest.mark.parametrize(
    ("metric", "unit", "direction"),
    [
        ("latency", "us", Direction.LOWER),
        ("peak_memory", "bytes", Direction.LOWER),
        ("top1_accuracy", "%", Direction.HIGHER),
        ("generate_tokens_per_second", "", Direction.HIGHER),
        ("throughput", "img/s", Direction.HIGHER),
        ("sqnr", "dB", Direction.HIGHER),
        ("rel_l2", "", Direction.LOWER),
        ("NET latency", "ms", Direction.LOWER),
        *(("decode_rate", unit, Direction.HIGHER) for unit in ("tokens/sec", "tok/s", "tokens per second", "qps", "")),
        ("load", "images/second", Direction.HIGHER),
        ("transfer", "GB/s", Direction.HIGHER),
        ("decode", "ms/token", Direction.LOWER),
        ("accuracy", "s", Direction.LOWER),
        ("correction_time", "ms", Direction.LOWER),
        ("top1_latency", "ms", Direction.LOWER),
        ("heatmap", "bytes", Direction.LOWER),
        *((name, "", Direction.LOWER) for name in ("incorrect", "disagreement", "heatmap", "heatMap", "top1_error")),
        *((name, "", Direction.HIGHER) for name in ("top_5", "top1", "mAP", "tokenThroughput", "correct", "NET psnr")),
        ("stopwatch", "", Direction.LOWER),
    ],
)
def test_direction_is_derived_from_the_name(metric: str, unit: str, direction: Direction) -> None:
    assert direction_of(metric, unit) is direction


def test_stated_directions_take_precedence_by_whole_name() -> None:
    higher = {"NET quality": Direction.HIGHER}
    assert direction_of("NET quality", "", higher) is Direction.HIGHER
    assert direction_of("NET quality", "ms", {"quality": Direction.HIGHER}) is Direction.HIGHER
    assert direction_of("RUN quality", "", higher) is Direction.LOWER


def test_times_convert_and_other_units_do_not() -> None:
    assert convert(1.5, "ms", "us") == 1500
    assert convert(7, "dB", "dB") == 7
    assert convert(7, "dB", "ms") is None


def _metric(name: str, unit: str, **summary: float) -> Metric:
    type_, _, metric = name.partition(" ")
    return Metric(name=name, type=type_, metric=metric, unit=unit, summary={**summary})


def test_main_metric_is_the_model_latency_or_else_the_first_time_or_rate_or_else_the_first_median() -> None:
    count, size = _metric("NET count", "", n=1.0), _metric("RUN size", "bytes", p50=1.0)
    load, rate = _metric("RUN load_time", "ms", p50=1.0), _metric("LLM rate", "tokens/s", p50=1.0)
    latency = _metric("NET latency", "us", p50=1.0)
    assert main_metric([size, load, latency]) == latency
    assert main_metric([size, rate, load]) == rate
    assert main_metric([size, load, rate]) == load
    assert main_metric([count, size]) == size
    assert main_metric([count]) is None


def test_a_result_of_energy_alone_is_about_the_energy_that_is_compared() -> None:
    battery, whole = _metric("battery energy", "mJ", p50=9.0), _metric("RUN energy", "mJ", p50=9.0)
    net, power = _metric("RUN dynamic_energy", "mJ", p50=7.0), _metric("RUN idle_power", "W", p50=1.0)
    assert main_metric([battery, whole, power, net]) == net
    assert main_metric([battery, power, whole]) == whole
    assert main_metric([battery, power]) == battery


def test_a_metric_without_numbers_is_never_the_main_metric() -> None:
    text = Metric(name="NET latency", type="NET", metric="latency", unit="ms", info="not measured")
    assert main_metric([text]) is None
    assert main_metric([text, _metric("RUN load_time", "ms", p50=1.0)]) != text


def test_times_and_rates_are_timed_and_counts_are_not() -> None:
    assert [_metric("a b", unit).is_timed for unit in ("ns", "s", "img/s", "tokens/sec", "", "bytes")] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]
