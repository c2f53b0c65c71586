"""Lines of tests of Xcode: what they say of tests and metrics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.metric import Direction
from harness.core.xctest import (
    BadLine,
    CaseAsserted,
    CaseBegan,
    CaseEnded,
    CaseMeasured,
    SuiteBegan,
    XCTestCase,
    observe,
    parse_log,
)

CASE = XCTestCase("GenericTests", "test_forward_mv2_pte_iOS_17_2_1_iPhone15_4")
NAME = f"Test Case '-[{CASE.class_name} {CASE.name}]'"
CLOCK = (
    f"/x/GenericTests.mm:90: {NAME} measured [Clock Monotonic Time, s] average: 0.002, relative standard deviation: "
    "5.000%, values: [0.001912, 0.002088], performanceMetricID:com.apple.dt.XCTMetric_Clock.time.monotonic, "
    'baselineName: "", baselineAverage: , polarity: prefers smaller, maxPercentRegression: 10.000%'
)


def measured(line: str) -> CaseMeasured:
    (event,) = parse_log(line)
    assert isinstance(event, CaseMeasured)
    return event


def test_lines_become_events_in_order() -> None:
    log = "\n".join(
        (
            "Test Suite 'All tests' started at 2026-01-02 03:04:05.678.",
            f"{NAME} started.",
            f"/x/GenericTests.mm:62: error: -[{CASE.class_name} {CASE.name}] : XCTAssertEqual failed: (1) and (0)",
            "what the app prints itself",
            CLOCK,
            f"{NAME} failed (0.250 seconds).",
        )
    )
    began, started, asserted, figure, ended = parse_log(log)
    assert began == SuiteBegan(1, 1767323045.0)
    assert started == CaseBegan(2, CASE)
    assert asserted == CaseAsserted(3, CASE, "XCTAssertEqual failed: (1) and (0)")
    assert isinstance(figure, CaseMeasured)
    assert ended == CaseEnded(6, CASE, "failed", "0.250")


def test_values_are_read_and_not_the_rounded_average() -> None:
    event = measured(CLOCK)
    assert (event.metric, event.unit, event.average, event.spread_percent) == ("Clock Monotonic Time", "s", 0.002, 5.0)
    assert event.values == (0.001912, 0.002088)
    assert event.direction is Direction.LOWER


def test_polarity_says_which_way_is_better() -> None:
    assert measured(CLOCK.replace("prefers smaller", "prefers larger")).direction is Direction.HIGHER
    assert measured(CLOCK.partition(", performanceMetricID")[0]).direction is None


@pytest.mark.parametrize(
    ("metric", "method", "name", "unit"),
    [
        ("Clock Monotonic Time, s", "forward", "NET latency", "s"),
        ("Clock Monotonic Time, s", "", "NET latency", "s"),
        ("Clock Monotonic Time, s", "load", "RUN load_time", "s"),
        ("Clock Monotonic Time, s", "generate", "LLM generate_time", "s"),
        ("Memory Peak Physical, kB", "forward", "RUN peak_memory", "kB"),
        ("Memory Peak Physical, kB", "load", "RUN peak_load_memory", "kB"),
        ("Tokens Per Second, t/s", "generate", "LLM decode_rate", "tokens/s"),
        ("Memory Physical, kB", "forward", "NET Memory Physical", "kB"),
        ("Frames", "", "NET Frames", ""),
    ],
)
def test_metrics_have_our_names(metric: str, method: str, name: str, unit: str) -> None:
    observation = observe(measured(CLOCK.replace("Clock Monotonic Time, s", metric)), method)
    assert observation is not None
    assert (observation.name, observation.unit, observation.samples) == (name, unit, (0.001912, 0.002088))


def test_without_values_the_average_is_a_summary() -> None:
    observation = observe(measured(CLOCK.replace(", values: [0.001912, 0.002088]", "")), "forward")
    assert observation is not None
    assert observation.samples == ()
    assert observation.summary == {"mean": 0.002, "stdev": pytest.approx(0.0001)}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (CLOCK.replace("0.002088", "nan"), "`values` is not a list of numbers"),
        (CLOCK.replace("0.002088", "0,,1"), "`values` is not a list of numbers"),
        (CLOCK.replace("0.002088", "1" * 400), "`values` is not a list of numbers"),
        (CLOCK.replace("average: 0.002", "average: many"), "not `measured"),
        ("measured [Clock Monotonic Time, s] average: 0.002", "no name of a test"),
    ],
)
def test_measured_lines_that_cannot_be_read_are_named(line: str, reason: str) -> None:
    (event,) = parse_log(line)
    assert isinstance(event, BadLine)
    assert reason in event.reason


@given(
    st.lists(st.sampled_from([NAME, "measured [", "x, s]", " average: ", "1e99", "values: [", "]", "'", "\n", "\0"]))
)
def test_no_log_is_too_strange(words: list[str]) -> None:
    for event in parse_log("".join(words)):
        assert not isinstance(event, CaseMeasured) or observe(event) is not None
