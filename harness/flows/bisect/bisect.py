"""`harness bisect`: finding the commit between a good and a bad one that changed a metric."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import hashlib
import shlex
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from pydantic import ValidationError
from rich.console import Console

from harness.analysis.bisect.queries import SearchConfig
from harness.analysis.bisect.search import Search
from harness.config.settings import Settings
from harness.core.commit import Commit, Source, label_id, name_of_request
from harness.core.comparison import Interleave
from harness.core.culprit import Candidate, SearchAnswer, SearchEnding, SearchResult
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Display, Platform
from harness.core.reproduction import format_device
from harness.display.documents import print_document
from harness.display.searches import show_answer
from harness.files.atomic import write_atomically
from harness.flows.bisect.merges import MergeSearch
from harness.flows.bisect.search import run_search
from harness.flows.compare import commits as on_this_machine
from harness.flows.compare.commits import OpenComparers
from harness.flows.compare.requests import CompareRequest, validate_parameters
from harness.flows.measure.reporting import prepare_reporters
from harness.flows.measure.reproduction import recipe_words, shared_words
from harness.flows.measure.workload import BenchmarkSelection, Workload
from harness.presentation.commands import parameter_words
from harness.presentation.documents import SearchDocument
from harness.shell import pause
from harness.store.search_answers import save_answer

_JSON_INDENT = 1
_SUSPECTS: Final = 10
"""Suspects that are named where nothing is decided."""


class BisectRequest(Struct, frozen=True):
    """Request of a command line to bisect.

    Attributes:
        good: Name of a commit without the change.
        bad: Name of a commit with the change.
        benchmark: Name of the benchmark that shows it, or a pattern; None where there is only one.
        max_pairs: Budget in pairs.
        resume: Whether to resume an interrupted search.
    """

    good: str
    bad: str
    benchmark: str | None = None
    max_pairs: int | None = None
    resume: bool = False


def bisect(
    request: CompareRequest,
    settings: Settings,
    bisect_request: BisectRequest,
    display: Display,
    console: Console,
    *,
    as_json: bool = False,
    open_comparers: OpenComparers = on_this_machine.open_comparers,
) -> ExitCode:
    """Search the history between two commits, and show what was found.

    Args:
        request: Source of the commits, and how to decide.
        settings: What to measure, where and how.
        bisect_request: Between which commits to search.
        display: Shows progress.
        console: Shows what was found.
        as_json: Show a document instead of a table.
        open_comparers: Opens what compares two commits.

    Raises:
        UsageError: A name cannot be resolved, no source of commits is given, or there is more than one benchmark.
        BuildFailed: The good or the bad commit cannot be built.
        EnvironmentProblem: A device or a repository cannot be reached.
    """
    if request.control is not None or request.treatment is not None or request.self_check:
        raise UsageError("bisect takes no control, treatment or self-check", hint="give the ends with --good and --bad")
    request.reject_further_metrics("a search follows one metric")
    if request.layouts:
        raise UsageError("--layouts: a search links each commit once", hint="`harness compare --layouts` does that")
    if settings.dry_run:
        raise UsageError("what a search will ask depends on the answers", hint="`harness run --dry-run` has a plan")
    validate_parameters({"seed": 0, **request.parameters})
    prepare_reporters(settings)
    only = _only(settings, bisect_request.benchmark)
    (comparer,) = open_comparers(request, only, (settings.platform,), display, check=lambda: pause(0.0))
    workload, source = comparer.workload, comparer.source
    with display.task(f"looking for commits in {source.name}"):
        source.fetch()
        good, bad = source.resolve(bisect_request.good), source.resolve(bisect_request.bad)
        if good.id == bad.id:
            both = _label(good, bisect_request.good)
            raise UsageError(f"--good and --bad are both {both}", hint="name two commits")
        commits = (good, *_commits_between(source, good, bad))
    selection = _select_benchmark(workload, display)
    digests = {benchmark.digest for benchmark in workload.restrict(selection).benchmarks}
    key = (*_measurement_key(request, settings, selection, digests), comparer.build_identity(selection, good))
    file = SearchFile(settings.cache_dir / "bisect", commits, key)
    search = _begin_or_resume(bisect_request, commits, file, display)
    older, newer = _label(good, bisect_request.good), _label(bad, bisect_request.bad)
    display.say(f"{_count_suspects(commits)} from {older} to {newer}; {selection.title}")
    with _telling_what_is_kept(file):
        search, result = run_search(search, commits, selection, comparer, progress=display, save=file.save)
    files = [file]

    def search_branch(line: Sequence[Commit], pairs: int) -> tuple[Search, SearchResult] | None:
        files.append(inner_file := SearchFile(settings.cache_dir / "bisect", tuple(line), key))
        earlier = inner_file.read() if bisect_request.resume else None
        budget = search.config.max_pairs - pairs
        if budget < 1:
            return None
        config = search.config.model_copy(update={"max_pairs": budget})
        inner = earlier or Search.begin([commit.id for commit in line])
        inner = inner.model_copy(update={"config": config, "run": search.run})
        return run_search(inner, line, selection, comparer, progress=display, save=inner_file.save, earlier_pairs=pairs)

    merges = MergeSearch(source, search_branch, lists_all=True, say=display.say)
    with _telling_what_is_kept(file):
        result = merges.run(result, commits)
    known = {commit.id: commit for line in (commits, *(line.commits for line in merges.lines)) for commit in line}
    answer = SearchAnswer(
        run=search.run,
        benchmark=selection.title,
        good=older,
        bad=newer,
        result=result,
        commits=tuple(known[commit] for culprit in result.culprits for commit in culprit.commits),
        suspects=_list_suspects(search, known) if result.ending is SearchEnding.UNDECIDED else (),
        command=format_command(request, settings, workload.platform, selection, (source.name, good.id, bad.id)),
    )
    if as_json:
        print_document(SearchDocument(search=answer), console)
    else:
        show_answer(answer, console)
    _save_answer(answer, settings.local_reporter)
    if result.ending is not SearchEnding.UNDECIDED and not merges.is_undecided:
        for finished in files:
            finished.remove()
    return ExitCode.OK if result.ending is SearchEnding.FOUND else ExitCode.UNDECIDED


def format_command(
    request: CompareRequest,
    settings: Settings,
    platform: Platform,
    selection: BenchmarkSelection,
    ends: tuple[str, str, str],
) -> str:
    """Return the command that searches once more, with commits by their ids.

    Args:
        request: How it was decided.
        settings: What was measured, and how.
        platform: The kind of device.
        selection: The benchmark and its device.
        ends: Name of the source, and ids of the good and the bad commit.
    """
    source, good, bad = ends
    asked = {name: value for name, value in request.parameters.items() if name != "max_pairs"}
    parameters = parameter_words(validate_parameters({"seed": 0, **asked}), generates=False)
    pairs = request.parameters.get("max_pairs")  # of the whole search, which has another default than a comparison
    device = None if settings.device_class else selection.device  # in a lab the class says where
    words = [
        *("harness", "bisect", *shared_words(settings, platform), "--source", source, "--good", good, "--bad", bad),
        *("--benchmark", glob.escape(selection.title), *recipe_words(request.recipes)),
        *(word for name in request.metrics for word in ("--metric", name)),
        *(("--interleave", request.interleave.value) if request.interleave is not Interleave.AUTO else ()),
        *(("--unequal-options", *request.unequal_options) if request.unequal_options else ()),
        *(("--pairs", str(pairs)) if pairs is not None else ()),
        *(parameters if "seed" in request.parameters else parameters[:-2]),
        *(("--devices", format_device(device)) if device is not None else ()),
    ]
    return shlex.join(words)


def _count_suspects(commits: Sequence[Commit]) -> str:
    """Return how many commits come after the good one."""
    return "1 commit" if len(commits) == 2 else f"{len(commits) - 1} commits"


@contextlib.contextmanager
def _telling_what_is_kept(file: SearchFile) -> Iterator[None]:
    """Note with an interruption that there is something to resume, where there is."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        if file.read() is not None:
            interruption.add_note("everything measured so far is kept")
        raise


