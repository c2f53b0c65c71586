"""The arguments of the command line: flags as they were typed, and the settings that they amount to."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import functools
import itertools
import math
import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness import plugins
from harness.config import built_in
from harness.config.flags import UNSUPPORTED_FLAGS, CompareFlags, InspectFlags, RunFlags, WatchFlags, reserved_flags
from harness.config.long_lines import join_lists
from harness.config.options import OptionTable
from harness.config.parsing import parse_files, shorten
from harness.config.project import read_project
from harness.core.errors import UsageError
from harness.core.terminal_text import clean_for_terminal

if TYPE_CHECKING:
    from cyclopts import UnknownOptionError, UnusedCliTokensError

    from harness.config.settings import Settings

_OTHER_FLAGS = ("base-commit", "commit")
"""Further names of flags that are no options."""
_NO_OPTIONS = frozenset({"config_dir", "info", "reset_options"})
"""Flags of a run that are no options."""
HELP_FLAGS = frozenset({"--help", "-h", "--version", "-V"})
"""Flags that ask about the harness or a command."""
_LEADING_SWITCHES = frozenset({"-q", "--quiet", "-v", "--verbose", "--debug"})
"""Switches of every command that may precede its name."""
_SIMILAR = 0.75
"""Likeness from which on a flag may have been meant: `--marign` and `--margin` have 0.83, `--iter` and `--user` 0.5."""
_TRUTH_VALUES = frozenset({"true", "false"})
_COMMITS = frozenset({"--commit", "--base-commit", "--control", "--treatment"})
"""Flags that take names of commits, `-` reads them from standard input."""

_CONTINUOUS = frozenset({"--interval", "--commit-file", "--status-file", "--step", "--regression", "--platforms"})
"""Flags of FAI-PEP's continuous mode."""


@functools.cache
def installed_options() -> OptionTable:
    """Return every option that can be set, those of installed plug-ins among them."""
    return plugins.load_options(warn, reserved_flags())


def insert_default_command(tokens: Sequence[str], commands: Collection[str], groups: Collection[str] = ()) -> list[str]:
    """Insert the command that FAI-PEP's command lines leave out: `run`, or `watch` with a flag of continuous mode.

    So a command line may begin with a specification. Switches such as `-q` may precede a command: they are moved behind
    it, and behind the next word of those that have commands below them (`groups`).

    Raises:
        UsageError: The first word is neither a command nor a specification.
    """
    switches = list(itertools.takewhile(_LEADING_SWITCHES.__contains__, tokens))
    rest = list(tokens[len(switches) :])
    if not tokens or (rest and rest[0] in HELP_FLAGS):
        return rest
    if rest and rest[0] in commands:
        words = 2 if rest[0] in groups else 1
        return [*rest[:words], *switches, *rest[words:]]
    if rest and not rest[0].startswith("-"):
        _reject_unknown_word(rest[0], commands)
    continuous = any(token.partition("=")[0] in _CONTINUOUS for token in rest)
    return ["watch" if continuous else "run", *switches, *rest]


def prepare(tokens: Sequence[str], commands: Collection[str], groups: Collection[str] = ()) -> list[str]:
    """Return a command line in the form that the command line's parser knows: FAI-PEP's forms are others.

    Args:
        tokens: The words of the command line.
        commands: Names of all commands.
        groups: Those of them that have commands below them.

    Raises:
        UsageError: A flag means nothing here, or the first word is neither a command nor a specification.
    """
    prepared = insert_default_command(normalise_flags(tokens), commands, groups)
    reject_unsupported_flags(prepared)
    return join_lists(prepared, installed_options())


def normalise_flags(tokens: Sequence[str]) -> list[str]:
    """Replace underscores by dashes in the names of known flags; join `--commit -` and `--reboot true` to one word."""
    known = _flag_names()
    return _join_truth_values(_join_standard_input([_normalise_flag(token, known) for token in tokens]))


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


def needless_words(error: UnusedCliTokensError) -> UsageError:
    """Return the error of words behind all that a command takes."""
    words = ", ".join(f"`{shorten(word)}`" for word in error.unused_tokens or ())
    command = " ".join(("harness", *(error.command_chain or ())))
    return UsageError(f"`{command}` takes no {words}", hint=f"`{command} --help` says what it takes")


def unknown_option(error: UnknownOptionError) -> UsageError:
    """Return the error of a misspelt flag, with the flag that is close enough to be meant or the place of the list.

    Dashes are left out of the comparison: with them every short flag resembles every other.
    """
    word = error.token.keyword or error.token.value
    known = {name.lstrip("-"): name for argument in error.argument_collection for name in argument.names}
    name = word.partition("=")[0].lstrip("-").replace("_", "-")
    close = difflib.get_close_matches(name, known, n=1, cutoff=_SIMILAR)
    if name == "json" and "simple-screen-reporter" in known:
        hint = "`harness status --json` says what a watcher does; --simple-screen-reporter writes a line a result"
        return UsageError(f"unknown option {shorten(word)}", hint=hint)
    if name == "pairs" and "rounds" in known:
        hint = "a ranking measures in rounds, each of which launches everything once: --rounds"
        return UsageError(f"unknown option {shorten(word)}", hint=hint)
    listing = f"`harness {' '.join((*(error.command_chain or ()), '--help'))}` lists every flag"
    return UsageError(f"unknown option {shorten(word)}", hint=f"did you mean {known[close[0]]}?" if close else listing)


