"""Requests of the command line to compare, and the two sides that they lead to."""

from __future__ import annotations

import secrets
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import ValidationError

from harness import plugins
from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.commit import BranchingSource, Commit, Source, label_id, name_of_request
from harness.core.comparison import Interleave, Parameters
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress
from harness.files.programs import RUNNER, distinguish
from harness.files.reading import read_bounded
from harness.flows.compare.compare import ComparisonTask
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.given_programs import reject_unexecutable
from harness.flows.measure.runners import CommitRunner, GivenRunner, Programs, Side, installed_runner
from harness.flows.measure.submodules import reject_unused_submodules, selected_submodules

_LIST_SUFFIXES: Final = frozenset({".txt", ".list", ".commits"})
"""Suffixes of files that are always lists of commits, even if a commit has the name of the file."""
_LIST_BYTES: Final = 1 << 20
"""Limit of a list of commits: 25,000 hashes."""
_FLAGS: Final = {"max_pairs": "pairs", "max_seconds": "seconds"}
"""Flags whose name differs from the field of `Parameters` that they set."""
_LIMITS: Final = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
"""Limits of a field by their name in Pydantic, in words."""


class CompareRequest(Struct, frozen=True):
    """Request of a command line to compare.

    Attributes:
        control: Name of a commit, programs, or None for the default.
        treatment: Likewise.
        source: Source of the commits as `kind:place`, or None.
        remote: Remote that is asked for new commits; None for the usual one.
        branch: Branch whose newest commit is the treatment when none is named.
        recipes: Folders of further recipes.
        builds: Folder of builds; None for the one in the cache.
        self_check: Compare the installed runner with itself.
        parameters: Values of `Parameters` that were given.
        metrics: Metrics to compare by the same launches, the one that the benchmarks are about first; none for the
            latency.
        interleave: How the two sides alternate within a pair.
        resume: Whether to resume an interrupted comparison.
        unequal_options: Names of build options that are meant to differ.
        layouts: Number of further layouts of the control to link and compare first; 0 for none.
    """

    control: str | Programs | None = None
    treatment: str | Programs | None = None
    source: str | None = None
    remote: str | None = None
    branch: str | None = None
    recipes: tuple[Path, ...] = ()
    builds: Path | None = None
    self_check: bool = False
    parameters: Mapping[str, object] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    interleave: Interleave = Interleave.AUTO
    resume: bool = False
    unequal_options: tuple[str, ...] = ()
    layouts: int = 0

    def reject_further_metrics(self, reason: str) -> None:
        """Raise `UsageError` with the reason if more than one metric is asked for."""
        if len(self.metrics) > 1:
            names = ", ".join(f"`{name}`" for name in self.metrics)
            raise UsageError(f"--metric: {reason}, not {names}", hint="name one; `harness compare` takes several")


class SameCommit(UsageError):
    """Control and treatment are one commit."""


def split_treatments(request: CompareRequest, settings: Settings) -> tuple[CompareRequest, ...]:
    """Split a request whose treatment is a file of commits, or `-` for standard input, into one per commit.

    Raises:
        UsageError: The list is empty, or not text.
    """
    text = _read_list(request, settings) if isinstance(request.treatment, str) else None
    if text is None:
        return (request,)
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    requests = tuple(replace(request, treatment=name) for name in names if name)
    if not requests:
        raise UsageError(f"no commit in {request.treatment}", hint="one commit per line; # begins a comment")
    return requests


def _read_list(request: CompareRequest, settings: Settings) -> str | None:
    """Return the text of a list of commits, if the treatment is one: by its suffix, or as no commit has the name."""
    if request.treatment == "-":
        return _read_standard_input()
    path = Path(str(request.treatment))
    if request.source is None or not path.is_file():
        return None
    is_list = path.suffix in _LIST_SUFFIXES
    if not is_list and _is_commit(request, settings):
        return None
    try:
        return read_bounded(path, _LIST_BYTES).decode()
    except (UnicodeDecodeError, OSError) as error:
        if not is_list:
            return None
        raise UsageError(f"{path} is not a list of commits: {error}", hint="one commit per line, in UTF-8") from error


def _read_standard_input() -> str:
    try:
        data = sys.stdin.buffer.read(_LIST_BYTES + 1)
        if len(data) <= _LIST_BYTES:
            return data.decode()
        problem = f"it is longer than {_LIST_BYTES >> 20} MiB"
    except (UnicodeDecodeError, OSError, AttributeError) as error:  # standard input may be closed
        problem = "it is closed" if sys.stdin is None else str(error)
    raise UsageError(f"standard input is not a list of commits: {problem}", hint="one commit per line, in UTF-8")


def _is_commit(request: CompareRequest, settings: Settings) -> bool:
    try:
        source = open_source(request, settings)
        source.resolve(str(request.treatment))
    except (UsageError, EnvironmentProblem):
        return False
    return True


