"""`harness bisect`: which commit between a good and a bad one changed a number."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console
from rich.table import Table

from harness.analysis.bisect.queries import SearchConfig
from harness.analysis.bisect.search import Search
from harness.config.settings import Settings
from harness.core.commit import Commit, Source
from harness.core.culprit import SearchEnding, SearchResult
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Display
from harness.files.atomic import write_atomically
from harness.flows.bisect.search import search
from harness.flows.compare.commits import CommitComparer
from harness.flows.compare.requests import CompareRequest, validate_parameters
from harness.flows.inspect.showing import cell, show
from harness.flows.measure.workload import Selection, Workload, load_workload
from harness.shell import pause

_JSON_INDENT = 1


@dataclass(frozen=True, slots=True)
class Between:
    """Where to look.

    Attributes:
        good: Name of a commit without the change.
        bad: Name of one with it.
        benchmark: Name of the benchmark that shows it, or a pattern; None where there is one only.
        max_pairs: Budget in pairs.
        resume: Whether a search that was interrupted goes on.
    """

    good: str
    bad: str
    benchmark: str | None = None
    max_pairs: int | None = None
    resume: bool = False


def bisect(
    request: CompareRequest, settings: Settings, between: Between, display: Display, console: Console
) -> ExitCode:
    """Search, and show what was found.

    Raises:
        UsageError: A name means nothing, or it is not said what to look at.
        BuildFailed: The good or the bad commit cannot be built.
        EnvironmentProblem: A device or a repository cannot be reached.
    """
    if request.control is not None or request.treatment is not None or request.self_check:
        raise UsageError("a search is between two commits", hint="name them with --good and --bad alone")
    if settings.dry_run:
        raise UsageError("what a search will ask depends on the answers", hint="`harness run --dry_run` has a plan")
    validate_parameters({"seed": 0, **request.decide})
    workload = load_workload(settings if between.benchmark is None else replace(settings, only=(between.benchmark,)))
    comparer = CommitComparer(workload, request, settings, display, lambda: pause(0.0))
    source = comparer.source
    with display.task(f"looking for commits in {source.name}"):
        source.fetch()
        good, bad = source.resolve(between.good), source.resolve(between.bad)
        if good.id == bad.id:
            raise UsageError(f"--good and --bad are both {good.short}", hint="name two commits")
        commits = (good, *_between(source, good, bad))
    selection = _select_benchmark(workload)
    digests = {benchmark.digest for benchmark in workload.restrict(selection).benchmarks}
    kept = _Kept(settings.cache_dir / "bisect", commits, _measured(request, settings, selection, digests))
    begun = _begun(between, commits, kept, display)
    display.say(f"{_counted(len(commits) - 1)} from {good.short} to {bad.short}; {selection.title}")
    ended, finding = search(begun, commits, selection, comparer, progress=display, save=kept.save)
    if finding.ending is not SearchEnding.UNDECIDED:
        kept.forget()
    _show(finding, ended, commits, console)
    return ExitCode.OK if finding.ending is SearchEnding.FOUND else ExitCode.UNDECIDED


def _between(source: Source, good: Commit, bad: Commit) -> Sequence[Commit]:
    """The commits behind the good one, up to the bad one."""
    try:
        return source.between(good, bad)
    except UsageError as error:
        if not _is_before(source, bad, good):
            raise
        hint = "--good is the older one, also where the newer is faster: exchange them"
        raise UsageError(error.message, hint=hint) from error


def _is_before(source: Source, older: Commit, newer: Commit) -> bool:
    try:
        return bool(source.between(older, newer))
    except UsageError:
        return False


def _counted(commits: int) -> str:
    return "1 commit" if commits == 1 else f"{commits} commits"


def _select_benchmark(workload: Workload) -> Selection:
    """Return the only benchmark of the workload, and its first device."""
    titles = sorted({benchmark.title for benchmark in workload.benchmarks})
    if len(titles) != 1:
        raise UsageError(
            f"{len(titles)} benchmarks, and one is searched with", hint=f"--benchmark NAME, one of {', '.join(titles)}"
        )
    return Selection(titles[0], workload.plan().devices[0].identity)


def _measured(
    request: CompareRequest, settings: Settings, selection: Selection, digests: Collection[str]
) -> tuple[str, ...]:
    """What pairs are measured of: those of another metric, device or definition are no evidence here."""
    device, metric = selection.device or "", request.metric or ""
    return (*sorted(digests), device, metric, request.interleave.value, settings.command_args or "")


def _begun(between: Between, commits: tuple[Commit, ...], kept: _Kept, display: Display) -> Search:
    """The search that is gone on with, or a new one; the budget is the one that was given now."""
    begun = kept.read() if between.resume else None
    if between.resume and begun is None:
        display.say("nothing is kept of such a search: it begins anew")
    budget = {} if between.max_pairs is None else {"max_pairs": between.max_pairs}
    if begun is None:
        return Search.begin([commit.id for commit in commits], config=SearchConfig.model_validate(budget))
    return begun.model_copy(update={"config": begun.config.model_copy(update=budget)})


class _Kept:
    """How far a search is, in a file.

    Args:
        folder: Where.
        commits: The history that is searched.
        measured: What is measured of them.
    """

    def __init__(self, folder: Path, commits: tuple[Commit, ...], measured: tuple[str, ...]) -> None:
        text = "\n".join([*(commit.id for commit in commits), *measured])
        self._file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def read(self) -> Search | None:
        """The search as it was left; None where there is none."""
        if not self._file.is_file():
            return None
        try:
            return Search.model_validate_json(self._file.read_bytes())
        except (OSError, ValidationError) as error:
            raise EnvironmentProblem(f"{self._file} cannot be read: {error}", hint="search without --resume") from error

    def save(self, progress: Search) -> None:
        """Keep it, whole or not at all.

        Raises:
            EnvironmentProblem: The disk refuses; what was kept before stays.
        """
        try:
            write_atomically(self._file, progress.model_dump_json(indent=_JSON_INDENT))
        except OSError as error:
            raise EnvironmentProblem(
                f"how far the search is cannot be kept in {self._file}: {error.strerror or error}",
                hint="make room or permission there, then go on with --resume",
            ) from error

    def forget(self) -> None:
        """The search found what there is."""
        self._file.unlink(missing_ok=True)


def _show(finding: SearchResult, ended: Search, commits: tuple[Commit, ...], console: Console) -> None:
    """The culprits, the likely commits and how sure that is."""
    by_id = {commit.id: commit for commit in commits}
    if finding.culprits:
        table = Table("commit", "changed by", "95 % interval", "evidence", "by", "subject", pad_edge=False)
        for culprit in finding.culprits:
            effect = culprit.effect
            ends = [end for end in (effect.low_relative_change, effect.high_relative_change) if end is not None]
            interval = f"[{', '.join(f'{end:+.2%}' for end in ends)}]" if len(ends) == 2 else "open"
            proven = f"{culprit.evidence:.3g}" if culprit.confirmed else f"{culprit.evidence:.3g}, not proven"
            for commit in (by_id[one] for one in culprit.commits):
                row = (commit.short, f"{effect.relative_change:+.2%}", interval, proven, commit.author, commit.subject)
                table.add_row(*map(cell, row))
        show(table, console)
    elif finding.ending is SearchEnding.UNDECIDED:
        table = Table("commit", "probability", "by", "subject", pad_edge=False)
        for suspect in ended.posterior().likeliest()[:10]:
            commit = by_id[suspect.commit]
            table.add_row(*map(cell, (commit.short, f"{suspect.probability:.1%}", commit.author, commit.subject)))
        show(table, console)
    show(cell(finding.reason), console)
