"""`harness report`: list and show stored results, and send those that could not be delivered."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness import plugins
from harness.config.settings import Settings
from harness.core.commit import short_id
from harness.core.culprit import OF_SEARCH
from harness.core.errors import ExitCode, UsageError
from harness.core.metric import LATENCY
from harness.core.protocols import Progress, Spooling
from harness.core.result import Outcome, Report, Result, without_samples
from harness.display.console import CleanConsole
from harness.display.documents import print_document
from harness.display.results import show_results
from harness.display.searches import show_answer, show_steps
from harness.display.tables import fit_table, print_line, print_output, show_hidden, widen
from harness.flows.inspect.stored_results import EVERYTHING, ResultFilter, StoredResult, StoredResults
from harness.flows.measure.reporting import give_reports, open_named_reporters
from harness.presentation.commands import explain_missing_command, format_rerun_command
from harness.presentation.documents import ListedResult, ReportDocument
from harness.presentation.numbers import format_change, format_quantity
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import Line, Span, Tone, make_printable
from harness.presentation.times import format_time
from harness.presentation.verdicts import mark_stored
from harness.store.index import IndexEntry, build_entry
from harness.store.search_answers import read_answer

_LATEST = 25
"""Number of results in the list of everything: a screenful."""


def latest(settings: Settings, console: Console, selection: ResultFilter = EVERYTHING) -> ExitCode:
    """List the selected results of the local tree, oldest first; without a selection the newest ones.

    Raises:
        UsageError: Nothing has the names that are selected. That a period has no results is an answer.
    """
    stored = StoredResults(None, settings.local_reporter, selection)
    steps: dict[str, int] = {}
    if selection == EVERYTHING:  # only the results that are listed are read
        steps = stored.fold_searches(settings.local_reporter)
        entries = stored.list_newest(_LATEST)
        count = len(stored.entries) - len(stored.entries[-_LATEST:]) + len(entries)
    else:
        entries = [build_entry(each.result, _relative(each.place, settings)) for each in stored]
        count = len(entries)
    for problem in stored.unreadable:
        print_line(Line.of(Span(f"✗ {problem.message}", Tone.BAD)), widen(CleanConsole(stderr=True)))
    console = widen(console)
    code = ExitCode.ENVIRONMENT if stored.unreadable else ExitCode.OK
    if not entries and stored.is_damaged:
        return code
    if not entries:
        none = "no results" if selection == EVERYTHING else "no such results"
        message = f"{none} in {settings.local_reporter}"
        hint = stored.hint_at_others()
        if selection != EVERYTHING and selection.since is None:
            raise UsageError(message, hint=hint)
        print_line(Line.of(message), console)
        if selection.selects_names and hint:
            print_line(Line.of(Span(f"  hint: {hint}", Tone.MUTED)), console)
        return ExitCode.OK
    listing = _listing(entries, steps)
    console.print(fit_table(listing, console))
    if len(entries) < count or not steps.keys().isdisjoint(entry.uid for entry in entries):
        cut = f"{len(entries)} of {count} shown; " if len(entries) < count else ""
        rest = ", with the steps of bisections" if steps else ""
        print_line(Line.of(f"{cut}`harness report --only '*'` lists all{rest}"), console)
    show_hidden(listing, console)
    places = f"in {settings.local_reporter}; `harness report FOLDER` shows one of them, or all below a folder, again"
    print_line(Line.of(Span(places, Tone.MUTED)), console)
    return code


def describe(path: Path | None, settings: Settings, selection: ResultFilter, console: Console) -> ExitCode:
    """Print a document about all selected results.

    Raises:
        UsageError: There is no result at the path.
    """
    stored = StoredResults(path, settings.local_reporter, selection)
    listed: list[ListedResult] = []
    of_last_run: list[Result] = []  # all results of a tree of years would not fit in memory
    for each in stored:
        listed.append(_listed(each))
        if selection.last_run:
            of_last_run.append(without_samples(each.result))
    is_search = _are_of_search(of_last_run)
    document = ReportDocument(
        results=tuple(listed),
        search=read_answer(settings.local_reporter, of_last_run[0].run) if is_search else None,
        unreadable=tuple(problem.message for problem in stored.unreadable),
    )
    print_document(document, console)
    return ExitCode.ENVIRONMENT if document.unreadable else ExitCode.OK


def _listed(stored: StoredResult) -> ListedResult:
    result, entry = stored.result, build_entry(stored.result, stored.place)
    return ListedResult(
        **entry.model_dump(exclude={"time", "path", "verdict"}),
        started=entry.time,
        folder=str(stored.place),
        reason=result.reason,
        verdict=entry.verdict.value if entry.verdict is not None else None,
        notes=result.all_notes,
        reproduce=format_rerun_command(result),
    )


def show(path: Path | None, settings: Settings, console: Console, selection: ResultFilter = EVERYTHING) -> ExitCode:
    """Show stored results as they were shown when they were measured; of a bisection, first its answer.

    Args:
        path: File or folder of a result, or any folder above some, also relative to the tree, as `latest` lists it;
            None for the whole tree.
        settings: The folder of the tree.
        console: Console to show them on.
        selection: Which of them.

    Raises:
        UsageError: There is no such result.
        EnvironmentProblem: The only file, or every one that may be selected, is not a result of this format.
    """
    stored = StoredResults(path, settings.local_reporter, selection)
    results = [without_samples(each.result) for each in stored]
    _require(results, path, stored)
    again = shlex.join(["harness", "report", str(path) if path is not None else "LAST"])
    is_search = selection.last_run and _are_of_search(results)
    if is_search:
        _show_search(results, settings, console)
    if not is_search or settings.verbose:
        show_results(results, console, verbose=settings.verbose, again=again)
    if settings.verbose:
        _show_commands(results, console, _find_search_command(results, settings) if is_search else "")
    if selection.last_run:
        _tell_interruption(results, settings, console)
    for problem in stored.unreadable:
        print_line(Line.of(Span(f"✗ {problem.message}", Tone.BAD)), widen(console))
    return ExitCode.ENVIRONMENT if stored.unreadable else ExitCode.OK


def _tell_interruption(results: Sequence[Result], settings: Settings, console: Console) -> None:
    """Say that a comparison was measured after the last results, and is not among them."""
    from harness.flows.compare.journal import find_interruption  # noqa: PLC0415 - lists need no comparisons

    interrupted = find_interruption(settings.cache_dir)
    if interrupted is not None and interrupted > max(result.finished for result in results):
        when = format_time(interrupted, "%Y-%m-%d %H:%M:%S UTC")
        text = f"· later, until {when}, a comparison was measured that has not ended: its pairs are kept for --resume"
        print_line(Line.of(Span(text, Tone.WARNING)), widen(console))


def _are_of_search(results: Sequence[Result]) -> bool:
    is_compared = any(result.comparison is not None for result in results)
    return is_compared and all(result.run_type == OF_SEARCH for result in results)


def _show_search(results: Sequence[Result], settings: Settings, console: Console) -> None:
    """Show the answer of a search for the commit that changed a metric, and its comparisons."""
    first = results[0]
    answer = read_answer(settings.local_reporter, first.run)
    if answer is None:
        where = f"{first.benchmark.title}: comparisons of a search that gave no answer"
        follow = "`harness bisect ... --resume` continues one that was interrupted; `harness alarms` shows a watcher's"
        print_line(Line.of(Span(make_printable(where), Tone.STRONG)), console)
        print_line(Line.of(Span(follow, Tone.MUTED)), console)
    else:
        title = f"{answer.benchmark}: bisected from {answer.good} to {answer.bad}"
        print_line(Line.of(Span(make_printable(title), Tone.STRONG)), console)
        show_answer(answer, console)
    print_line(_describe_steps(results), console)
    console.print()
    show_steps(results, console)


def _describe_steps(results: Sequence[Result]) -> Line:
    """Say what a search compared, where and when."""
    first = next((result for result in results if result.comparison is not None), results[0])
    comparison = first.comparison
    metric = (comparison.metric or LATENCY) if comparison is not None else ""
    better = "higher is better" if comparison is not None and comparison.higher_is_better else "lower is better"
    words = (
        f"{metric} ({better})" if metric else "",
        first.device.name if first.device is not None else "",
        format_time(first.started, "%Y-%m-%d %H:%M:%S UTC"),
        f"harness {first.harness_version}",
    )
    return Line.of(Span(make_printable(" · ".join(filter(None, words))), Tone.MUTED))


def render(path: Path | None, settings: Settings, selection: ResultFilter, progress: Progress) -> ExitCode:
    """Give stored results to the reporters that `--reporter` names, as if they had been measured now.

    Args:
        path: As for `show`.
        settings: The reporters, and the folder of the tree.
        selection: Which results.
        progress: Shows what was done.

    Raises:
        UsageError: There is no such result, no such reporter, or one that keeps results.
        EnvironmentProblem: Reports cannot be written, or every result that may be selected is damaged.
    """
    reporters = open_named_reporters(settings)
    stored = StoredResults(path, settings.local_reporter, selection)
    given = give_reports((Report(result=each.result, place=str(each.place)) for each in stored), reporters)
    _require(range(given.count), path, stored)
    for problem in stored.unreadable:
        progress.warn(f"✗ {problem.message}")
    for line in given.lines:
        progress.say(line)
    return ExitCode.ENVIRONMENT if stored.unreadable else ExitCode.OK


def _find_search_command(results: Sequence[Result], settings: Settings) -> str:
    answer = read_answer(settings.local_reporter, results[0].run)
    return "" if answer is None else answer.command


def _show_commands(results: Sequence[Result], console: Console, search: str = "") -> None:
    """Show the command that measures each result again, and before them that of the search that they are steps of."""
    console = widen(console)
    console.print()
    if search:
        print_line(Line.of(Span("to search again", Tone.STRONG)), console)
        print_output(Text(make_printable(search), no_wrap=True), console)
        steps = "to measure single steps again; with as few pairs as in a search they decide nothing alone"
        print_line(Line.of(Span(steps, Tone.STRONG)), console)
    else:
        print_line(Line.of(Span("to measure again", Tone.STRONG)), console)
    for result in results:
        where = f" on {result.device.name}" if result.device is not None else ""
        print_line(Line.of(Span(make_printable(f"{result.benchmark.title}{where}:"), Tone.MUTED)), console)
        command = format_rerun_command(result) or f"unknown: {explain_missing_command(result)}"
        print_output(Text(make_printable(command), no_wrap=True), console)  # for copying


def _require(results: Sequence[object], path: Path | None, stored: StoredResults) -> None:
    """Reject a selection without results.

    Raises:
        UsageError: It has none.
        EnvironmentProblem: It has none that can be read.
    """
    if not results:
        raise stored.explain_none("" if path is None else f" in {path}")


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


def _relative(place: Path, settings: Settings) -> Path:
    tree = settings.local_reporter
    return place.relative_to(tree) if place.is_relative_to(tree) else place


def _shown_median(entry: IndexEntry) -> float | None:
    """Return the median of an entry. What there is of a failure is no figure of its benchmark.

    A treatment's own median can point the other way than the verdict beside it, which comes from pairs.
    """
    return entry.median if entry.outcome is Outcome.OK and entry.verdict is None else None


def _mark(entry: IndexEntry, *, is_search: bool) -> Span:
    """Return the mark of an entry; none of a search, whose last step says nothing of its answer."""
    return Span("") if is_search else mark_stored(entry.outcome, entry.verdict, trusted=entry.trusted)


def _listing(entries: Sequence[IndexEntry], steps: Mapping[str, int]) -> list[Column]:
    """Return the list of results.

    Args:
        entries: The results.
        steps: Number of steps by the uid of the result that stands for a whole search.
    """
    times = [format_time(entry.time, "%Y-%m-%d %H:%M:%S") for entry in entries]
    medians = [format_quantity(_shown_median(entry), entry.unit or "") for entry in entries]
    differences = ["" if entry.uid in steps else format_change(entry.difference) for entry in entries]
    metrics = [entry.metric or "" for entry in entries]
    commits = ["" if entry.uid in steps else short_id(entry.commit or "") for entry in entries]
    outcomes = [
        f"bisected, {count} steps"
        if (count := steps.get(entry.uid))
        else (entry.verdict.value if entry.verdict else entry.outcome.words)
        for entry in entries
    ]
    return [
        Column("", [_mark(entry, is_search=entry.uid in steps) for entry in entries]),
        Column("time (UTC)", make_cells(times)),
        Column("benchmark", make_cells([f"{entry.model}/{entry.identifier}" for entry in entries])),
        Column("device", make_cells([entry.device_name or "" for entry in entries]), weight=30),
        Column("commit", make_cells(commits), weight=40),
        Column("outcome", make_cells(outcomes)),
        Column("metric", make_cells(metrics), weight=50, distinguishing=set(metrics) <= {LATENCY, ""}),
        Column("median", make_cells(medians), right=True),
        Column("difference", make_cells(differences), right=True),
        Column("origin", make_cells([entry.origin for entry in entries])),
        Column("folder", make_cells([entry.path for entry in entries]), weight=20),
    ]
