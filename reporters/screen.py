"""The table at the end: what was measured, how far to believe it, and what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.core.metric import Metric, convert
from harness.core.result import Outcome, Report, Result
from harness.settings import Settings

_WIDTH = 150
"""Columns where there is no terminal to ask: nothing is folded or cut in a log file."""
_LATENCY = "NET latency"
_AT_MOST = 20
"""Further metrics shown for one result; the rest is in its file."""


def create(settings: Settings) -> Screen | None:
    """Entry point of the reporter `screen`; beside `simple_screen`, the table goes to standard error."""
    if not settings.screen_reporter:
        return None
    stream = sys.stderr if settings.simple_screen_reporter else sys.stdout
    console = Console(file=stream)
    return Screen(console if console.is_terminal else Console(file=stream, width=_WIDTH))


class Screen:
    """Keeps what it is told and shows one table when the run is over."""

    name = "screen"

    def __init__(self, console: Console) -> None:
        self._console = console
        self._results: list[Result] = []

    def report(self, report: Report) -> str | None:
        """Remember it for the table, without samples, which no table shows."""
        metrics = tuple(metric.model_copy(update={"samples": (), "launches": ()}) for metric in report.result.metrics)
        self._results.append(report.result.model_copy(update={"metrics": metrics}))
        return None

    def close(self) -> None:
        """Show the table, then further metrics, then what the reader must know about single rows."""
        if not self._results:
            return
        self._console.print()
        if any(result.metric(_LATENCY) or not result.ok for result in self._results):
            self._console.print(latency_table(self._results))
        further = metrics_table(self._results)
        if further.row_count:
            self._console.print(further)
        for line in remarks(self._results):
            self._console.print(line, soft_wrap=True)


def latency_table(results: Sequence[Result]) -> Table:
    """One row per result that measured a latency, or failed to."""
    table = Table(title=_title(results), title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    table.add_column("model")
    table.add_column("benchmark")
    table.add_column("backend")
    for name in ("threads", "load", "first", "median", "p90", "MAD", "speed", "peak memory", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    reference: dict[str, float] = {}
    for result in results:
        latency = result.metric(_LATENCY)
        if result.ok and latency is None:
            continue
        table.add_row(*_row(result, latency, reference))
    table.caption = "speed: how many times as fast as the first benchmark of its model; MAD: median absolute deviation"
    table.caption_justify = "left"
    return table


def metrics_table(results: Sequence[Result]) -> Table:
    """Every other metric that a benchmark reported."""
    table = Table(title="Further metrics", title_justify="left", header_style="bold", pad_edge=False)
    for name in ("benchmark", "metric", "unit"):
        table.add_column(name)
    for name in ("median", "p90", "MAD", "n"):
        table.add_column(name, justify="right")
    for result in results:
        shown = [metric for metric in result.metrics if _is_further(metric)]
        for metric in shown[:_AT_MOST]:
            summary = metric.summary
            values = (_number(summary.get(name)) for name in ("p50", "p90", "MAD"))
            table.add_row(_title_of(result), metric.name, metric.unit, *values, _count(summary.get("n")))
        if len(shown) > _AT_MOST:
            table.add_row(_title_of(result), f"and {len(shown) - _AT_MOST} more in its result.json", "", "", "", "", "")
    return table


def remarks(results: Sequence[Result]) -> list[Text]:
    """What a reader must know: failures and notes, a line for each result, then every remedy once."""
    lines: list[Text] = []
    hints: dict[str, None] = {}
    for result in results:
        if not result.ok:
            lines.append(
                Text.assemble((f"✗ {_title_of(result)}: {result.outcome.value}", _style(result)), f": {result.reason}")
            )
            hints.update({result.hint: None} if result.hint else {})
        for doubtful, mark in ((True, ("! ", "yellow")), (False, ("· ", "dim"))):
            notes = [note for note in result.notes if note.trust is not doubtful]
            if notes:
                lines.append(Text.assemble(mark, f"{_title_of(result)}: {'; '.join(note.message for note in notes)}"))
            hints.update({note.hint: None for note in notes if note.hint and doubtful})
    return [*lines, *(Text(f"  hint: {hint}", style="dim") for hint in hints)]


def _row(result: Result, latency: Metric | None, reference: dict[str, float]) -> tuple[str | Text, ...]:
    info = result.benchmark
    head = (info.model, info.identifier, _backend(result), _count(_threads(result)))
    if not result.ok or latency is None:
        return (*head, "", "", Text(result.outcome.value, style=_style(result)), *[""] * 5)
    median = latency.summary.get("p50")
    speed = ""
    if median:
        nanoseconds = convert(median, latency.unit, "ns") or median
        speed = f"{reference.setdefault(info.model, nanoseconds) / nanoseconds:,.2f}×"
    shown = Text(duration(median, latency.unit), style="bold" if result.trusted else "yellow")
    if not result.trusted:
        shown.append(" !")
    return (
        *head,
        _single(result, "RUN load_time"),
        _single(result, "RUN first_iteration"),
        shown,
        duration(latency.summary.get("p90"), latency.unit),
        duration(latency.summary.get("MAD"), latency.unit),
        speed,
        _memory(result),
        _count(latency.summary.get("n")),
    )


def _style(result: Result) -> str:
    return "yellow" if result.outcome in {Outcome.SKIPPED, Outcome.UNSUPPORTED} else "bold red"


def _title(results: Sequence[Result]) -> str:
    device = next((result.device for result in results if result.device), None)
    build = next((result.build for result in results if result.build), None)
    parts = [f"{device.name} ({device.kind}, {device.cores} CPUs)"] if device else []
    parts += [f"{results[0].benchmark.framework} {build.commit} {build.recipe}".strip()] if build else []
    return " · ".join(parts)


def _title_of(result: Result) -> str:
    return f"{result.benchmark.model}/{result.benchmark.identifier}"


def _backend(result: Result) -> str:
    named = result.benchmark.axes.get("backend")
    if named is not None:
        return str(named)
    return next((file.export.export.recipe for file in result.files.values() if file.export), "")


def _threads(result: Result) -> float | None:
    used = result.metric("RUN threads")
    return used.summary.get("p50") if used else result.benchmark.threads


def _single(result: Result, name: str) -> str:
    metric = result.metric(name)
    return duration(metric.summary.get("p50"), metric.unit) if metric else ""


def _memory(result: Result) -> str:
    metric = result.metric("RUN peak_memory")
    peak = metric.summary.get("p50") if metric else None
    if peak is None:
        peaks = [launch.peak_memory_bytes for launch in result.launches if launch.peak_memory_bytes]
        peak = max(peaks) if peaks else None
    return f"{peak / 2**20:.1f} MiB" if peak else ""


def duration(value: float | None, unit: str) -> str:
    """A time with three significant digits in the unit that suits it; other units as they are."""
    if value is None:
        return ""
    nanoseconds = convert(value, unit, "ns")
    if nanoseconds is None:
        return f"{_number(value)} {unit}".strip()
    for name, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(nanoseconds) >= size:
            return f"{_number(nanoseconds / size)} {name}"
    return f"{_number(nanoseconds)} ns"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    return f"{value:.{digits}f}" if abs(value) >= 0.001 else f"{value:.3g}"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _is_further(metric: Metric) -> bool:
    return bool(metric.summary) and metric.type != "RUN" and metric.name not in {_LATENCY, "NET cpu_time"}
