"""The arguments of the command line: flags as they were typed, and the settings and requests that they amount to."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import math
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness import plugins
from harness.config.flags import UNSUPPORTED_FLAGS, CompareFlags, InspectFlags, RunFlags, WatchFlags, reserved_flags
from harness.config.options import OptionTable
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from cyclopts import UnknownOptionError

    from harness.config.settings import Settings
    from harness.flows.compare.requests import CompareRequest
    from harness.flows.measure.runners import Programs
    from harness.flows.watch.watch import WatchRequest

_OTHER_FLAGS = ("base-commit", "commit")
"""Further names of flags that are no options."""
_NO_OPTIONS = frozenset({"config_dir", "info", "reset_options"})
"""Flags of a run that are no options."""
_SIMILAR = 0.75
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
"""Flags about deciding, and the fields of `harness.core.comparison.Parameters` that they set."""

_WITH_FROM = frozenset({*_DECIDE, "config_dir", "reset_options", "debug"})
"""Flags that mean something beside `--from`: those about judging stored pairs."""

_SIDES = (
    *("control", "treatment", "control_program", "treatment_program"),
    *("source", "repo_dir", "repo", "remote_repository", "branch"),
)
"""Flags about what to compare."""

_COMMIT_FLAGS = frozenset({"treatment", "source", "repo_dir", "branch"})
_BUILD_FLAGS = frozenset({"repo", "remote_repository", "frameworks_dir", "exec_dir"})
"""Flags that name one commit, and how to get and build it."""

_COMMITS = frozenset({"--commit", "--base-commit", "--control", "--treatment"})
"""Flags that take names of commits, `-` reads them from standard input."""

_CONTINUOUS = frozenset({"--interval", "--commit-file", "--status-file", "--step", "--regression", "--platforms"})
"""Flags of FAI-PEP's continuous mode."""


@functools.cache
def installed_options() -> OptionTable:
    """Return every option that can be set, those of installed plug-ins among them."""
    return plugins.load_options(warn, reserved_flags())


def insert_default_command(tokens: Sequence[str]) -> list[str]:
    """Insert the command that FAI-PEP's command lines leave out: `run`, or `watch` with a flag of continuous mode."""
    if not tokens or tokens[0] in {"--help", "-h", "--version"} or not tokens[0].startswith("-"):
        return list(tokens)
    continuous = any(token.partition("=")[0] in _CONTINUOUS for token in tokens)
    return ["watch" if continuous else "run", *tokens]


def normalise_flags(tokens: Sequence[str]) -> list[str]:
    """Replace underscores by dashes in the names of known flags, and join `--commit -` to one word."""
    known = _flag_names()
    return _join_standard_input([_normalise_flag(token, known) for token in tokens])


def _flag_names() -> frozenset[str]:
    """Return the names of all flags without leading dashes."""
    names = {flag.lstrip("-") for option in installed_options().options for flag in option.flags}
    for flags in (InspectFlags, RunFlags, CompareFlags, WatchFlags):
        names |= {field.name.replace("_", "-") for field in dataclasses.fields(flags)}
    return frozenset({*names, *UNSUPPORTED_FLAGS, *_OTHER_FLAGS})


def reject_unsupported_flags(tokens: Sequence[str]) -> None:
    """Reject flags of FAI-PEP that mean nothing here, and say what to use instead.

    Raises:
        UsageError: There is one.
    """
    for token in tokens:
        name = token.partition("=")[0]
        if name.startswith("--") and name[2:] in UNSUPPORTED_FLAGS:
            raise UsageError(f"{name}: {UNSUPPORTED_FLAGS[name[2:]]}")


def unknown_option(error: UnknownOptionError) -> UsageError:
    """Return the error of a misspelt flag, with the flag that is close enough to be meant or the place of the list.

    Dashes are left out of the comparison: with them every short flag resembles every other.
    """
    word = error.token.keyword or error.token.value
    known = {name.lstrip("-"): name for argument in error.argument_collection for name in argument.names}
    name = word.partition("=")[0].lstrip("-").replace("_", "-")
    close = difflib.get_close_matches(name, known, n=1, cutoff=_SIMILAR)
    listing = f"`harness {' '.join((*(error.command_chain or ()), '--help'))}` lists every flag"
    return UsageError(f"unknown option {word}", hint=f"did you mean {known[close[0]]}?" if close else listing)