def _reject_unknown_word(word: str, commands: Collection[str]) -> None:
    """Reject a first word that is neither a command nor a specification.

    Raises:
        UsageError: It is neither.
    """
    known = built_in.find_specifications()
    if word in known or built_in.is_path(word):
        return
    listing = "`harness --help` lists the commands, `harness list` the models"
    close = built_in.find_similar(word, [*commands, *known], _SIMILAR)
    close = close or [name for name in commands if sorted(name) == sorted(word)]  # in a short word two letters are most
    hint = f"did you mean {' or '.join(close)}?" if close and word != "help" else listing
    raise UsageError(f"{shorten(word)} is neither a command nor a specification", hint=hint)


def reject_invalid_limits(pruning: bool, **limits: float | None) -> None:
    """Reject limits of the build cache without pruning, negative ones and infinite ones.

    Raises:
        UsageError: There is one.
    """
    for name, limit in limits.items():
        if limit is not None and not pruning:
            raise UsageError(
                f"{flag_of(name)} says what to prune", hint=f"harness builds prune {flag_of(name)} {limit:g}"
            )
        if limit is not None and not 0 <= limit < math.inf:
            raise UsageError(f"{flag_of(name)} {limit:g}: a limit is 0 or more, and finite")


def resolve_settings(flags: InspectFlags, files: Sequence[str] = ()) -> Settings:
    """Return the flags on top of what is saved, in the environment and in the specifications.

    Args:
        flags: Flags of the command.
        files: Specifications that are named without a flag.

    Raises:
        UsageError: A layer has a key or a value that means nothing.
    """
    from harness.config import layers
    from harness.specification.load import default_args

    table = installed_options()
    given = flags.given()
    if files:
        given = {**given, "benchmark_file": (*files, *_words(given.get("benchmark_file")))}
    config = layers.config_file(flags.config_dir)
    if isinstance(flags, RunFlags):
        if flags.reset_options:
            config.unlink(missing_ok=True)
        if flags.info is not None:
            from harness.config import fai_pep_info

            given = {**fai_pep_info.to_settings(fai_pep_info.read(flags.info)), **given}
    options = {name: value for name, value in given.items() if name not in _NO_OPTIONS}
    if "benchmark_file" in options:  # once: a name is looked up in the file system
        options["benchmark_file"] = parse_files(options["benchmark_file"])
    named = options.get("benchmark_file")
    specifications = named if isinstance(named, tuple) else layers.specifications_of(os.environ, table)
    unknown = layers.unknown_variables(os.environ, table)
    project = read_project(_working_folder(), table)
    resolved = layers.resolve(
        options,
        table=table,
        config=layers.read_config(config, table),
        environment=os.environ,
        default_args=default_args(specifications, table.protected_keys),
        project=project,
    )
    if project is not None and resolved.verbose:
        warn(f"defaults of the project: {project.file}")
    if unknown:
        warn(f"{', '.join(unknown)} in the environment sets nothing (`harness run --help` lists what can be set)")
    return resolved


def resolve_or_default(flags: InspectFlags) -> tuple[Settings, UsageError | None]:
    """Return the settings; where a file or a variable has mistakes, those of the flags alone, and the mistakes.

    Raises:
        UsageError: A flag has a value that means nothing.
    """
    try:
        return resolve_settings(flags), None
    except UsageError as error:
        from harness.config import layers

        options = {name: value for name, value in flags.given().items() if name not in _NO_OPTIONS}
        table = installed_options()
        return layers.resolve(options, table=table, config={}, environment={}, default_args={}), error


def warn(text: str) -> None:
    """Say it on standard error, where that can still be written."""
    if sys.stderr is not None:  # closed when the process was started
        with contextlib.suppress(OSError, ValueError):
            print(f"harness: {clean_for_terminal(text)}", file=sys.stderr, flush=True)


def require_specification(settings: Settings, command: str = "") -> Settings:
    """Return the settings if they name a specification.

    Args:
        settings: The settings.
        command: The command that needs it, for the hint; empty is the one that may be left out.

    Raises:
        UsageError: They do not.
    """
    if not settings.benchmark_file:
        raise UsageError(
            "no specification",
            hint=f"{' '.join(('harness', *command.split(), 'mv2'))}{' ...' if command else ''}; `harness list` shows "
            f"what is built in, `harness {f'{command} ' if command else ''}--help` has more",
        )
    return settings


def _working_folder() -> Path:
    """Return the working folder, with its parents; one that was deleted meanwhile has none."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path()


def _words(given: object) -> tuple[object, ...]:
    return given if isinstance(given, tuple) else ()


def _join_standard_input(tokens: Sequence[str]) -> list[str]:
    """Join `--commit -` to one word: a lone dash would be taken for the next flag."""
    joined: list[str] = []
    for token in tokens:
        if token == "-" and joined and joined[-1] in _COMMITS:  # noqa: S105 - a word of a command line
            joined[-1] += "=-"
        else:
            joined.append(token)
    return joined


def _join_truth_values(tokens: Sequence[str]) -> list[str]:
    """Join a flag of an option that is on or off with the value that FAI-PEP's forms may have: `--wipe_cache true`."""
    switches = {flag for option in installed_options().options if option.bare_type is bool for flag in option.flags}
    joined: list[str] = []
    for token in tokens:
        if joined and joined[-1] in switches and token.lower() in _TRUTH_VALUES:
            joined[-1] += f"={token.lower()}"
        else:
            joined.append(token)
    return joined


def _normalise_flag(token: str, known: frozenset[str]) -> str:
    name, equals, value = token.partition("=")
    dashed = name.replace("_", "-")
    if name.startswith("--") and dashed[2:].removeprefix("no-") in known:
        return dashed + equals + value
    return token


def flag_of(name: str) -> str:
    """Return the flag of a field."""
    return f"--{name.replace('_', '-')}"
