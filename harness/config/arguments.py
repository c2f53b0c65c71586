"""What the command line asks for: flags as they were typed, and the settings and requests they amount to."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.config.flags import FAI_PEP_ELSEWHERE, CompareOptions, PlaceOptions, RunOptions, WatchOptions
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from cyclopts import UnknownOptionError

    from harness.config.settings import Settings
    from harness.flows.compare.requests import CompareRequest, Programs
    from harness.flows.watch.watch import Watching

_OTHER_NAMES = ("pre-built-binary", "custom-binary", "user-string", "base-commit", "commit", "device")
_ALIKE = 0.75
"""Likeness from which on a flag may have been meant: `--marign` and `--margin` have 0.83, `--iter` and `--user` 0.5."""
_DECIDE = {
    "alpha": "alpha",
    "beta": "beta",
    "margin": "margin",
    "tail_margin": "tail_margin",
    "fdr": "fdr",
    "pairs": "max_pairs",
    "seconds": "max_seconds",
    "precision": "precision",
    "gate": "gate",
    "seed": "seed",
}
"""Flags that decide, and the fields of `harness.core.comparison.Parameters` they set."""

_BESIDE_FROM = frozenset({*_DECIDE, "config_dir", "reset_options", "debug"})
"""Flags that say how stored pairs are judged."""

_SIDES = (
    *("control", "treatment", "control_program", "treatment_program"),
    *("source", "repo_dir", "repo", "remote_repository", "branch"),
)
"""Flags that say what to compare."""

_OF_A_COMMIT = frozenset({"treatment", "source", "repo_dir", "branch"})
_OF_BUILDS = frozenset({"repo", "remote_repository", "frameworks_dir", "exec_dir"})
"""Flags that name one commit, and how to get and build it."""

_COMMITS = frozenset({"--commit", "--base-commit", "--control", "--treatment"})
"""Flags that take names of commits, `-` reads them from standard input."""

_CONTINUOUS = frozenset({"--interval", "--commit-file", "--status-file", "--step", "--regression", "--platforms"})
"""Flags of FAI-PEP's continuous mode."""


def with_command(tokens: Sequence[str]) -> list[str]:
    """FAI-PEP's way to start, without a command, means `run`; with a flag of its continuous mode, `watch`."""
    if not tokens or tokens[0] in {"--help", "-h", "--version"} or not tokens[0].startswith("-"):
        return list(tokens)
    continuous = any(token.partition("=")[0] in _CONTINUOUS for token in tokens)
    return ["watch" if continuous else "run", *tokens]


def spelled(tokens: Sequence[str]) -> list[str]:
    """FAI-PEP's underscores as dashes, in the names of flags that we know and nowhere else."""
    classes = (RunOptions, CompareOptions, PlaceOptions, WatchOptions)
    known = {field.name for options in classes for field in dataclasses.fields(options)}
    known |= {name.replace("-", "_") for name in (*_OTHER_NAMES, *FAI_PEP_ELSEWHERE)}
    return _with_standard_input([_spelled(token, known) for token in tokens])


def refuse_elsewhere(tokens: Sequence[str]) -> None:
    """Say what a flag of FAI-PEP that means nothing here should be instead.

    Raises:
        UsageError: There is one.
    """
    for token in tokens:
        name = token.partition("=")[0]
        if name.startswith("--") and name[2:] in FAI_PEP_ELSEWHERE:
            raise UsageError(f"--{name[2:].replace('-', '_')}: {FAI_PEP_ELSEWHERE[name[2:]]}")


def unknown_option(error: UnknownOptionError) -> UsageError:
    """What a misspelt flag was meant to be, where one is close enough to be meant; else where all are listed.

    Dashes are left out of the comparison: with them every short flag resembles every other.
    """
    word = error.token.keyword or error.token.value
    known = {name.lstrip("-"): name for argument in error.argument_collection for name in argument.names}
    name = word.partition("=")[0].lstrip("-").replace("_", "-")
    close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    listing = f"`harness {' '.join((*(error.command_chain or ()), '--help'))}` lists every flag"
    return UsageError(f"unknown option {word}", hint=f"did you mean {known[close[0]]}?" if close else listing)


def refuse_bare_file(tokens: Sequence[str]) -> None:
    """Say how a specification is named, where one stands in place of a command.

    Raises:
        UsageError: There is one.
    """
    if tokens and tokens[0].endswith((".json", ".yaml", ".yml")):
        raise UsageError(f"{tokens[0]} is no command", hint=f"measure it with harness -b {tokens[0]}")


def refuse_beside_from(options: RunOptions, sides: CompareOptions) -> None:
    """Say that a flag about measuring means nothing where only stored pairs are judged.

    Raises:
        UsageError: There is one.
    """
    for flags in (options, sides):
        for field in dataclasses.fields(flags):
            if field.name not in _BESIDE_FROM and getattr(flags, field.name) is not None:
                raise UsageError(
                    f"--{field.name} beside --from, which judges what is stored and measures nothing",
                    hint="leave one of them out",
                )


def refuse_odd_limits(pruning: bool, **limits: float | None) -> None:
    """Say that limits of what to keep are for pruning, and can be no less than nothing.

    Raises:
        UsageError: One is given otherwise.
    """
    for name, limit in limits.items():
        if limit is not None and not pruning:
            raise UsageError(f"--{name} says what to prune", hint=f"harness builds prune --{name} {limit:g}")
        if limit is not None and not 0 <= limit < math.inf:
            raise UsageError(f"--{name} {limit:g}: a limit is 0 or more, and finite")