def _label(commit: Commit, asked: str) -> str:
    """Return the commit's name for people, behind the one that it was asked for by."""
    return label_id(commit.id, name_of_request(asked, commit))


def _only(settings: Settings, benchmark: str | None) -> Settings:
    return settings if benchmark is None else dataclasses.replace(settings, only=(benchmark,))


def _commits_between(source: Source, good: Commit, bad: Commit) -> Sequence[Commit]:
    try:
        return source.between(good, bad)
    except UsageError as error:
        if not _is_before(source, bad, good):
            raise
        hint = "exchange them: --good is the older commit, even where the newer is faster"
        raise UsageError(error.message, hint=hint) from error


def _is_before(source: Source, older: Commit, newer: Commit) -> bool:
    try:
        return bool(source.between(older, newer))
    except UsageError:
        return False


def _select_benchmark(workload: Workload, display: Display) -> BenchmarkSelection:
    """Return the only benchmark of the workload, and its first device."""
    titles = sorted({benchmark.title for benchmark in workload.benchmarks})
    if len(titles) != 1:
        raise UsageError(
            f"bisect needs one benchmark, not {len(titles)}", hint=f"give --benchmark NAME, one of {', '.join(titles)}"
        )
    return BenchmarkSelection(titles[0], workload.plan(display).devices[0].identity)


