"""Memory and time of the phases of a launch as a table: loading the program and the method, the first execution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.result import Result
from harness.presentation.numbers import format_median
from harness.presentation.tables import Column, make_cells

_HEADINGS: Final = ("benchmark", "until", "warm", "cold", "memory", "proportional", "peak in it")

_PHASES: Final = (
    ("before loading", "", "", "memory_before_load", "proportional_memory_before_load", ""),
    (
        *("program is loaded", "", "cold_program_load_time", "memory_after_program_load"),
        *("proportional_memory_after_program_load", "peak_memory_in_program_load"),
    ),
    (
        *("method is loaded", "load_time", "cold_load_time", "memory_after_load"),
        *("proportional_memory_after_load", "peak_memory_in_method_load"),
    ),
    (
        *("first execution", "first_iteration", "cold_first_iteration", "memory_after_first_execution"),
        *("proportional_memory_after_first_execution", "peak_memory_in_first_execution"),
    ),
    ("planned memory", "", "", "planned_memory", "", ""),
)
"""Phase, and its metrics of type `RUN` in the order of the headings; docs/results.md defines them."""

_OF_PASSES: Final = ("RUN planned_memory", "RUN cold_load_time")
"""Metrics that only launches have which were made for one of the kinds `memory` and `load_time`."""


def build_phases(results: Sequence[Result]) -> list[Column]:
    """Build the table of the phases of each result whose memory or cold load was asked for.

    A benchmark is named in its first row only. Times of loading are from opening the file; that of the first execution
    is its own.
    """
    rows = [row for result in results if result.ok and _has_phases(result) for row in _rows(result)]
    return [
        Column(name, make_cells(row[number] for row in rows), right=number > 1) for number, name in enumerate(_HEADINGS)
    ]


def _has_phases(result: Result) -> bool:
    return any(result.metric(name) is not None for name in _OF_PASSES)


def _rows(result: Result) -> Iterator[tuple[str, ...]]:
    title = result.benchmark.title
    for phase, *metrics in _PHASES:
        cells = [_median(result, metric) for metric in metrics]
        if any(cells):
            yield title, phase, *cells
            title = ""


def _median(result: Result, metric: str) -> str:
    known = result.metric(f"RUN {metric}") if metric else None
    return format_median(known) if known else ""