def settings(options: RunOptions | PlaceOptions) -> Settings:
    """The flags on top of what is saved, in the environment and in the specifications.

    Raises:
        UsageError: A layer has a key or a value that means nothing.
    """
    from harness.config import fai_pep_info, layers
    from harness.specification.load import default_args

    given = {key: value for key, value in dataclasses.asdict(options).items() if value is not None}
    config = layers.config_file(given.pop("config_dir", None))
    if given.pop("reset_options", False):
        config.unlink(missing_ok=True)
    if "info" in given:
        given = {**fai_pep_info.layer(fai_pep_info.read(given.pop("info"))), **given}
    files = given.get("benchmark_file") or layers.files_of(os.environ)
    unknown = layers.strangers(os.environ)
    found = layers.resolve(
        given,
        config=layers.read_config(config),
        environment=os.environ,
        default_args=default_args(files),
    )
    if unknown:
        warn(f"{', '.join(unknown)} in the environment sets nothing (`harness run --help` lists what can be set)")
    return found


def warn(text: str) -> None:
    """Say it on standard error, where that can still be written."""
    if sys.stderr is not None:  # closed when the process was started
        with contextlib.suppress(OSError, ValueError):
            print(f"harness: {text}", file=sys.stderr, flush=True)


def specified(found: Settings) -> Settings:
    """The settings, if they name a specification.

    Raises:
        UsageError: They do not.
    """
    if not found.benchmark_file:
        raise UsageError(
            "no specification", hint="harness -b specifications/models/mv2.json; `harness --help` has more"
        )
    return found


def for_one_commit(sides: CompareOptions) -> bool:
    """Whether a commit is named, or where commits come from, and nothing to compare it with: FAI-PEP's plain run."""
    said = {field.name for field in dataclasses.fields(sides) if getattr(sides, field.name) is not None}
    return bool(said & _OF_A_COMMIT) and said <= {*_OF_A_COMMIT, *_OF_BUILDS}


def for_comparison(options: RunOptions) -> bool:
    """Whether FAI-PEP's info JSON has a control."""
    if options.info is None:
        return False
    from harness.config import fai_pep_info

    return fai_pep_info.read(options.info).control is not None


def compare_request(options: RunOptions, sides: CompareOptions) -> CompareRequest:
    """What the flags, or an info JSON, ask to compare.

    Raises:
        UsageError: The info JSON cannot be read, or a self-check is told what to compare.
    """
    from harness.config import fai_pep_info
    from harness.core.comparison import Interleave
    from harness.flows.compare.requests import CompareRequest, Programs

    _refuse_sides_of_self_check(sides)
    _refuse_empty_names(sides)
    control = _given(sides.control_program, sides.control)
    treatment = _given(sides.treatment_program, sides.treatment)
    if options.info is not None and (told := fai_pep_info.read(options.info)).control is not None:
        control, treatment = (
            Programs(side.paths(), side.commit, side.commit_time, side.texts())
            for side in (told.control, told.treatment)
        )
    repository = f"{sides.repo or 'git'}:{sides.repo_dir}" if sides.repo_dir else None
    flags = dataclasses.asdict(sides)
    return CompareRequest(
        control=control,
        treatment=treatment,
        source=sides.source or repository,
        remote=sides.remote_repository,
        branch=sides.branch,
        recipes=sides.frameworks_dir or (),
        builds=sides.exec_dir,
        self_check=bool(sides.self_check),
        decide={field: flags[flag] for flag, field in _DECIDE.items() if flags[flag] is not None},
        metric=sides.metric,
        interleave=Interleave(sides.interleave or "launch"),
        resume=bool(sides.resume),
    )


def watching(options: WatchOptions, found: Settings) -> Watching:
    """How a repository shall be watched."""
    from harness.flows.watch.watch import Watching

    said = dataclasses.asdict(options)
    names = {
        "interval": "interval_s",
        "since": "begin",
        "regression": "alarms",
        **{name: name for name in ("step", "merges", "platforms", "commit_file", "status_file", "on_alarm", "hook")},
    }
    given = {names[name]: value for name, value in said.items() if name in names and value is not None}
    return Watching(state=state_file(options.state, found), **given)


def state_file(given: Path | None, found: Settings) -> Path:
    """The file of what a watcher remembers."""
    return given or found.local_reporter / "watch.db"


def _refuse_sides_of_self_check(sides: CompareOptions) -> None:
    named = [flag for flag in _SIDES if getattr(sides, flag) is not None]
    if sides.self_check and named:
        raise UsageError(
            f"--{named[0]} beside --self_check, which compares the installed runner with itself",
            hint="leave one of them out",
        )


def _refuse_empty_names(sides: CompareOptions) -> None:
    """An empty variable of a script is no request for the default."""
    for flag in _SIDES:
        if getattr(sides, flag) == "":
            raise UsageError(f"--{flag} is empty", hint="name something, or leave the flag out for its default")


def _given(programs: tuple[str, ...] | None, name: str | None) -> str | Programs | None:
    if not programs:
        return name
    from harness.config.parsing import programs_of
    from harness.flows.compare.requests import Programs

    return Programs(programs_of(programs))


def _with_standard_input(tokens: Sequence[str]) -> list[str]:
    """`--commit -` as one word: a lone dash would be taken for the next flag."""
    joined: list[str] = []
    for token in tokens:
        if token == "-" and joined and joined[-1] in _COMMITS:  # noqa: S105 - a word of a command line
            joined[-1] += "=-"
        else:
            joined.append(token)
    return joined


def _spelled(token: str, known: set[str]) -> str:
    name, equals, value = token.partition("=")
    if name.startswith("--") and name[2:].removeprefix("no_") in known:
        return name.replace("_", "-") + equals + value
    return token