def _measurement_key(
    request: CompareRequest, settings: Settings, selection: BenchmarkSelection, digests: Collection[str]
) -> tuple[str, ...]:
    """Return what identifies a measurement: pairs of another metric, device or definition are no evidence here."""
    device, metric = selection.device or "", "".join(request.metrics)
    return (*sorted(digests), device, metric, request.interleave.value, settings.command_args or "")


def _begin_or_resume(
    bisect_request: BisectRequest, commits: tuple[Commit, ...], file: SearchFile, display: Display
) -> Search:
    """Return the interrupted search with the budget that is given now, or a new one."""
    search = file.read() if bisect_request.resume else None
    if bisect_request.resume and search is None:
        display.say("there is no such search to resume: starting a new one")
    budget = {} if bisect_request.max_pairs is None else {"max_pairs": bisect_request.max_pairs}
    if search is None:
        search = Search.begin([commit.id for commit in commits], config=SearchConfig.model_validate(budget))
    changed = {"config": search.config.model_copy(update=budget), "run": search.run or uuid.uuid4().hex}
    return search.model_copy(update=changed)


def _list_suspects(search: Search, commits: Mapping[str, Commit]) -> tuple[Candidate, ...]:
    likeliest = search.posterior().likeliest()[:_SUSPECTS]
    return tuple(Candidate(commit=commits[each.commit], probability=min(1.0, each.probability)) for each in likeliest)


def _save_answer(answer: SearchAnswer, tree: Path) -> None:
    """Save the answer beside the results of its comparisons.

    Raises:
        EnvironmentProblem: The disk refuses.
    """
    try:
        save_answer(tree, answer)
    except OSError as error:
        raise EnvironmentProblem(
            f"the answer cannot be stored in {tree}: {error.strerror or error}",
            hint="make room there or grant permission; --resume gives the answer again",
        ) from error


class SearchFile:
    """File with the state of a search that can be resumed.

    Args:
        folder: Folder of the file.
        commits: The history that is searched.
        measurement_key: What is measured of the commits.
    """

    def __init__(self, folder: Path, commits: tuple[Commit, ...], measurement_key: tuple[str, ...]) -> None:
        text = "\n".join([*(commit.id for commit in commits), *measurement_key])
        self._file = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def read(self) -> Search | None:
        """Read the interrupted search; None where there is none.

        Raises:
            EnvironmentProblem: The file cannot be read.
        """
        if not self._file.is_file():
            return None
        try:
            return Search.model_validate_json(self._file.read_bytes())
        except (OSError, ValidationError) as error:
            raise EnvironmentProblem(f"{self._file} cannot be read: {error}", hint="bisect without --resume") from error

    def save(self, search: Search) -> None:
        """Save the search, whole or not at all.

        Raises:
            EnvironmentProblem: The disk refuses; the state that was saved before stays.
        """
        try:
            write_atomically(self._file, search.model_dump_json(indent=_JSON_INDENT))
        except OSError as error:
            raise EnvironmentProblem(
                f"the state of the search cannot be saved in {self._file}: {error.strerror or error}",
                hint="make room there or grant permission, then continue with --resume",
            ) from error

    def remove(self) -> None:
        """Remove the file once the search is over."""
        self._file.unlink(missing_ok=True)