def resolve_request(
    request: CompareRequest, settings: Settings, fetcher: SourceFetcher, cache: BuildCache
) -> ComparisonTask:
    """Resolve both sides of a request.

    Args:
        request: Request of the command line.
        settings: Where copies of repositories are kept.
        fetcher: Fetches new commits.
        cache: Keeps the runners as long as they are measured.

    Raises:
        SameCommit: Both sides are the same commit.
        UsageError: There is nothing to compare, or a name cannot be resolved.
        EnvironmentProblem: The source cannot be reached.
    """
    parameters = validate_parameters(
        {"seed": secrets.randbits(31), **request.parameters, "interleave": request.interleave}
    )
    control, treatment = _sides(request, settings, fetcher, cache)
    return ComparisonTask(
        control,
        treatment,
        parameters,
        request.metrics,
        resume=request.resume,
        expects_kept=request.resume,
        self_check=request.self_check,
        unequal_options=request.unequal_options,
        recipes=request.recipes,
        with_first_token=True,
    )


def resolve_side(
    request: CompareRequest,
    settings: Settings,
    fetcher: SourceFetcher,
    progress: Progress,
    cache: BuildCache | None = None,
) -> CommitRunner:
    """Resolve the one commit that is measured without a control.

    Args:
        request: Request of the command line.
        settings: Where copies of repositories are kept.
        fetcher: Fetches new commits.
        progress: Told which commit it is.
        cache: Keeps the runner as long as it is measured; None opens the one of the request.

    Raises:
        UsageError: No source is named, or the name cannot be resolved.
        EnvironmentProblem: The source cannot be reached.
    """
    source, commit, name = _single_commit(request, settings, fetcher)
    submodules = selected_submodules(settings, source)
    cache = cache or open_cache(request, settings)
    runner = CommitRunner(source, commit, cache, request.recipes, submodules, name)
    progress.say(f"commit: {runner.title}")
    return runner


def validate_parameters(values: Mapping[str, object]) -> Parameters:
    """Return the parameters of a comparison.

    Raises:
        UsageError: A value is out of range; the message names its flag.
    """
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        raise explain_parameter(error, _FLAGS, "compare") from error


def explain_parameter(error: ValidationError, flag_of: Mapping[str, str], command: str) -> UsageError:
    """Return the error for the first parameter that is out of range.

    Args:
        error: What was refused.
        flag_of: Flags by the names of parameters, where they differ.
        command: Command that the flags are of.
    """
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    limits = [f"{_LIMITS[limit]} {value:g}" for limit, value in first.get("ctx", {}).items() if limit in _LIMITS]
    expected = f"must be {limits[0]}" if limits else first["msg"].lower()
    hint = f"`harness {command} --help` explains each parameter"
    return UsageError(f"--{flag_of.get(name, name)} {first['input']}: {expected}", hint=hint)


def describe_commit(request: CompareRequest, settings: Settings, fetcher: SourceFetcher) -> str:
    """Describe the one commit that is measured without a control; it is resolved, and not built.

    Raises:
        UsageError: No source is named, or the name cannot be resolved.
        EnvironmentProblem: The source cannot be reached.
    """
    _, commit, name = _single_commit(request, settings, fetcher)
    return _describe(commit, name)


def _single_commit(request: CompareRequest, settings: Settings, fetcher: SourceFetcher) -> tuple[Source, Commit, str]:
    """Resolve the one commit that is measured without a control; return its source, it, and its name."""
    source = open_source(request, settings)
    given = request.treatment if isinstance(request.treatment, str) else None
    with fetcher.fetch(source, [given]):
        commit = source.resolve(given or request.branch or source.newest)
    return source, commit, name_of_request(given or request.branch, commit)


def describe_sides(request: CompareRequest, settings: Settings, fetcher: SourceFetcher) -> tuple[str, str]:
    """Describe control and treatment in words: commits are resolved, and nothing is built.

    Raises:
        SameCommit: Both sides are the same commit.
        UsageError: There is nothing to compare, a parameter is out of range, or a name cannot be resolved.
        EnvironmentProblem: The source cannot be reached.
    """
    validate_parameters({"seed": 0, **request.parameters})
    if request.self_check:
        return "the installed runner", "the installed runner"
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        _reject_unexecutable(request.control, request.treatment, settings)
        return _describe_programs(request.control), _describe_programs(request.treatment)
    commits = resolve_commits(request, settings, fetcher)
    return _describe(commits.control, commits.control_name), _describe(commits.treatment, commits.treatment_name)


def _describe(commit: Commit, name: str) -> str:
    """Return a commit with the name that it was asked for by, its subject, its date and its source."""
    date = "" if commit.time is None else datetime.fromtimestamp(commit.time, tz=UTC).date().isoformat()
    words = [label_id(commit.id, name), *([f'"{commit.subject}"'] if commit.subject else []), date]
    return " ".join(filter(None, [*words, f"from {commit.source}"]))


