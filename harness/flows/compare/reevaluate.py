"""`harness compare --from`: verdicts of stored comparisons computed again, without measuring."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from harness.analysis.compare.discovery import ProvenChange, proven_change, select_discovered_changes
from harness.analysis.compare.recompute import recompute
from harness.core.comparison import Comparison
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Reporter
from harness.core.result import Report, Result, make_writable, without_samples
from harness.display.documents import print_document
from harness.display.plain import PlainDisplay
from harness.display.results import show_results
from harness.display.tables import plain_text, print_output
from harness.flows.compare.requests import validate_parameters
from harness.flows.inspect.stored_results import LAST, ResultFilter, StoredResults
from harness.flows.measure.reporting import Reporting, give_reports
from harness.presentation.documents import ResultsDocument
from harness.running.comparability import find_doubt


def reevaluate(
    place: Path,
    replaced: Mapping[str, object],
    console: Console,
    *,
    tree: Path,
    as_json: bool = False,
    reporters: Sequence[Reporter] = (),
) -> ExitCode:
    """Evaluate stored pairs again, by the parameters they were measured for or by others.

    The control of false discoveries is computed again too, over all comparisons that are shown.

    Args:
        place: A result or a folder of results, also relative to the tree; `LAST` for those of the last run.
        replaced: Values of `Parameters` to decide by instead.
        console: Shows the table, unless there are reporters.
        tree: The tree of results.
        as_json: Print one document instead.
        reporters: Get the results instead of the table.

    Raises:
        UsageError: There is no stored comparison.
        EnvironmentProblem: A file is no result, or its pairs cannot have been measured.
    """
    is_last = str(place).upper() == LAST and not place.exists()
    found = StoredResults(None if is_last else place, tree, ResultFilter(last_run=is_last))
    elsewhere = len(found.unreadable) if is_last else 0  # what is damaged in the tree is perhaps of no comparison
    stored = [
        (_decide_again(each.result, replaced, each.file), each.file)
        for each in found
        if each.result.comparison is not None
    ]
    if found.unreadable[elsewhere:]:
        raise found.unreadable[elsewhere]
    if not stored:
        raise UsageError(f"no comparison is stored in {place}", hint=_hint_at_latest(tree))
    results = _with_discoveries([result for result, _ in stored])
    reporting = Reporting((), PlainDisplay(sys.stderr))
    for result in results:
        reporting.report(Report(result=result))
    if as_json:
        print_document(ResultsDocument(results=tuple(map(without_samples, map(make_writable, results)))), console)
        return reporting.exit_code()
    if reporters:
        reports = [
            Report(result=result, place=str(file.parent)) for result, (_, file) in zip(results, stored, strict=True)
        ]
        for written in give_reports(reports, reporters).lines:
            print_output(plain_text(written), console)
    else:
        show_results(results, console, again=shlex.join(["harness", "report", str(place)]))
    console.print(reporting.summary())
    return reporting.exit_code()


def _hint_at_latest(tree: Path) -> str:
    """Return the command that evaluates the latest comparison of a tree."""
    latest = next((entry for entry in reversed(StoredResults(None, tree).entries) if entry.verdict is not None), None)
    if latest is None:
        return f"there is none in {tree} either: `harness compare` measures one"
    return f"the latest one: {shlex.join(['harness', 'compare', '--from', str(tree / latest.path)])}"


def _decide_again(result: Result, replaced: Mapping[str, object], file: Path) -> Result:
    comparison = result.comparison
    if comparison is None or not (result.ok or comparison.identical):
        return result  # a failure stays one: its pairs are not all there were
    parameters = validate_parameters({**comparison.parameters.model_dump(), **replaced})
    try:
        recomputed = recompute(comparison, parameters, doubt=find_doubt(result.notes))
    except (ValueError, ArithmeticError, LookupError) as error:
        raise EnvironmentProblem(
            f"{file} cannot be evaluated: {error}",
            hint="its pairs were changed afterwards: restore the file, or remove it",
        ) from error
    return result.model_copy(update={"comparison": recomputed})


def _with_discoveries(results: Sequence[Result]) -> list[Result]:
    """Return the results, each with whether its change is a discovery among all of them.

    Where comparisons were made for different shares of false discoveries, the smallest holds for all.
    """
    measured = {
        number: comparison
        for number, result in enumerate(results)
        if (comparison := result.comparison) is not None and not comparison.identical
    }
    q = min((comparison.parameters.fdr for comparison in measured.values()), default=1.0)
    changes: dict[int, ProvenChange] = {}
    for number, comparison in measured.items():
        change = proven_change(comparison.verdict, comparison.evidence)
        if change is not None and results[number].ok:
            changes[number] = change
    discoveries = select_discovered_changes(changes, len(measured), q)
    return [
        _with_discovery(result, measured[number], number in discoveries) if number in measured else result
        for number, result in enumerate(results)
    ]


def _with_discovery(result: Result, comparison: Comparison, survives: bool) -> Result:
    discovered = survives or not comparison.verdict.is_change
    return result.model_copy(update={"comparison": comparison.model_copy(update={"discovered": discovered})})
