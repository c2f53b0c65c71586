"""Stored results, read for scripts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from harness.api.calls import RecordingDisplay
from harness.api.results import Results
from harness.commands.from_flags import stored_selection
from harness.config import arguments
from harness.config.flags import InspectFlags
from harness.config.parsing import parse_database
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.result import Report, Result
from harness.flows.inspect.stored_results import LAST, ResultFilter, StoredResults
from harness.flows.measure.reporting import Reporting
from harness.store.canonical_json import load_result
from harness.store.database.opening import open_configured
from harness.store.database.selection import iterate_selected
from harness.store.tree import find_results


def load_results(path: Path) -> Results:
    """Read the results of a file or of every folder below one, oldest first, named as for `harness report`.

    Raises:
        UsageError: There is no result.
        EnvironmentProblem: No file that is there can be read.
    """
    if not path.exists():
        return _load_from_tree(path)
    files = find_results(path) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"no result in {path}", hint="name a result.json, or a folder above some")
    results: list[Result] = []
    problems: list[EnvironmentProblem] = []
    for file in files:
        try:
            results.append(load_result(file))
        except EnvironmentProblem as problem:
            problems.append(problem)
    if not results:
        raise problems[0]
    results.sort(key=lambda result: result.started)
    return Results(tuple(results), _exit_code(results, problems), tuple(map(str, problems)), next(iter(problems), None))


def query_results(
    database: Path | str | None,
    *,
    since: str | datetime | None,
    commit: str | None,
    failed: bool,
    limit: int | None,
    **names: str | Sequence[str],
) -> Results:
    """Read the selected results of a database, oldest first, as `harness query` selects them.

    Args:
        database: Its file or URL; None for that of the variable or the saved defaults.
        since: Earliest start.
        commit: Commit of the build.
        failed: Whether to keep only results that should have numbers and have none.
        limit: Most results: the newest.
        **names: Words by the names of keywords of `stored_selection`.

    Raises:
        UsageError: A value means nothing, or no database is named.
        EnvironmentProblem: It cannot be read.
    """
    selection = stored_selection(
        since=since.isoformat() if isinstance(since, datetime) else since,
        commit=commit,
        failed=failed,
        limit=limit,
        **{name: (words,) if isinstance(words, str) else tuple(words) for name, words in names.items()},
    )
    settings = arguments.resolve_settings(InspectFlags())
    if database is not None:
        settings = dataclasses.replace(settings, database=cast("str | None", parse_database(database)))
    with open_configured(settings, create=False) as opened:
        results = tuple(iterate_selected(opened, selection))
    return Results(results, _exit_code(list(results), []))


def _load_from_tree(path: Path) -> Results:
    """Read the results of the last run, or of a folder that is named relative to the tree, as `harness report` does."""
    tree = arguments.resolve_settings(InspectFlags()).local_reporter
    is_last = str(path) == LAST
    stored = StoredResults(None if is_last else path, tree, ResultFilter(last_run=is_last))
    results = [entry.result for entry in stored]
    problems = stored.unreadable
    if not results:
        raise problems[0] if problems else UsageError(f"no result in {tree}", hint="measure first: harness mv2")
    return Results(tuple(results), _exit_code(results, problems), tuple(map(str, problems)), next(iter(problems), None))


def _exit_code(results: list[Result], problems: list[EnvironmentProblem]) -> ExitCode:
    """Return the exit code that a run with these results has; a file that cannot be read is a failure."""
    reporting = Reporting((), RecordingDisplay(None))
    for result in results:
        reporting.report(Report(result=result))
    return reporting.exit_code(ExitCode.ENVIRONMENT if problems else ExitCode.OK)
