"""From what the command line says about a comparison to a request."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.builders.cache import BuildCache
from harness.builders.sources import Branching, open_source
from harness.config.settings import Settings
from harness.core.commit import Commit, Source
from harness.core.comparison import Interleave, Parameters
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.protocols import Progress
from harness.flows.compare.compare import Request
from harness.flows.compare.sides import Built, Given, Side, installed
from harness.flows.compare.source_fetcher import Lookout

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
class Wish:
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


def treatments_of(wish: Wish, settings: Settings) -> tuple[Wish, ...]:
    """One wish for each commit, where the treatment is a file of commits, or `-` for standard input.

    Raises:
        UsageError: The file is empty, or is no text.
    """
    text = _list(wish, settings) if isinstance(wish.treatment, str) else None
    if text is None:
        return (wish,)
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    found = tuple(replace(wish, treatment=name) for name in names if name)
    if not found:
        raise UsageError(f"no commit in {wish.treatment}", hint="one commit a line; # begins a comment")
    return found


def _list(wish: Wish, settings: Settings) -> str | None:
    """The text of a list of commits, if the treatment is one: by its name, or if it can be nothing else."""
    if wish.treatment == "-":
        return sys.stdin.read()
    path = Path(str(wish.treatment))
    if not path.is_file():
        return None
    says_so = path.suffix in _LISTS
    if not says_so and _is_commit(wish, settings):
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        if not says_so:
            return None
        raise UsageError(f"{path} is no list of commits: {error}", hint="one commit a line, in UTF-8") from error


def _is_commit(wish: Wish, settings: Settings) -> bool:
    """Whether the name of the treatment is known as that of a commit."""
    if wish.source is None:
        return False
    try:
        source = _source(wish, settings)
        source.resolve(str(wish.treatment))
    except (UsageError, EnvironmentProblem):
        return False
    return True


def request_of(wish: Wish, settings: Settings, lookout: Lookout, cache: BuildCache) -> Request:
    """Find both sides.

    Args:
        wish: What was asked.
        settings: Where the copies of repositories are.
        lookout: Looks for commits.
        cache: Holds the runners as long as they are measured.

    Raises:
        SameCommit: Both sides are one commit.
        UsageError: It is not said what to compare, or a name means nothing.
        EnvironmentProblem: The source cannot be reached.
    """
    parameters = decided_by({"seed": secrets.randbits(31), **wish.decide, "interleave": wish.interleave})
    control, treatment = _sides(wish, settings, lookout, cache)
    return Request(control, treatment, parameters, wish.metric, wish.resume, wish.self_check)


def side_of(wish: Wish, settings: Settings, lookout: Lookout, progress: Progress) -> Side:
    """The runner of one commit, to be measured alone.

    Raises:
        UsageError: It is not said where commits come from, or a name means nothing.
        EnvironmentProblem: The source cannot be reached.
    """
    name, source = wish.treatment, _source(wish, settings)
    with lookout.at(source, [name if isinstance(name, str) else None]):
        commit = source.resolve(name if isinstance(name, str) else wish.branch or _newest(source))
    progress.say(f"commit: {commit.short} {commit.subject}".rstrip())
    return Built(source, commit, place_of(wish)[0] == "releases", cache_of(wish, settings), wish.recipes)


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


def described(wish: Wish) -> tuple[str, str]:
    """Control and treatment in words; nothing is asked, fetched or built for it.

    Raises:
        UsageError: It is not said what to compare, or how to decide.
    """
    decided_by({"seed": 0, **wish.decide})
    if wish.self_check:
        return "the installed runner", "the installed runner"
    if isinstance(wish.control, Programs) and isinstance(wish.treatment, Programs):
        return _listed(wish.control), _listed(wish.treatment)
    source, control, treatment = _named(wish)
    newest = f"the newest of {wish.branch}" if wish.branch else "the newest"
    return f"{control or 'where the treatment left the main branch'} ({source})", f"{treatment or newest} ({source})"


def _listed(side: Programs) -> str:
    return ", ".join(f"{name} {path}" for name, path in side.programs.items())


def _named(wish: Wish) -> tuple[str, str | None, str | None]:
    """Where the commits of both sides come from, as `kind:place`; control and treatment there, as far as named.

    Raises:
        UsageError: It is not said what to compare.
    """
    if isinstance(wish.control, Programs) or isinstance(wish.treatment, Programs):
        raise UsageError("only one side has a program", hint="give both: --control-program A --treatment-program B")
    if wish.source is None:
        raise UsageError(
            "it is not said what to compare",
            hint="--control-program A --treatment-program B, or --self_check, or --source releases:PACKAGE "
            "--control 1.0 --treatment 1.1, or --repo_dir FOLDER --base_commit A --commit B",
        )
    return wish.source, wish.control, wish.treatment


def place_of(wish: Wish) -> tuple[str, str]:
    """Kind and place of the source that commits come from.

    Raises:
        UsageError: It is not said.
    """
    if wish.source is None:
        hint = "--repo_dir FOLDER, or --source releases:PACKAGE"
        raise UsageError("it is not said where commits come from", hint=hint)
    kind, _, place = _named(wish)[0].partition(":")
    return kind, place


def _source(wish: Wish, settings: Settings) -> Source:
    kind, place = place_of(wish)
    return open_source(kind, place, cache_dir=settings.cache_dir, remote=wish.remote)


def _sides(wish: Wish, settings: Settings, lookout: Lookout, cache: BuildCache) -> tuple[Side, Side]:
    if wish.self_check:
        return installed, installed
    if isinstance(wish.control, Programs) and isinstance(wish.treatment, Programs):
        return _given(wish.control, cache), _given(wish.treatment, cache)
    _, control_name, treatment_name = _named(wish)
    source = _source(wish, settings)
    control, treatment = _commits(control_name, treatment_name or wish.branch, source, lookout)
    if control.id == treatment.id:
        raise SameCommit(f"control and treatment are both {control.short}", hint="name another --control")
    made = (Built(source, one, place_of(wish)[0] == "releases", cache, wish.recipes) for one in (control, treatment))
    return next(made), next(made)


def _commits(control: str | None, treatment: str | None, source: Source, lookout: Lookout) -> tuple[Commit, Commit]:
    """The commits of both sides, with the defaults of a repository."""
    with lookout.at(source, [control, treatment]):
        newer = source.resolve(treatment or _newest(source))
        if control is not None:
            older = source.resolve(control)
        elif isinstance(source, Branching):
            older = source.merge_base(source.main(), newer)
        else:
            raise UsageError("releases have no default to compare with", hint="name a version: --control 1.0")
    return older, newer


def cache_of(wish: Wish, settings: Settings) -> BuildCache:
    """Where runners are kept; to be closed when they are no longer used."""
    return BuildCache(wish.builds or settings.cache_dir / "builds")


def _newest(source: Source) -> str:
    return "HEAD" if isinstance(source, Branching) else "latest"


def _given(programs: Programs, cache: BuildCache) -> Given:
    return Given(programs.programs, cache, programs.commit, programs.commit_time, programs.variables)
