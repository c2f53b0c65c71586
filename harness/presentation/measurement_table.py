"""The columns of the two tables: one row per result, and one per further metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.text import Text

from harness.core.metric import ENERGY, LATENCY, Metric, main_metric
from harness.core.result import Outcome, Result
from harness.display.tables import Column
from harness.presentation.numbers import factor, number, quantity, spread, typical
from harness.presentation.speeds import fastest, speeds
from harness.presentation.text import printable

_AT_MOST: Final = 20
"""Further metrics shown for one result; the rest is in its file."""

_NOT_RUN: Final = frozenset({Outcome.SKIPPED, Outcome.UNSUPPORTED})


def mark(result: Result) -> Text:
    """`✗` failed, `-` was not run, `!` is not to be believed; nothing where all is well."""
    if not result.ok:
        return Text("-", style="yellow") if result.outcome in _NOT_RUN else Text("✗", style="bold red")
    return Text("" if result.trusted else "!", style="bold yellow")


def overview(results: Sequence[Result]) -> list[Column]:
    """One row per result, in the order of measurement."""
    ratios, best = speeds(results), fastest(results)
    mains = [main_metric(result.metrics) if result.ok else None for result in results]

    def of_result(show: Callable[[Result], str]) -> list[Text]:
        return [Text(printable(show(result))) for result in results]

    def of_main(show: Callable[[Metric], str]) -> list[Text]:
        return [Text(show(main)) if main else Text() for main in mains]

    metrics = [Text(printable(main.name) if main else LATENCY) for main in mains]
    medians = [_median(result, main, result.uid in best) for result, main in zip(results, mains, strict=True)]
    ratio = [Text(factor(ratios.get(one.uid)), style="green" if one.uid in best else "") for one in results]
    speed = ratio if len(ratios) > 1 else [Text()] * len(results)
    return [
        Column("", [mark(result) for result in results]),
        Column("model", of_result(lambda one: one.benchmark.model), distinguishing=True),
        Column("benchmark", of_result(lambda one: one.benchmark.identifier)),
        Column("device", of_result(device), distinguishing=True),
        Column("runner", of_result(runner), distinguishing=True),
        Column("backend", of_result(backend), weight=10, distinguishing=True),
        Column("threads", of_result(threads), weight=9, right=True, distinguishing=True),
        Column("metric", metrics, distinguishing={metric.plain for metric in metrics} == {LATENCY}),
        Column("median", medians, right=True),
        Column("speed", speed, right=True),
        Column("MAD", of_main(spread), weight=80, right=True),
        Column("p90", of_main(lambda one: quantity(one.summary.get("p90"), one.unit)), weight=70, right=True),
        Column("load", of_result(lambda one: _typical(one, "RUN load_time")), weight=50, right=True),
        Column("first", of_result(lambda one: _typical(one, "RUN first_iteration")), weight=40, right=True),
        Column("peak memory", of_result(_memory), weight=60, right=True),
        Column("n", of_main(lambda one: number(one.summary.get("n"))), weight=30, right=True),
    ]


def further(results: Sequence[Result]) -> list[Column]:
    """One row per metric that the overview does not show; a benchmark is named in its first row only."""
    rows = [row for result in results for row in _further_rows(result)]
    names = ("benchmark", "metric", "median", "MAD", "p90", "n")
    cells = [[Text(row[i]) for row in rows] for i in range(len(names))]
    return [Column(name, cells[i], right=i > 1) for i, name in enumerate(names)]


def device(result: Result) -> str:
    """Where it ran."""
    found = result.device
    if found is None:
        return ""
    details = [found.kind] if found.kind and found.kind != found.name else []
    details.append(f"{found.cores} CPU{'s' if found.cores != 1 else ''}")
    return f"{found.name} ({', '.join(details)})"


def runner(result: Result) -> str:
    """What ran it: framework, version and kind of runner; `none` is the commit of programs that nobody built."""
    build = result.build
    parts = (result.benchmark.framework, build.commit[:12], build.recipe) if build else ()
    return " ".join(part for part in parts if part not in {"", "none"})


def backend(result: Result) -> str:
    """The backend that the specification names, else the recipe of an exported file."""
    named = result.benchmark.axes.get("backend")
    if named is not None:
        return str(named)
    return next((file.export.export.recipe for file in result.files.values() if file.export), "")


def threads(result: Result) -> str:
    """Threads that were used, else those that were asked for."""
    used = result.metric("RUN threads")
    return number(used.median if used else result.benchmark.threads)


def _median(result: Result, main: Metric | None, best: bool) -> Text:
    if not result.ok:
        return Text(result.outcome.value.replace("_", " "), style=mark(result).style)
    if main is None:
        return Text("no number")
    style = "bold green" if best else "bold" if result.trusted else "yellow"
    return Text(typical(main), style=style)


def _typical(result: Result, name: str) -> str:
    metric = result.metric(name) if result.ok else None
    return typical(metric) if metric else ""


def _memory(result: Result) -> str:
    told = _typical(result, "RUN peak_memory")
    peaks = [launch.peak_memory_bytes for launch in result.launches if launch.peak_memory_bytes and result.ok]
    return told or quantity(max(peaks, default=None), "bytes")


def _further_rows(result: Result) -> Iterator[tuple[str, ...]]:
    main = main_metric(result.metrics)
    hidden = {LATENCY, "NET cpu_time", main.name if main else LATENCY}
    shown = (one for one in result.metrics if one.summary and (one.type != "RUN" or one.metric == ENERGY))
    metrics = [one for one in shown if one.name not in hidden]
    if result.benchmark.operators:  # they have a table of their own
        metrics = [one for one in metrics if not one.is_of_operator]
    title = printable(f"{result.benchmark.model}/{result.benchmark.identifier}")
    for metric in metrics[:_AT_MOST]:
        p90 = quantity(metric.summary.get("p90"), metric.unit)
        yield title, printable(metric.name), typical(metric), spread(metric), p90, number(metric.summary.get("n"))
        title = ""
    if len(metrics) > _AT_MOST:
        yield "", f"and {len(metrics) - _AT_MOST} more in its result.json", "", "", "", ""