def reject_file_as_command(tokens: Sequence[str]) -> None:
    """Reject a specification in place of a command, and say how it is named.

    Raises:
        UsageError: There is one.
    """
    if tokens and tokens[0].endswith((".json", ".yaml", ".yml")):
        raise UsageError(f"{tokens[0]} is no command", hint=f"measure it with harness -b {tokens[0]}")


def reject_flags_with_from(run_flags: RunFlags, compare_flags: CompareFlags) -> None:
    """Reject flags about measuring where stored pairs are judged again.

    Raises:
        UsageError: There is one.
    """
    for flags in (run_flags, compare_flags):
        for field in dataclasses.fields(flags):
            if field.name not in _WITH_FROM and getattr(flags, field.name) is not None:
                option = installed_options().find(field.name)
                flag = _flag(field.name) if option is None else option.flag
                raise UsageError(
                    f"{flag} beside --from, which judges what is stored and measures nothing",
                    hint="leave one of them out",
                )


def reject_invalid_limits(pruning: bool, **limits: float | None) -> None:
    """Reject limits of the build cache without pruning, negative ones and infinite ones.

    Raises:
        UsageError: There is one.
    """
    for name, limit in limits.items():
        if limit is not None and not pruning:
            raise UsageError(f"{_flag(name)} says what to prune", hint=f"harness builds prune {_flag(name)} {limit:g}")
        if limit is not None and not 0 <= limit < math.inf:
            raise UsageError(f"{_flag(name)} {limit:g}: a limit is 0 or more, and finite")


def resolve_settings(flags: InspectFlags) -> Settings:
    """Return the flags on top of what is saved, in the environment and in the specifications.

    Raises:
        UsageError: A layer has a key or a value that means nothing.
    """
    from harness.config import fai_pep_info, layers
    from harness.specification.load import default_args

    table = installed_options()
    given = flags.given()
    config = layers.config_file(flags.config_dir)
    if isinstance(flags, RunFlags):
        if flags.reset_options:
            config.unlink(missing_ok=True)
        if flags.info is not None:
            given = {**fai_pep_info.to_settings(fai_pep_info.read(flags.info)), **given}
    options = {name: value for name, value in given.items() if name not in _NO_OPTIONS}
    named = given.get("benchmark_file")
    files = named if isinstance(named, tuple) else layers.specifications_of(os.environ, table)
    unknown = layers.unknown_variables(os.environ, table)
    resolved = layers.resolve(
        options,
        table=table,
        config=layers.read_config(config, table),
        environment=os.environ,
        default_args=default_args(files, table.protected_keys),
    )
    if unknown:
        warn(f"{', '.join(unknown)} in the environment sets nothing (`harness run --help` lists what can be set)")
    return resolved


def warn(text: str) -> None:
    """Say it on standard error, where that can still be written."""
    if sys.stderr is not None:  # closed when the process was started
        with contextlib.suppress(OSError, ValueError):
            print(f"harness: {text}", file=sys.stderr, flush=True)


def require_specification(settings: Settings) -> Settings:
    """Return the settings if they name a specification.

    Raises:
        UsageError: They do not.
    """
    if not settings.benchmark_file:
        raise UsageError(
            "no specification", hint="harness -b specifications/models/mv2.json; `harness --help` has more"
        )
    return settings


def is_single_commit_run(compare_flags: CompareFlags) -> bool:
    """Return whether the flags name a commit, or its source, and nothing to compare it with: FAI-PEP's plain run."""
    given = {
        field.name for field in dataclasses.fields(compare_flags) if getattr(compare_flags, field.name) is not None
    }
    return bool(given & _COMMIT_FLAGS) and given <= {*_COMMIT_FLAGS, *_BUILD_FLAGS}


def wants_comparison(flags: RunFlags, compare_flags: CompareFlags) -> bool:
    """Return whether the flags or FAI-PEP's info JSON name something to compare with."""
    if compare_flags != CompareFlags() and not is_single_commit_run(compare_flags):
        return True
    if flags.info is None:
        return False
    from harness.config import fai_pep_info

    return fai_pep_info.read(flags.info).control is not None