def _describe_programs(side: Programs) -> str:
    return ", ".join(f"{name} {path}" for name, path in side.programs.items())


def _require_commits(request: CompareRequest) -> tuple[str, str | None, str | None]:
    """Return the source of both sides as `kind:place`, and the names of control and treatment as far as given.

    Raises:
        UsageError: There is nothing to compare.
    """
    if isinstance(request.control, Programs) or isinstance(request.treatment, Programs):
        raise UsageError("only one side has a program", hint="give --control-program A --treatment-program B")
    if request.source is None:
        control, treatment = request.control, request.treatment
        if control and treatment and Path(control).is_file() and Path(treatment).is_file():
            raise UsageError(
                "--control and --treatment name commits, and these are files",
                hint=f"give --control-program {shlex.quote(control)} --treatment-program {shlex.quote(treatment)}",
            )
        raise UsageError(
            "nothing to compare",
            hint="give --control-program A --treatment-program B, or --self-check, or --source releases:PACKAGE "
            "--control 1.0 --treatment 1.1, or --repo-dir FOLDER --control A --treatment B",
        )
    return request.source, request.control, request.treatment


def open_source(request: CompareRequest, settings: Settings) -> Source:
    """Open the source that commits come from.

    Raises:
        UsageError: None is named, or there is nothing of its kind at its place.
        EnvironmentProblem: A program that it needs is not installed.
    """
    if request.source is None:
        raise UsageError("no source of commits is given", hint="give --repo-dir FOLDER, or --source releases:PACKAGE")
    kind, _, place = request.source.partition(":")
    return plugins.source(kind, place, remote=request.remote, cache_dir=settings.cache_dir)


def name_programs(control: Programs, treatment: Programs) -> tuple[Programs, Programs]:
    """Return both sides with names that tell their runners apart, if both have one."""
    runners = [side.programs.get(RUNNER) for side in (control, treatment)]
    if runners[0] is None or runners[1] is None:
        return control, treatment
    names = distinguish(runners[0], runners[1])
    return replace(control, name=names[0]), replace(treatment, name=names[1])


def _sides(request: CompareRequest, settings: Settings, fetcher: SourceFetcher, cache: BuildCache) -> tuple[Side, Side]:
    if request.self_check:
        reject_unused_submodules(settings)
        return installed_runner, installed_runner
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        reject_unused_submodules(settings)
        _reject_unexecutable(request.control, request.treatment, settings)
        control_programs, treatment_programs = name_programs(request.control, request.treatment)
        return GivenRunner(control_programs, cache), GivenRunner(treatment_programs, cache)
    commits = resolve_commits(request, settings, fetcher)
    recipes, submodules = request.recipes, selected_submodules(settings, commits.source)
    return (
        CommitRunner(commits.source, commits.control, cache, recipes, submodules, commits.control_name),
        CommitRunner(commits.source, commits.treatment, cache, recipes, submodules, commits.treatment_name),
    )


def _reject_unexecutable(control: Programs, treatment: Programs, settings: Settings) -> None:
    platform = plugins.platform(settings.platform, settings)
    for side in (control, treatment):
        reject_unexecutable(side.programs, platform)


class ComparedCommits(NamedTuple):
    """Commits of a comparison, and the names that they were asked for by; empty where that was the id."""

    source: Source
    control: Commit
    treatment: Commit
    control_name: str
    treatment_name: str


def resolve_commits(request: CompareRequest, settings: Settings, fetcher: SourceFetcher) -> ComparedCommits:
    """Resolve the commits of both sides.

    Raises:
        SameCommit: Both sides are the same commit.
        UsageError: There is nothing to compare, or a name cannot be resolved.
        EnvironmentProblem: The source cannot be reached.
    """
    _, control_name, treatment_name = _require_commits(request)
    treatment_name = treatment_name or request.branch
    source = open_source(request, settings)
    control, treatment = _commits(control_name, treatment_name, source, fetcher)
    if control.id == treatment.id:
        raise SameCommit(f"control and treatment are both {control.short}", hint="name another --control")
    names = name_of_request(control_name, control), name_of_request(treatment_name, treatment)
    return ComparedCommits(source, control, treatment, *names)


def _commits(
    control: str | None, treatment: str | None, source: Source, fetcher: SourceFetcher
) -> tuple[Commit, Commit]:
    """Resolve the commits of both sides; where no control is named, the merge base with the main branch."""
    with fetcher.fetch(source, [control, treatment]):
        newer = source.resolve(treatment or source.newest)
        if control is not None:
            older = source.resolve(control)
        elif isinstance(source, BranchingSource):
            older = source.merge_base(source.main(), newer)
        else:
            raise UsageError(
                f"{source.name} has no branches, so there is no default control", hint="give a version: --control 1.0"
            )
    return older, newer


def open_cache(request: CompareRequest, settings: Settings) -> BuildCache:
    """Open the cache of runners. Close it when they are no longer used."""
    return BuildCache(request.builds or settings.cache_dir / "builds")
