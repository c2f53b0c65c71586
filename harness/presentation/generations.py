"""Generations of tokens as tables: what a user feels, and the same runs in the definitions of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.generation import GENERATION
from harness.core.metric import DECODE_RATE, Metric
from harness.core.result import Result
from harness.presentation.numbers import format_median, format_quantity
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import make_printable

_FELT: Final = (
    ("first token", "time_to_first_token", "p50"),
    ("prefill", "prefill_rate", "p50"),
    ("decode", "decode_rate", "p50"),
    ("each token", "token_latency", "p50"),
    ("p90", "token_latency", "p90"),
    ("p99", "token_latency", "p99"),
    ("perplexity", "perplexity", "p50"),
)
"""Heading, metric of type `LLM` and statistic."""

_TOOLS: Final = ("llama_bench", "mlperf_client", "executorch_stats")
_DEFINED: Final = (
    ("first token", ("time_to_first_token",)),
    ("prefill", ("prefill_rate", "prompt_rate")),
    ("decode", ("decode_rate",)),
    ("prompt and decode", ("prompt_and_decode_rate", "inference_rate")),
)
"""Heading, and the names that tools have for the figure."""


def build_generations(results: Sequence[Result]) -> list[Column]:
    """Build the table of generations, with a row for each result that has the time of each token."""
    shown = [result for result in results if result.ok and result.metric(f"{GENERATION} token_latency") is not None]
    columns = [Column("benchmark", make_cells(result.benchmark.title for result in shown))]
    for heading, name, statistic in _FELT:
        cells = make_cells(_format(result.metric(f"{GENERATION} {name}"), statistic) for result in shown)
        if any(cell.text for cell in cells):
            columns.append(Column(heading, cells, right=True))
    return columns


def build_definitions(results: Sequence[Result]) -> list[Column]:
    """Build the table of the same generations as other tools define their figures; docs/generation.md has formulas."""
    rows = [row for result in results if result.ok for row in _rows(result)]
    headings = ("benchmark", "in the definitions of", *(heading for heading, _ in _DEFINED))
    return [
        Column(name, make_cells(row[number] for row in rows), right=number > 1) for number, name in enumerate(headings)
    ]


def has_table(metric: Metric, result: Result) -> bool:
    """Return whether one of these tables shows a metric."""
    felt = {f"{GENERATION} {name}" for _, name, _ in _FELT}
    is_felt = metric.name in felt and result.metric(f"{GENERATION} token_latency") is not None
    return is_felt or (metric.type in _TOOLS and result.metric(DECODE_RATE) is not None)


def _rows(result: Result) -> Iterator[tuple[str, ...]]:
    title = make_printable(result.benchmark.title)
    if result.metric(DECODE_RATE) is None:
        return
    for tool in _TOOLS:
        cells = [_format_first(result, tool, names) for _, names in _DEFINED]
        if any(cells):
            yield title, tool.replace("_", " "), *cells
            title = ""


def _format_first(result: Result, tool: str, names: Sequence[str]) -> str:
    found = (result.metric(f"{tool} {name}") for name in names)
    return next((format_median(metric) for metric in found if metric is not None), "")


def _format(metric: Metric | None, statistic: str) -> str:
    if metric is None:
        return ""
    return format_median(metric) if statistic == "p50" else format_quantity(metric.summary.get(statistic), metric.unit)
