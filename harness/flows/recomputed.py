"""`harness compare --from`: the verdicts of stored comparisons again, without measuring."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from harness.analysis.compare.recompute import recompute
from harness.core.errors import ExitCode, UsageError
from harness.core.result import Report, Result
from harness.display import PlainDisplay
from harness.flows.reporting import Reporting
from harness.flows.requests import decided_by
from reporters.canonical import RESULT_FILE, load
from reporters.screen import Screen


def show(place: Path, decide: Mapping[str, object], console: Console) -> ExitCode:
    """Compute again what stored pairs say, with the parameters they were measured for or with others.

    Args:
        place: A result, or a folder of results.
        decide: Values of `Parameters` to decide by instead.
        console: Shown the table.

    Raises:
        UsageError: There is no stored comparison.
    """
    files = [place] if place.is_file() else sorted(place.rglob(RESULT_FILE))
    results = [_again(result, decide) for file in files if (result := load(file)).comparison is not None]
    if not results:
        raise UsageError(f"no comparison is stored in {place}", hint="name a folder that `harness compare` reported to")
    reporting = Reporting((Screen(console),), PlainDisplay(sys.stderr))
    for result in results:
        reporting.report(Report(result=result))
    reporting.close()
    console.print(reporting.summary())
    return reporting.exit_code()


def _again(result: Result, decide: Mapping[str, object]) -> Result:
    comparison = result.comparison
    if comparison is None or not (result.ok or comparison.identical):
        return result  # what failed stays failed: its pairs are not all there were
    parameters = decided_by({**comparison.parameters.model_dump(), **decide})
    return result.model_copy(update={"comparison": recompute(comparison, parameters)})
