"""Functions in which programs spent their time, as probes that sample stacks found them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from harness.core.result import Result
from harness.presentation.tables import Column, make_cells

_HEADINGS: Final = ("benchmark", "probe", "share", "samples", "function", "module")
_LONGEST: Final = 100
"""Characters of a name; those of templates of C++ fill pages."""


def build_functions_table(results: Sequence[Result], at_most: int | None) -> list[Column]:
    """Build the table of the functions with the most samples of their own; shares are of all samples of a probe.

    Args:
        results: The results.
        at_most: Functions to list for each probe; None lists all that a result has.
    """
    rows = [row for result in results for row in _rows(result, at_most)]
    return [
        Column(name, make_cells(row[number] for row in rows), right=name in {"share", "samples"})
        for number, name in enumerate(_HEADINGS)
    ]


def _rows(result: Result, at_most: int | None) -> Iterator[tuple[str, ...]]:
    title = result.benchmark.title
    for probe_pass in result.probes:
        probe = probe_pass.probe
        for function in probe_pass.functions[:at_most]:
            share, module = f"{100 * function.share:.1f} %", PurePosixPath(function.module).name
            yield title, probe, share, f"{function.samples:,}", _shorten(function.symbol), _shorten(module)
            title = probe = ""


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
