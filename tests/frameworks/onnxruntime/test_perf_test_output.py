"""What `onnxruntime_perf_test` prints. The layouts are those of its source in releases 1.7 and 1.22."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.onnxruntime.perf_test import read_output
from harness.core.command import Command, Completed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.testing.frameworks import benchmark_of

PERCENTILES = """Min Latency: 0.00720383 s
Max Latency: 0.00730163 s
P50 Latency: 0.00727787 s
P90 Latency: 0.00730163 s
P95 Latency: 0.00730163 s
P99 Latency: 0.00730163 s
P999 Latency: 0.00730163 s
"""
TODAYS = f"""Setting intra_op_num_threads to 1
Session creation time cost: 0.169475 s
First inference time cost: 109 ms
Total inference time cost: 0.0727021 s
Total inference requests: 10
Average inference time cost total: 7.270205 ms
Total inference run time: 0.0727619 s
Number of inferences per second: 137.435
Avg CPU usage: 62 %
Peak working set size: 91336704 bytes
Avg CPU usage:62
Peak working set size:91336704
Runs:10
{PERCENTILES}"""
EARLIER = """
Session creation time cost: 2.74716 s
First inference time cost: 85 ms
Total inference time cost: 6.22935 s
Total inference requests: 100
Average inference time cost: 62.2935 ms
Total inference run time: 6.23146 s
Number of inferences per second: 16.0476
Avg CPU usage: 38 %
Peak working set size: 114634752 bytes
"""


def read(text: str, exit_code: int = 0) -> tuple[dict[str, Observation], tuple[Note, ...]]:
    completed = Completed(Command(("onnxruntime_perf_test",)), exit_code, stdout=text)
    observations, notes = read_output([completed], benchmark_of("onnxruntime"))
    return {observation.name: observation for observation in observations}, tuple(notes)


def test_statistics_are_those_that_it_prints() -> None:
    metrics, notes = read(TODAYS)

    latency = metrics["NET latency"]
    assert (latency.unit, latency.samples) == ("ms", ())
    assert latency.summary == pytest.approx(
        {
            "n": 10,
            "mean": 7.270205,
            "p0": 7.20383,
            "p100": 7.30163,
            "p50": 7.27787,
            "p90": 7.30163,
            "p95": 7.30163,
            "p99": 7.30163,
            "p99.9": 7.30163,
        }
    )
    assert metrics["RUN load_time"].samples == (0.169475,)
    assert (metrics["RUN first_iteration"].samples, metrics["RUN first_iteration"].unit) == ((109.0,), "ms")
    assert metrics["RUN peak_memory"].samples == (91336704.0,)
    assert metrics["NET throughput"].samples == (137.435,)
    assert notes == ()


def test_the_earlier_layout_is_read_too_and_lacks_percentiles() -> None:
    metrics, notes = read(EARLIER)

    assert metrics["NET latency"].summary == {"n": 100.0, "mean": 62.2935}
    assert [note.hint for note in notes] == ["start it with -s"]


def test_inferences_beside_each_other_are_not_trusted() -> None:
    _, notes = read(TODAYS.replace("run time: 0.0727619", "run time: 0.0363"))
    assert [note.trust for note in notes] == [False]


@pytest.mark.parametrize("text", ["", PERCENTILES, "Average inference time cost total: nan ms\n", TODAYS[:150]])
def test_a_run_without_an_average_gives_no_numbers(text: str) -> None:
    assert read(text) == ({}, ())


def test_a_failed_run_gives_no_numbers() -> None:
    assert read(TODAYS, exit_code=1) == ({}, ())


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read(text)
    read(TODAYS + text)


def test_long_lines_and_many_lines_take_linear_time() -> None:
    metrics, _ = read("A" * 1_000_000 + "\n" + "P50 Latency: 1 s\n" * 50_000 + TODAYS)
    summary = metrics["NET latency"].summary or {}
    assert summary["p50"] == 1000.0  # the first of each name counts
