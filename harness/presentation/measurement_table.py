"""Measurements as tables: one row per result, one per further metric, and the title with what all have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final

from harness.core.launch_interval import interval_of
from harness.core.metric import DYNAMIC_ENERGY, ENERGY, LATENCY, OUTPUTS, START_TIME, Direction, Metric, main_metric
from harness.core.result import Result
from harness.core.rivals import compute_speeds
from harness.core.same_work import WorkVerdict
from harness.core.scenario import SUSTAINED
from harness.presentation.generations import has_table
from harness.presentation.numbers import (
    format_factor,
    format_median,
    format_number,
    format_precision,
    format_quantity,
    format_spread,
    mark_throttled,
)
from harness.presentation.processors import describe_processor
from harness.presentation.ranks import format_rank, format_ratio, format_ratio_interval
from harness.presentation.remarks import choose_mark
from harness.presentation.speeds import find_fastest
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import Line, Span, Tone, make_printable

_AT_MOST: Final = 20
"""Further metrics shown for one result; the rest is in its file."""

_IN_SCENARIOS: Final = frozenset({f"NET {START_TIME}", "NET response_time", "NET missed_deadlines"})
"""Metrics that a table of their own has, or that are no figures; so are those of long runs."""

_MEANINGS: Final = {
    "±": "95 % interval of the median over the launches of this run",
    "to the fastest": "how many times as long as the fastest, from pairs of launches of the same round",
    "outputs": "largest difference from the eager model of the same weights, relative to its largest magnitude",
    "speed": "times as fast as the first; `harness rank` compares outputs, too",
    "MAD": "median absolute deviation",
    "p10": "a tenth is less; higher is better here",
    "first": "first iteration of a launch",
}


def format_title(results: Sequence[Result], *, with_runner: bool = True) -> Line:
    """Say what all results have in common; what differs is left to the table."""
    attributes: tuple[tuple[Callable[[Result], str], Tone], ...] = (
        (lambda result: result.benchmark.model, Tone.STRONG),
        (_describe_device, Tone.NORMAL),
        *([(_describe_runner, Tone.NORMAL)] if with_runner else []),
        (lambda result: result.backend, Tone.NORMAL),
        (_count_threads, Tone.NORMAL),
        (lambda result: f"harness {result.harness_version}", Tone.MUTED),
    )
    spans: list[Span] = []
    for attribute, tone in attributes:
        texts = {attribute(result) for result in results}
        if len(texts) == 1 and (text := texts.pop()):
            spans += [Span(" · "), Span(make_printable(text), tone)]
    return Line(tuple(spans[1:]))


def format_legend(headings: Collection[str]) -> str:
    """Explain those headings of the overview that need it."""
    return " · ".join(f"{name}: {meaning}" for name, meaning in _MEANINGS.items() if name in headings)


def build_overview(results: Sequence[Result]) -> list[Column]:
    """Build the table with one row per result, in the order of measurement."""
    ratios, fastest = compute_speeds(results), find_fastest(results)
    mains = [_find_main(result) if result.ok else None for result in results]

    def of_result(text_of: Callable[[Result], str]) -> list[Span]:
        return make_cells(map(text_of, results))

    def of_main(text_of: Callable[[Metric], str]) -> list[Span]:
        return [Span(text_of(main) if main else "") for main in mains]

    tail = _choose_tail(mains)
    metrics = [make_printable(main.name) if main else LATENCY for main in mains]
    medians = [_median(result, main, result.uid in fastest) for result, main in zip(results, mains, strict=True)]
    speeds = [
        Span(format_factor(ratios.get(result.uid)), Tone.GOOD if result.uid in fastest else Tone.NORMAL)
        for result in results
    ]
    return [
        Column("", [choose_mark(result) for result in results]),
        Column("rank", list(map(format_rank, results)), right=True),
        Column("model", of_result(lambda result: result.benchmark.model), distinguishing=True),
        Column("benchmark", of_result(lambda result: result.benchmark.identifier)),
        Column("device", of_result(_describe_device), distinguishing=True),
        Column("framework", of_result(lambda result: result.benchmark.framework), weight=10, distinguishing=True),
        Column("runner", of_result(_describe_runner), distinguishing=True),
        Column("backend", of_result(lambda result: result.backend), weight=10, distinguishing=True),
        Column("threads", of_result(_format_threads), weight=9, right=True, distinguishing=True),
        Column("metric", [Span(name) for name in metrics], distinguishing=set(metrics) == {LATENCY}),
        Column("median", medians, right=True),
        Column("±", of_main(lambda main: format_precision(main.precision)), right=True),
        Column("to the fastest", list(map(format_ratio, results)), weight=97, right=True),
        Column("95 % interval", of_result(format_ratio_interval), weight=95, right=True),
        Column("outputs", list(map(describe_outputs, results)), weight=90),
        Column("speed", speeds if len(ratios) > 1 else [Span("")] * len(results), right=True),
        Column("MAD", of_main(format_spread), weight=80, right=True),
        Column(tail, of_main(partial(_format_tail, heading=tail)), weight=70, right=True),
        Column("load", of_result(lambda result: _median_of(result, "RUN load_time")), weight=50, right=True),
        Column("first", of_result(lambda result: _median_of(result, "RUN first_iteration")), weight=40, right=True),
        Column("peak memory", of_result(_format_peak_memory), weight=60, right=True),
        Column("launches", of_main(_format_launches), weight=35, right=True),
        Column("n", of_main(_format_count), weight=30, right=True),
        Column("origin", of_result(describe_origin)),
    ]


def describe_origin(result: Result) -> str:
    """Say that another tool measured it; empty for what the harness measured."""
    return result.origin.words if result.origin is not None else ""


def describe_outputs(result: Result) -> Span:
    """Say whether it does the same work as its reference; empty where nobody asked."""
    same_work = result.same_work
    if same_work is None:
        return Span("")
    if same_work.verdict is WorkVerdict.NOT_COMPARED:
        return Span("not compared", Tone.WARNING)
    largest = "" if same_work.largest_difference is None else f"{same_work.largest_difference:.1e}"
    if same_work.is_same:
        return Span(largest)
    return Span(f"DIFFERENT {largest}".rstrip(), Tone.BAD)


def build_further_metrics(results: Sequence[Result]) -> list[Column]:
    """Build the table of metrics that the overview leaves out; a benchmark is named in its first row only."""
    listed = [(result, _find_further_metrics(result)) for result in results]
    tail = _choose_tail([metric for _, metrics in listed for metric in metrics[:_AT_MOST]])
    rows = [row for result, metrics in listed for row in _further_rows(result, metrics, tail)]
    names = ("benchmark", "metric", "median", "MAD", tail, "n")
    return [Column(name, [Span(row[number]) for row in rows], right=number > 1) for number, name in enumerate(names)]


def _find_main(result: Result) -> Metric | None:
    """Return the main metric of a result with its interval, also where an older version did not store it."""
    main = main_metric(result.metrics)
    if main is None or main.interval is not None:
        return main
    return main.model_copy(update={"interval": interval_of(main)})


def _describe_device(result: Result) -> str:
    device = result.device
    if device is None:
        return ""
    if result.origin is not None:  # nothing is known of its processor
        return " ".join(dict.fromkeys(filter(None, (device.name, device.os))))
    unnamed = device.model_copy(update={"kind": ""}) if device.kind == device.name else device
    details = [processor] if (processor := describe_processor(unnamed)) else []
    details.append(f"{device.cores} CPU{'s' if device.cores != 1 else ''}")
    return f"{device.name} ({', '.join(details)})"


def _describe_runner(result: Result) -> str:
    """Name framework, version and kind of runner; `none` is the commit of programs that nobody built."""
    build = result.build
    parts = (result.benchmark.framework, build.commit_label, build.recipe) if build else ()
    return " ".join(part for part in parts if part not in {"", "none"})


def _format_threads(result: Result) -> str:
    """Return the number of threads that the runtime tells, else that was asked for, else that was observed."""
    told, observed = result.metric("RUN threads"), result.metric("RUN threads_observed")
    asked = result.benchmark.threads
    return format_number(told.median if told else observed.median if observed and asked is None else asked)


def _count_threads(result: Result) -> str:
    count = _format_threads(result)
    return f"{count} thread{'s' if count != '1' else ''}" if count else ""


def _median(result: Result, main: Metric | None, fastest: bool) -> Span:
    if not result.ok:
        return Span(result.outcome.words, choose_mark(result).tone)
    if main is None:
        return Span("no number")
    text = mark_throttled(format_median(main), throttled=result.throttled)
    return Span(text, Tone.GOOD if fastest else Tone.STRONG if result.trusted else Tone.WARNING)


def _median_of(result: Result, name: str) -> str:
    metric = result.metric(name) if result.ok else None
    return format_median(metric) if metric else ""


def _choose_tail(metrics: Sequence[Metric | None]) -> str:
    """Choose the heading of the column of tails: the percentile of most of them."""
    tails = [_name_tail(metric) for metric in metrics if metric is not None]
    return max(("p90", "p10"), key=tails.count)


def _name_tail(metric: Metric) -> str:
    """Name the percentile behind which the worst tenth lies."""
    return "p10" if metric.direction is Direction.HIGHER else "p90"


def _format_tail(metric: Metric, heading: str) -> str:
    """Format that percentile, with its name where the heading has another."""
    name = _name_tail(metric)
    text = format_quantity(metric.summary.get(name), metric.unit)
    return f"{name} {text}" if text and name != heading else text


def _format_launches(metric: Metric) -> str:
    return format_number(metric.interval.launches if metric.interval else None)


def _format_count(metric: Metric) -> str:
    return format_number(metric.summary.get("n"))


def _format_peak_memory(result: Result) -> str:
    peaks = [launch.peak_memory_bytes for launch in result.launches if launch.peak_memory_bytes and result.ok]
    return _median_of(result, "RUN peak_memory") or format_quantity(max(peaks, default=None), "bytes")


def _find_counts_of_launches(result: Result) -> frozenset[str]:
    """Return the metrics of whole launches that probes counted, where those of one iteration are not known."""
    names = frozenset(name for each in result.probes for name in each.metrics)
    return frozenset(
        name for name in names if name.startswith("RUN ") and f"NET {name.removeprefix('RUN ')}" not in names
    )


def _find_further_metrics(result: Result) -> list[Metric]:
    main = main_metric(result.metrics)
    hidden = {LATENCY, "NET cpu_time", main.name if main else LATENCY, *_IN_SCENARIOS}
    counted = _find_counts_of_launches(result)
    metrics = [
        metric
        for metric in result.metrics
        if metric.summary
        and (metric.type not in {"RUN", OUTPUTS} or metric.metric in {ENERGY, DYNAMIC_ENERGY} or metric.name in counted)
        and metric.name not in hidden
        and not has_table(metric, result)
        and metric.type != SUSTAINED
    ]
    if result.benchmark.operators:  # they have a table of their own
        metrics = [metric for metric in metrics if not metric.is_of_operator]
    return metrics


def _further_rows(result: Result, metrics: Sequence[Metric], tail: str) -> Iterator[tuple[str, ...]]:
    title = make_printable(result.benchmark.title)
    for metric in metrics[:_AT_MOST]:
        median, spread = format_median(metric), format_spread(metric)
        yield title, make_printable(metric.name), median, spread, _format_tail(metric, tail), _format_count(metric)
        title = ""
    if len(metrics) > _AT_MOST:
        yield "", f"and {len(metrics) - _AT_MOST} more in its result.json", "", "", "", ""
