"""The table of memory and load."""

from __future__ import annotations

from harness.core.metric import Metric
from harness.core.result import Result
from harness.presentation.measurement_section import describe_measurements
from harness.presentation.phases import build_phases
from harness.testing.results import ok_result


def metric(name: str, unit: str, value: float) -> Metric:
    return Metric(
        name=f"RUN {name}", type="RUN", metric=name, unit=unit, samples=(value,), launches=(0,), summary={"p50": value}
    )


def with_metrics(*metrics: Metric) -> Result:
    result = ok_result()
    return result.model_copy(update={"metrics": (*result.metrics, *metrics)})


def rows(*results: Result) -> list[tuple[str, ...]]:
    columns = build_phases(results)
    return [tuple(column.cells[row].text for column in columns) for row in range(len(columns[0].cells))]


def test_phases_have_a_row_each_and_a_benchmark_is_named_once() -> None:
    result = with_metrics(
        metric("cold_load_time", "ns", 35.1e6),
        metric("memory_before_load", "bytes", 5 << 20),
        metric("peak_memory_in_method_load", "bytes", 34 << 20),
        metric("planned_memory", "bytes", 592 << 10),
    )
    shown = rows(result)
    assert [(row[0], row[1]) for row in shown if row[0]] == [(result.benchmark.title, "before loading")]
    by_phase = {row[1]: row[2:] for row in shown}
    assert by_phase["before loading"][2] == "5.00 MiB"
    assert by_phase["method is loaded"][1:] == ("35.1 ms", "", "", "34.0 MiB")
    assert by_phase["planned memory"][2] == "592 KiB"
    assert "program is loaded" not in by_phase


def test_results_whose_phases_were_not_asked_for_have_no_table() -> None:
    result = with_metrics(metric("memory_before_load", "bytes", 5 << 20), metric("peak_memory", "bytes", 6 << 20))
    assert rows(result) == []
    assert not describe_measurements([result]).phases.has_rows
