"""`harness report`: list and show stored results, and send those that could not be delivered."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness import plugins
from harness.config.settings import Settings
from harness.core.commit import short_id
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.metric import LATENCY
from harness.core.protocols import Progress, Spooling
from harness.core.result import Outcome, Result
from harness.display.console import CleanConsole
from harness.display.results import show_results
from harness.display.tables import fit_table, print_line, widen
from harness.presentation.numbers import format_quantity
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import Line, Span, Tone
from harness.presentation.verdicts import CATEGORY_OF_VERDICT
from harness.store.canonical_json import load_result
from harness.store.index import IndexEntry, read_index
from harness.store.tree import find_results

_LATEST = 25
"""Number of results in the list: a screenful."""


def latest(settings: Settings, console: Console) -> ExitCode:
    """List the newest results of the local tree, oldest first."""
    index = read_index(settings.local_reporter)
    for file in index.unreadable:
        text = f"✗ {file} is damaged and left out; `harness report {file}` shows why"
        print_line(Line.of(Span(text, Tone.BAD)), widen(CleanConsole(stderr=True)))
    entries = sorted(index.entries, key=lambda entry: entry.time)[-_LATEST:]
    console = widen(console)
    if not entries:
        print_line(Line.of(f"no results in {settings.local_reporter}"), console)
        return ExitCode.OK
    console.print(fit_table(_listing(entries), console))
    places = f"in {settings.local_reporter}; `harness report FOLDER` shows one of them, or all below a folder, again"
    print_line(Line.of(Span(places, Tone.MUTED)), console)
    return ExitCode.OK


def show(path: Path, settings: Settings, console: Console) -> ExitCode:
    """Show stored results as they were shown when they were measured.

    Args:
        path: File or folder of a result, or any folder above some, also relative to the tree, as `latest` lists it.
        settings: The folder of the tree.
        console: Console to show them on.

    Raises:
        UsageError: There is no result.
        EnvironmentProblem: The only file is not a result of this format.
    """
    place = path if path.exists() else settings.local_reporter / path
    files = find_results(place) if place.is_dir() else [place]
    if not files or not place.exists():
        raise UsageError(f"no result in {path}", hint="`harness report` lists the latest results and their folders")
    results, unreadable = _read(files)
    if unreadable and not results:
        raise unreadable[0]
    show_results(sorted(results, key=lambda result: result.started), console)
    for problem in unreadable:
        print_line(Line.of(Span(f"✗ {problem.message}", Tone.BAD)), widen(console))
    return ExitCode.ENVIRONMENT if unreadable else ExitCode.OK


def flush(settings: Settings, progress: Progress) -> ExitCode:
    """Send what waits in the spools of reporters; what still waits is a failure of the environment.

    Raises:
        UsageError: No reporter that keeps results to send them later is asked for.
    """
    spooling = [reporter for reporter in plugins.reporters(settings) if isinstance(reporter, Spooling)]
    if not spooling:
        raise UsageError("no server to send results to", hint="name it with --remote-reporter 'URL|category'")
    outcomes = [reporter.flush(progress) for reporter in spooling]
    for outcome in outcomes:
        progress.say(f"{outcome.sent} sent, {outcome.waiting} waiting, {outcome.refused} refused")
        for reason in outcome.reasons:
            progress.say(f"  {reason}")
    return ExitCode.OK if all(outcome.is_complete for outcome in outcomes) else ExitCode.ENVIRONMENT


def _read(files: list[Path]) -> tuple[list[Result], list[EnvironmentProblem]]:
    results: list[Result] = []
    unreadable: list[EnvironmentProblem] = []
    for file in files:
        try:
            results.append(load_result(file))
        except EnvironmentProblem as problem:
            unreadable.append(problem)
    return results, unreadable


def _listing(entries: list[IndexEntry]) -> list[Column]:
    times = [f"{datetime.fromtimestamp(entry.time, UTC):%Y-%m-%d %H:%M:%S}" for entry in entries]
    medians = [format_quantity(entry.median, entry.unit or "") for entry in entries]
    metrics = [entry.metric or "" for entry in entries]
    outcomes = [entry.verdict.value if entry.verdict else entry.outcome.words for entry in entries]
    return [
        Column("", [_mark(entry) for entry in entries]),
        Column("time (UTC)", make_cells(times)),
        Column("benchmark", make_cells([f"{entry.model}/{entry.identifier}" for entry in entries])),
        Column("device", make_cells([entry.device_name or "" for entry in entries]), weight=30),
        Column("commit", make_cells([short_id(entry.commit or "") for entry in entries]), weight=40),
        Column("outcome", make_cells(outcomes)),
        Column("metric", make_cells(metrics), weight=50, distinguishing=set(metrics) <= {LATENCY, ""}),
        Column("median", make_cells(medians), right=True),
        Column("folder", make_cells([entry.path for entry in entries]), weight=20),
    ]


def _mark(entry: IndexEntry) -> Span:
    doubt = "!" if entry.outcome is Outcome.OK and not entry.trusted else ""
    if entry.verdict is not None:
        category = CATEGORY_OF_VERDICT[entry.verdict]
        return Span(category.mark + doubt, category.tone)
    return Span(doubt, Tone.WARNING) if entry.outcome is Outcome.OK else Span("✗", Tone.BAD)
