"""Figures of one benchmark as it is lived: cold, warm and sustained, and how paced executions kept their deadline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from harness.core.metric import main_metric
from harness.core.result import Result
from harness.core.scenario import Pattern
from harness.presentation.numbers import format_change, format_median, format_percent, format_quantity, mark_throttled
from harness.presentation.tables import Column, make_cells

_RESPONSE_TIME: Final = "NET response_time"


def build_scenarios(results: Sequence[Result]) -> list[Column]:
    """Build the table of cold, warm and sustained figures, with one row for each long run.

    `cold` is the first execution of a launch whose files were read from the disk, with loading before it; `warm` is the
    median that the result is about; `sustained` the steady state of a long run.
    """
    rows = [result for result in results if result.ok and result.long_run is not None]
    return [
        _column("benchmark", rows, lambda result: result.benchmark.title),
        _column("cold load", rows, lambda result: _median_of(result, "RUN cold_load_time")),
        _column("cold", rows, lambda result: _median_of(result, "RUN cold_first_iteration")),
        _column("warm", rows, _format_warm),
        _column("at 10 s", rows, _format_early),
        _column("sustained", rows, _format_steady),
        _column("throttled after", rows, _format_throttling),
    ]


def build_paced(results: Sequence[Result]) -> list[Column]:
    """Build the table of paced executions: their latency, their response with queueing, and how many were too late."""
    rows = [result for result in results if result.ok and result.metric(_RESPONSE_TIME) is not None]
    return [
        _column("benchmark", rows, lambda result: result.benchmark.title),
        _column("arrival", rows, _format_arrival),
        _column("latency", rows, _format_warm),
        _column("response", rows, lambda result: _median_of(result, _RESPONSE_TIME)),
        _column("response p99", rows, _format_response_p99),
        _column("deadline", rows, _format_deadline),
        _column("too late", rows, _format_late),
    ]


def _column(name: str, rows: Sequence[Result], text_of: Callable[[Result], str]) -> Column:
    return Column(name, make_cells(map(text_of, rows)), right=name not in {"benchmark", "arrival"})


def _format_arrival(result: Result) -> str:
    arrival = result.benchmark.arrival
    if arrival is None:
        return ""
    every = format_quantity(arrival.interval_s, "s")
    return f"every {every}" if arrival.pattern is Pattern.PERIODIC else f"random, {every} apart"


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
        return f"never in {run.end_s:.0f} s"
    change = f"{format_change(run.change)}{', recovered' if run.recovered else ''}"
    if run.contention:
        return f"not known ({change} beside others)"
    return f"{run.throttled_after_s:.0f} s ({change})"


def _format_response_p99(result: Result) -> str:
    response = result.metric(_RESPONSE_TIME)
    return format_quantity(response.summary.get("p99"), response.unit) if response is not None else ""


def _format_deadline(result: Result) -> str:
    arrival = result.benchmark.arrival
    return format_quantity(arrival.deadline_s, "s") if arrival is not None and arrival.deadline_s is not None else ""


def _format_late(result: Result) -> str:
    late = result.metric("NET missed_deadlines")
    return format_percent(late.median) if late is not None and late.median is not None else ""
