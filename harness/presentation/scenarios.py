"""Figures of one benchmark as it is lived: cold, warm and sustained, and how paced executions kept their deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.core.metric import main_metric
from harness.core.result import Result
from harness.presentation.numbers import format_change, format_median, format_percent, format_quantity, mark_throttled
from harness.presentation.tables import Column, make_cells

NEVER = "never"


def build_scenarios(results: Sequence[Result]) -> list[Column]:
    """Build the table of cold, warm and sustained figures, with one row for each paced result and each long run.

    `cold` is the first execution of a launch whose files were read from the disk, with loading before it; `warm` is the
    median that the result is about; `sustained` the steady state of a long run.
    """
    rows = [result for result in results if result.ok and _has_scenario(result)]

    def column(name: str, text_of: Callable[[Result], str]) -> Column:
        return Column(name, make_cells(map(text_of, rows)), right=name != "benchmark")

    return [
        column("benchmark", lambda result: result.benchmark.title),
        column("cold load", lambda result: _median_of(result, "RUN cold_load_time")),
        column("cold", lambda result: _median_of(result, "RUN cold_first_iteration")),
        column("warm", _format_warm),
        column("at 10 s", _format_early),
        column("sustained", _format_steady),
        column("throttled after", _format_throttling),
        column("response", lambda result: _median_of(result, "NET response_time")),
        column("response p99", _format_response_p99),
        column("deadline", _format_deadline),
        column("too late", _format_late),
    ]


def _has_scenario(result: Result) -> bool:
    return result.long_run is not None or result.metric("NET response_time") is not None


def _median_of(result: Result, name: str) -> str:
    metric = result.metric(name)
    return format_median(metric) if metric is not None else ""


def _format_warm(result: Result) -> str:
    main = main_metric(result.metrics)
    return mark_throttled(format_median(main), throttled=result.throttled) if main is not None else ""


def _format_early(result: Result) -> str:
    run = result.long_run
    return "" if run is None or run.early is None else format_quantity(run.early, run.unit)


def _format_steady(result: Result) -> str:
    run = result.long_run
    return "" if run is None else format_quantity(run.steady, run.unit)


def _format_throttling(result: Result) -> str:
    run = result.long_run
    if run is None:
        return ""
    if run.throttled_after_s is None:
        return f"{NEVER} in {run.end_s:.0f} s"
    change = format_change(run.change)
    return f"{run.throttled_after_s:.0f} s ({change}{', recovered' if run.recovered else ''})"


def _format_response_p99(result: Result) -> str:
    response = result.metric("NET response_time")
    return format_quantity(response.summary.get("p99"), response.unit) if response is not None else ""


def _format_deadline(result: Result) -> str:
    arrival = result.benchmark.arrival
    return format_quantity(arrival.deadline_s, "s") if arrival is not None and arrival.deadline_s is not None else ""


def _format_late(result: Result) -> str:
    late = result.metric("NET missed_deadlines")
    return format_percent(late.median) if late is not None and late.median is not None else ""