def compare_request(flags: RunFlags, compare_flags: CompareFlags) -> CompareRequest:
    """Return what the flags, or an info JSON, ask to compare.

    Raises:
        UsageError: The info JSON cannot be read, or a self-check has sides.
    """
    from harness.config import fai_pep_info
    from harness.core.comparison import Interleave
    from harness.flows.compare.requests import CompareRequest
    from harness.flows.measure.runners import Programs

    _reject_sides_of_self_check(compare_flags)
    _reject_empty_names(compare_flags)
    control = _programs_or_name(compare_flags.control_program, compare_flags.control)
    treatment = _programs_or_name(compare_flags.treatment_program, compare_flags.treatment)
    if flags.info is not None and (info := fai_pep_info.read(flags.info)).control is not None:
        control, treatment = (
            Programs(side.paths(), side.commit, side.commit_time, side.texts())
            for side in (info.control, info.treatment)
        )
    repository = f"{compare_flags.repo or 'git'}:{compare_flags.repo_dir}" if compare_flags.repo_dir else None
    values = dataclasses.asdict(compare_flags)
    return CompareRequest(
        control=control,
        treatment=treatment,
        source=compare_flags.source or repository,
        remote=compare_flags.remote_repository,
        branch=compare_flags.branch,
        recipes=compare_flags.frameworks_dir or (),
        builds=compare_flags.exec_dir,
        self_check=bool(compare_flags.self_check),
        parameters={field: values[flag] for flag, field in _DECIDE.items() if values[flag] is not None},
        metric=compare_flags.metric,
        interleave=Interleave(compare_flags.interleave or "launch"),
        resume=bool(compare_flags.resume),
    )


def watch_request(flags: WatchFlags, settings: Settings) -> WatchRequest:
    """Return how a repository is to be watched."""
    from harness.flows.watch.watch import WatchRequest

    values = dataclasses.asdict(flags)
    names = {
        "interval": "interval_s",
        "since": "since",
        "regression": "alarms",
        **{name: name for name in ("step", "merges", "platforms", "commit_file", "status_file", "on_alarm", "hook")},
    }
    given = {names[name]: value for name, value in values.items() if name in names and value is not None}
    return WatchRequest(state=state_file(flags.state, settings), **given)


def state_file(path: Path | None, settings: Settings) -> Path:
    """Return the state file of a watcher: the given one, or that beside the results."""
    return path or settings.local_reporter / "watch.db"


def _reject_sides_of_self_check(compare_flags: CompareFlags) -> None:
    named = [flag for flag in _SIDES if getattr(compare_flags, flag) is not None]
    if compare_flags.self_check and named:
        raise UsageError(
            f"{_flag(named[0])} beside --self-check, which compares the installed runner with itself",
            hint="leave one of them out",
        )


def _reject_empty_names(compare_flags: CompareFlags) -> None:
    """Reject empty names: an empty variable of a script does not ask for the default."""
    for flag in _SIDES:
        if getattr(compare_flags, flag) == "":
            raise UsageError(f"{_flag(flag)} is empty", hint="name something, or leave the flag out for its default")


def _programs_or_name(programs: tuple[str, ...] | None, name: str | None) -> str | Programs | None:
    if not programs:
        return name
    from harness.config.parsing import find_programs
    from harness.flows.measure.runners import Programs

    return Programs(find_programs(programs))


def _join_standard_input(tokens: Sequence[str]) -> list[str]:
    """Join `--commit -` to one word: a lone dash would be taken for the next flag."""
    joined: list[str] = []
    for token in tokens:
        if token == "-" and joined and joined[-1] in _COMMITS:  # noqa: S105 - a word of a command line
            joined[-1] += "=-"
        else:
            joined.append(token)
    return joined


def _normalise_flag(token: str, known: frozenset[str]) -> str:
    name, equals, value = token.partition("=")
    dashed = name.replace("_", "-")
    if name.startswith("--") and dashed[2:].removeprefix("no-") in known:
        return dashed + equals + value
    return token


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
