"""`harness compare --from`: the verdicts of stored comparisons again, without measuring."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from harness.analysis.compare.discovery import discoveries
from harness.analysis.compare.recompute import recompute
from harness.core.comparison import Comparison, Verdict
from harness.core.errors import ExitCode, UsageError
from harness.core.result import Report, Result
from harness.display import PlainDisplay
from harness.display.results import show_results
from harness.flows.compare.requests import decided_by
from harness.flows.measure.reporting import Reporting
from harness.run.attrition import LOST_LAUNCHES
from harness.run.comparability import UNEVEN
from harness.store.canonical_json import RESULT_FILE, load_result

_DOUBTS: Final = frozenset({*LOST_LAUNCHES, UNEVEN})
"""Codes of notes that speak against `no change`, whatever the pairs say."""


def reevaluate(place: Path, decide: Mapping[str, object], console: Console) -> ExitCode:
    """Compute again what stored pairs say, with the parameters they were measured for or with others.

    Which regressions survive among many is computed again too, over all comparisons that are shown.

    Args:
        place: A result, or a folder of results.
        decide: Values of `Parameters` to decide by instead.
        console: Shown the table.

    Raises:
        UsageError: There is no stored comparison.
    """
    files = [place] if place.is_file() else sorted(place.rglob(RESULT_FILE))
    results = [_again(result, decide) for file in files if (result := load_result(file)).comparison is not None]
    if not results:
        raise UsageError(f"no comparison is stored in {place}", hint="name a folder that `harness compare` reported to")
    reporting = Reporting((), PlainDisplay(sys.stderr))
    results = _surviving(results)
    for result in results:
        reporting.report(Report(result=result))
    show_results(results, console)
    console.print(reporting.summary())
    return reporting.exit_code()


def _again(result: Result, decide: Mapping[str, object]) -> Result:
    comparison = result.comparison
    if comparison is None or not (result.ok or comparison.identical):
        return result  # what failed stays failed: its pairs are not all there were
    parameters = decided_by({**comparison.parameters.model_dump(), **decide})
    doubt = next((note.message for note in result.notes if note.code in _DOUBTS and not note.trust), None)
    return result.model_copy(update={"comparison": recompute(comparison, parameters, doubt=doubt)})


def _surviving(results: Sequence[Result]) -> list[Result]:
    """The results, each knowing whether its regression is a discovery among all of them.

    Where comparisons were made for different shares of false discoveries, the smallest holds for all.
    """
    measured = {
        number: comparison
        for number, result in enumerate(results)
        if (comparison := result.comparison) is not None and not comparison.identical
    }
    q = min((comparison.parameters.fdr for comparison in measured.values()), default=1.0)
    evidence = {number: one.evidence.regression for number, one in measured.items() if _regressed(results[number], one)}
    found = discoveries(evidence, len(measured), q)
    return [
        _discovered(result, measured[number], number in found) if number in measured else result
        for number, result in enumerate(results)
    ]


def _regressed(result: Result, comparison: Comparison) -> bool:
    return result.ok and comparison.verdict is Verdict.REGRESSION


def _discovered(result: Result, comparison: Comparison, found: bool) -> Result:
    discovered = found or comparison.verdict is not Verdict.REGRESSION
    return result.model_copy(update={"comparison": comparison.model_copy(update={"discovered": discovered})})
