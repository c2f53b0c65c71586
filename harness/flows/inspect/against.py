"""`harness report --against`: stored results beside earlier ones. Descriptive only: nothing is decided here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ExitCode, UsageError
from harness.core.result import Result
from harness.display.documents import print_document
from harness.display.tables import fit_table, print_line, show_hidden, widen
from harness.flows.inspect.stored_results import LAST, ResultFilter, StoredResults, parse_since
from harness.presentation.differences import (
    WHAT_IS_UNKNOWN,
    ResultDifference,
    build_columns,
    describe_difference,
)
from harness.presentation.documents import DifferencesDocument
from harness.presentation.text import Line, Span, Tone
from harness.store.canonical_json import load_result
from harness.store.index import IndexEntry, read_index


def show_differences(
    path: Path | None,
    against: str,
    settings: Settings,
    selection: ResultFilter,
    console: Console,
    *,
    as_json: bool = False,
) -> ExitCode:
    """Show the medians of stored results beside those of earlier ones, their ranges over launches and the difference.

    Args:
        path: The present results, as for `show`; None for those of the last run, and where benchmarks, devices or a
            commit are selected, of the last run with such results.
        against: `LAST` for the newest earlier result of each benchmark on its device, of another run; a time or an age
            for the newest one that is at least as old; or a folder or file of the results to put beside them.
        settings: The folder of the tree.
        selection: Which of the present results.
        console: Shows the table.
        as_json: Print a document instead.

    Raises:
        UsageError: There are no such results, or nothing to put beside any of them.
        EnvironmentProblem: Every result that may be selected is damaged.
    """
    stored = StoredResults(path, settings.local_reporter, selection)
    selected = stored.load_last_run() if path is None and selection.since is None else stored
    now = _keep_newest(each.result for each in selected)
    if not now:
        raise stored.explain_none()
    find = _open_earlier(against, settings.local_reporter)
    differences = tuple(describe_difference(find.earlier_than(result), result) for result in now)
    if not any(difference.earlier for difference in differences) and not find.has_any:
        raise UsageError(
            f"nothing to put beside: no earlier result of {now[0].benchmark.title}",
            hint="`harness report` lists what there is; `--against FOLDER` takes results from elsewhere",
        )
    if as_json:
        print_document(DifferencesDocument(differences=differences, caution=WHAT_IS_UNKNOWN), console)
        return ExitCode.OK
    _show(differences, console)
    return ExitCode.OK


def _show(differences: tuple[ResultDifference, ...], console: Console) -> None:
    console = widen(console)
    columns = build_columns(differences)
    console.print(fit_table(columns, console))
    show_hidden(columns, console)
    print_line(Line.of(Span(WHAT_IS_UNKNOWN, Tone.WARNING)), console)


def _open_earlier(against: str, tree: Path) -> _Earlier:
    if against.upper() == LAST:
        return _Earlier(None, tree)
    if not Path(against).exists():
        with suppress(UsageError):  # no time: then it is a folder that is missing
            return _Earlier(None, tree, parse_since(against, datetime.now(UTC))[0])
    return _Earlier(Path(against), tree)


class _Earlier:
    """Results to put beside present ones.

    Args:
        place: Folder or file of them; None for the tree.
        tree: The folder of the tree.
        latest: Unix seconds, of the tree's results those from before; None for all.

    Attributes:
        has_any: Whether one was found.
    """

    def __init__(self, place: Path | None, tree: Path, latest: float | None = None) -> None:
        self._tree = tree
        self._latest = math.inf if latest is None else latest
        self._given: list[Result] | None = None
        self._entries: list[IndexEntry] = []
        self.has_any = False
        if place is not None:
            self._given = [stored.result for stored in StoredResults(place, self._tree)]
        else:
            self._entries = sorted(read_index(self._tree).entries, key=lambda entry: -entry.time)

    def earlier_than(self, result: Result) -> Result | None:
        """Return the newest result of the benchmark; of a folder that was named also one of another device."""
        earlier = self._find_in_tree(result) if self._given is None else self._find_given(result, self._given)
        self.has_any = self.has_any or earlier is not None
        return earlier

    def _find_in_tree(self, result: Result) -> Result | None:
        device = result.device.identity if result.device is not None else None
        for entry in self._entries:
            same = (entry.model, entry.identifier, entry.framework, entry.device) == (
                result.benchmark.model,
                result.benchmark.identifier,
                result.benchmark.framework,
                device,
            )
            is_other_run = entry.uid != result.uid and (not entry.run or entry.run != result.run)
            is_earlier = entry.time <= min(result.started, self._latest)
            if same and is_other_run and is_earlier and entry.median is not None:
                return load_result(self._tree / entry.path)
        return None

    @staticmethod
    def _find_given(result: Result, given: Iterable[Result]) -> Result | None:
        """Prefer numbers to failures, then the same device, then the newest."""
        candidates = [
            each for each in given if each.benchmark.title == result.benchmark.title and each.uid != result.uid
        ]
        device = result.device.identity if result.device is not None else ""
        return max(
            candidates,
            key=lambda each: (each.ok, each.device is not None and each.device.identity == device, each.started),
            default=None,
        )


def _keep_newest(results: Iterable[Result]) -> list[Result]:
    """Return the newest result of each benchmark on each device, in the order in which they were measured."""
    newest: dict[tuple[str, str], Result] = {}
    for result in results:
        key = (result.benchmark.title, result.device.identity if result.device is not None else "")
        newest.pop(key, None)
        newest[key] = result
    return list(newest.values())
