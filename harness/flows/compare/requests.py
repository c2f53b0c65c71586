"""From what the command line says about a comparison to a request."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness import plugins
from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.commit import BranchingSource, Commit, Source
from harness.core.comparison import Interleave, Parameters
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress
from harness.flows.compare.compare import ComparisonTask
from harness.flows.compare.sides import Built, Given, Side, installed
from harness.flows.compare.source_fetcher import SourceFetcher

_LISTS: Final = frozenset({".txt", ".list", ".commits"})
"""Endings of files that are lists of commits, whatever commits are called."""
_FLAGS: Final = {"max_pairs": "pairs", "max_seconds": "seconds"}
"""Flags that are not called like the field of `Parameters` that they set."""
_LIMITS: Final = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
"""Limits of a field as Pydantic names them, in words."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Ready programs of one side.

    Attributes:
        programs: By placeholder.
        commit: What to call them.
        commit_time: Unix seconds.
        variables: Placeholders of this side.
    """

    programs: Mapping[str, Path]
    commit: str | None = None
    commit_time: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """What a person asked to compare.

    Attributes:
        control: Commit, version, programs, or None for the default.
        treatment: The same.
        source: `kind:place`, or None when no commit is named.
        remote: Which remote to ask.
        branch: Whose newest commit is the treatment, when none is named.
        recipes: Folders of further recipes.
        builds: Folder of builds.
        self_check: Compare the installed runner with itself.
        decide: Values of `Parameters` that were given.
        metric: What to compare.
        interleave: What takes turns in a pair.
        resume: Whether to go on.
    """

    control: str | Programs | None = None
    treatment: str | Programs | None = None
    source: str | None = None
    remote: str | None = None
    branch: str | None = None
    recipes: tuple[Path, ...] = ()
    builds: Path | None = None
    self_check: bool = False
    decide: Mapping[str, object] = field(default_factory=dict)
    metric: str | None = None
    interleave: Interleave = Interleave.LAUNCH
    resume: bool = False


class SameCommit(UsageError):
    """Control and treatment are one commit."""


def treatments_of(request: CompareRequest, settings: Settings) -> tuple[CompareRequest, ...]:
    """One request for each commit, where the treatment is a file of commits, or `-` for standard input.

    Raises:
        UsageError: The file is empty, or is no text.
    """
    text = _list(request, settings) if isinstance(request.treatment, str) else None
    if text is None:
        return (request,)
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    found = tuple(replace(request, treatment=name) for name in names if name)
    if not found:
        raise UsageError(f"no commit in {request.treatment}", hint="one commit a line; # begins a comment")
    return found


def _list(request: CompareRequest, settings: Settings) -> str | None:
    """The text of a list of commits, if the treatment is one: by its name, or if it can be nothing else."""
    if request.treatment == "-":
        return sys.stdin.read()
    path = Path(str(request.treatment))
    if not path.is_file():
        return None
    says_so = path.suffix in _LISTS
    if not says_so and _is_commit(request, settings):
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        if not says_so:
            return None
        raise UsageError(f"{path} is no list of commits: {error}", hint="one commit a line, in UTF-8") from error


def _is_commit(request: CompareRequest, settings: Settings) -> bool:
    """Whether the name of the treatment is known as that of a commit."""
    if request.source is None:
        return False
    try:
        source = source_of(request, settings)
        source.resolve(str(request.treatment))
    except (UsageError, EnvironmentProblem):
        return False
    return True


def request_of(
    request: CompareRequest, settings: Settings, fetcher: SourceFetcher, cache: BuildCache
) -> ComparisonTask:
    """Find both sides.

    Args:
        request: What was asked.
        settings: Where the copies of repositories are.
        fetcher: Looks for commits.
        cache: Holds the runners as long as they are measured.

    Raises:
        SameCommit: Both sides are one commit.
        UsageError: It is not said what to compare, or a name means nothing.
        EnvironmentProblem: The source cannot be reached.
    """
    parameters = decided_by({"seed": secrets.randbits(31), **request.decide, "interleave": request.interleave})
    control, treatment = _sides(request, settings, fetcher, cache)
    return ComparisonTask(control, treatment, parameters, request.metric, request.resume, request.self_check)


def side_of(request: CompareRequest, settings: Settings, fetcher: SourceFetcher, progress: Progress) -> Side:
    """The runner of one commit, to be measured alone.

    Raises:
        UsageError: It is not said where commits come from, or a name means nothing.
        EnvironmentProblem: The source cannot be reached.
    """
    name, source = request.treatment, source_of(request, settings)
    with fetcher.fetch(source, [name if isinstance(name, str) else None]):
        commit = source.resolve(name if isinstance(name, str) else request.branch or source.newest)
    progress.say(f"commit: {commit.short} {commit.subject}".rstrip())
    return Built(source, commit, cache_of(request, settings), request.recipes)


def decided_by(values: Mapping[str, object]) -> Parameters:
    """The parameters of a comparison.

    Raises:
        UsageError: One of them means nothing.
    """
    try:
        return Parameters.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        limits = [f"{_LIMITS[limit]} {value:g}" for limit, value in first.get("ctx", {}).items() if limit in _LIMITS]
        wanted = f"it has to be {limits[0]}" if limits else first["msg"].lower()
        hint = "`harness compare --help` says what each of them means"
        raise UsageError(f"--{_FLAGS.get(name, name)} {first['input']}: {wanted}", hint=hint) from error


def described(request: CompareRequest) -> tuple[str, str]:
    """Control and treatment in words; nothing is asked, fetched or built for it.

    Raises:
        UsageError: It is not said what to compare, or how to decide.
    """
    decided_by({"seed": 0, **request.decide})
    if request.self_check:
        return "the installed runner", "the installed runner"
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        return _listed(request.control), _listed(request.treatment)
    source, control, treatment = _named(request)
    newest = f"the newest of {request.branch}" if request.branch else "the newest"
    return f"{control or 'where the treatment left the main branch'} ({source})", f"{treatment or newest} ({source})"


def _listed(side: Programs) -> str:
    return ", ".join(f"{name} {path}" for name, path in side.programs.items())


def _named(request: CompareRequest) -> tuple[str, str | None, str | None]:
    """Where the commits of both sides come from, as `kind:place`; control and treatment there, as far as named.

    Raises:
        UsageError: It is not said what to compare.
    """
    if isinstance(request.control, Programs) or isinstance(request.treatment, Programs):
        raise UsageError("only one side has a program", hint="give both: --control-program A --treatment-program B")
    if request.source is None:
        raise UsageError(
            "it is not said what to compare",
            hint="--control-program A --treatment-program B, or --self_check, or --source releases:PACKAGE "
            "--control 1.0 --treatment 1.1, or --repo_dir FOLDER --base_commit A --commit B",
        )
    return request.source, request.control, request.treatment


def source_of(request: CompareRequest, settings: Settings) -> Source:
    """Open the source that commits come from.

    Raises:
        UsageError: None is named, or there is nothing of its kind at its place.
        EnvironmentProblem: A program that it needs is not installed.
    """
    if request.source is None:
        hint = "--repo_dir FOLDER, or --source releases:PACKAGE"
        raise UsageError("it is not said where commits come from", hint=hint)
    kind, _, place = request.source.partition(":")
    return plugins.source(kind, place, remote=request.remote, cache_dir=settings.cache_dir)


def _sides(request: CompareRequest, settings: Settings, fetcher: SourceFetcher, cache: BuildCache) -> tuple[Side, Side]:
    if request.self_check:
        return installed, installed
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        return _given(request.control, cache), _given(request.treatment, cache)
    _, control_name, treatment_name = _named(request)
    source = source_of(request, settings)
    control, treatment = _commits(control_name, treatment_name or request.branch, source, fetcher)
    if control.id == treatment.id:
        raise SameCommit(f"control and treatment are both {control.short}", hint="name another --control")
    return Built(source, control, cache, request.recipes), Built(source, treatment, cache, request.recipes)


def _commits(
    control: str | None, treatment: str | None, source: Source, fetcher: SourceFetcher
) -> tuple[Commit, Commit]:
    """The commits of both sides, with the defaults of a repository."""
    with fetcher.fetch(source, [control, treatment]):
        newer = source.resolve(treatment or source.newest)
        if control is not None:
            older = source.resolve(control)
        elif isinstance(source, BranchingSource):
            older = source.merge_base(source.main(), newer)
        else:
            raise UsageError(f"{source.name} has no default to compare with", hint="name a version: --control 1.0")
    return older, newer


def cache_of(request: CompareRequest, settings: Settings) -> BuildCache:
    """Where runners are kept; to be closed when they are no longer used."""
    return BuildCache(request.builds or settings.cache_dir / "builds")


def _given(programs: Programs, cache: BuildCache) -> Given:
    return Given(programs.programs, cache, programs.commit, programs.commit_time, programs.variables)
