"""The flags of the command line. Flags of options are made from their declarations; others have none and stand here."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, Optional, TypeVar, get_args, get_type_hints

from cyclopts import Group, Parameter, Token

from harness.config.options import DeclaredOption, OptionTable
from harness.config.settings import FILES, HOW, REPORT, WHAT, WHERE, Settings

ONE_COMMIT: Final = frozenset(
    {"treatment", "source", "repo_dir", "repo", "remote_repository", "branch", "frameworks_dir", "exec_dir"}
)
"""Flags about commits that mean something without a control."""
_COMMIT: Final = Group("Which commit to measure", sort_key=7)
_SIDES: Final = Group("What to compare with what", sort_key=7)
_DECIDE: Final = Group("How to decide", sort_key=8)
_WATCH: Final = Group("How to watch", sort_key=9)
_ORDER: Final = {WHAT: 1, WHERE: 2, HOW: 4, REPORT: 5, FILES: 6}
"""Places of headings in `--help`."""
_OF_EVERY_COMMAND: Final = frozenset({"quiet", "verbose", "debug"})
"""Options that every command shows."""
_PLUG_INS: Final = 3
"""Place of the headings of plug-ins: beside the devices."""

WORD_SEPARATOR: Final = "\0"
"""Joins the words of a long list to one (`harness.config.long_lines`); no argument of a process can hold it."""


def _split_words(type_: type, tokens: Sequence[Token]) -> tuple[object, ...]:
    """Return the words of a flag that takes several, as texts or as paths."""
    words = (word for token in tokens for word in token.value.split(WORD_SEPARATOR))
    return tuple(map(Path, words)) if Path in get_args(type_) else tuple(words)


Paths = Annotated[tuple[Path, ...] | None, Parameter(consume_multiple=True, negative="", converter=_split_words)]
Words = Annotated[tuple[str, ...] | None, Parameter(consume_multiple=True, negative="", converter=_split_words)]
SeveralWords = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", converter=_split_words)]
SpecificationArgument = Annotated[str, Parameter(show_default=False)]
FlagsT = TypeVar("FlagsT", bound="InspectFlags")


def group_of(heading: str) -> Group:
    """Return the group of flags below a heading of `--help`."""
    return Group(heading, sort_key=_ORDER.get(heading, _PLUG_INS))


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InspectFlags:
    """Flags of commands that measure nothing. None where the command line says nothing.

    The command line knows a class made of this one, which has a field for each declared option, too.
    """

    config_dir: Annotated[Path | None, Parameter(metavar="FOLDER", group=group_of(FILES))] = None
    """Folder of the saved defaults (see `harness init`)."""

    def given(self) -> dict[str, object]:
        """Return what the command line says, by the names of the flags."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RunFlags(InspectFlags):
    """Flags of commands that measure. None where the command line says nothing."""

    info: Annotated[str | None, Parameter(metavar="JSON", group=group_of(WHAT))] = None
    """FAI-PEP's info JSON (a file or the text): programs, commit, `string_map` and `meta` of the treatment."""

    reset_options: Annotated[bool | None, Parameter(group=group_of(FILES), negative="")] = None
    """Forget the saved defaults."""


def run_flags(table: OptionTable, *refused: str) -> type[RunFlags]:
    """Return the flags of commands that measure, those of all options among them.

    Args:
        table: The options that there are.
        refused: Names of the options that the command refuses, in words of its own: `--help` does not show them.
    """
    return _with_options(RunFlags, table.options, {option.name for option in table.options} - set(refused))


def inspect_flags(table: OptionTable, *shown: str, show_plug_ins: bool = False) -> type[InspectFlags]:
    """Return the flags of a command that measures nothing, those of the options that mean something there among them.

    Args:
        table: The options that there are.
        shown: Names of the options that `--help` shows beside those of every command; others are accepted, so that
            several commands can be given the same flags.
        show_plug_ins: Show the options of plug-ins, too.
    """
    names = {*_OF_EVERY_COMMAND, *shown}
    options = [option for option in table.options if option.option.inspecting]
    plug_ins = {option.name for option in options if show_plug_ins and option.owner is not Settings}
    return _with_options(InspectFlags, options, names | plug_ins)


def _with_options(
    flags: type[FlagsT], options: Iterable[DeclaredOption], shown: Collection[str] | None = None
) -> type[FlagsT]:
    fields = ((option, shown is None or option.name in shown) for option in options if option.flags)
    return make_dataclass(
        flags.__name__,
        [(option.name, _annotation(option, show=show), None) for option, show in fields],
        bases=(flags,),
        namespace={"__module__": __name__, "__doc__": flags.__doc__},  # without one its signature is written as such
        frozen=True,
        kw_only=True,
        eq=False,  # each method is compiled, with a line for each of a hundred fields
        repr=False,
    )


def _annotation(option: DeclaredOption, *, show: bool) -> object:
    """Return the type of a flag, with what `--help` shows of it."""
    parameter = Parameter(
        name=option.flags,
        group=group_of(option.heading),
        help=_describe(option),
        metavar=_name_value(option),
        show=show,
        negative=option.negative_flags or "",
        consume_multiple=option.takes_words,
        converter=_split_words if option.takes_words else None,
        allow_leading_hyphen=option.option.leading_hyphen,
    )
    return Annotated[Optional[_type_of_flag(option)], parameter]  # noqa: UP045 - the type is known at run time only


def _describe(option: DeclaredOption) -> str:
    """Return the text of `--help`, with the default where there is one and the text does not say it."""
    text, default = option.option.help, option.shown_default
    return text if not default or "default" in text else f"{text.removesuffix('.')} (default: {default})."


def _name_value(option: DeclaredOption) -> str | None:
    """Return what `--help` calls the value of a flag."""
    value = option.option.value
    return f"{value}..." if value is not None and option.takes_words else value


def _type_of_flag(option: DeclaredOption) -> object:
    """Return the type of what is typed: a value that has a parser is words or a text."""
    if option.option.choices:
        return Literal[option.option.choices]
    if option.takes_words:
        return tuple[Path, ...] if option.bare_type == tuple[Path, ...] and not option.option.parse else tuple[str, ...]
    return str if option.option.parse is not None else option.bare_type


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CompareFlags:
    """Flags about the sides of a comparison and about deciding. None where the command line says nothing."""

    control: Annotated[str | None, Parameter(metavar="COMMIT", name=["--control", "--base-commit"], group=_SIDES)] = (
        None
    )
    """Commit or version to compare the treatment with (default: where its branch left the main branch)."""

    treatment: Annotated[str | None, Parameter(metavar="COMMIT", name=["--treatment", "--commit"], group=_SIDES)] = None
    """Commit or version to judge (default: the newest of `--branch`)."""

    control_program: Annotated[Words, Parameter(metavar="PROGRAM...", group=_SIDES)] = None
    """Ready runner of the control; `NAME=PATH` for further programs."""

    treatment_program: Annotated[Words, Parameter(metavar="PROGRAM...", group=_SIDES)] = None
    """Ready runner of the treatment."""

    source: Annotated[str | None, Parameter(metavar="KIND:PLACE", group=_SIDES)] = None
    """Source of commits: `releases:PACKAGE`, `git:FOLDER` or `hg:FOLDER`."""

    repo_dir: Annotated[str | None, Parameter(metavar="FOLDER", group=_SIDES)] = None
    """Repository of the framework; it is never changed."""

    repo: Annotated[Literal["git", "hg"] | None, Parameter(metavar="KIND", group=_SIDES)] = None
    """Kind of that repository (default: git)."""

    remote_repository: Annotated[str | None, Parameter(metavar="NAME", group=_SIDES)] = None
    """Remote of that repository to fetch new commits from."""

    branch: Annotated[str | None, Parameter(metavar="NAME", group=_SIDES)] = None
    """Branch whose newest commit is the treatment, when none is named."""

    frameworks_dir: Annotated[Paths, Parameter(metavar="FOLDER...", group=_SIDES)] = None
    """Folders with further recipes, `<framework>/<platform>/build.sh`."""

    exec_dir: Annotated[Path | None, Parameter(metavar="FOLDER", group=_SIDES)] = None
    """Folder of the builds."""

    unequal_options: Annotated[Words, Parameter(metavar="NAME...", group=_SIDES)] = None
    """Build options that are meant to differ, such as `event_tracer`; `all` for every one."""

    layouts: Annotated[int | None, Parameter(metavar="COUNT", group=_SIDES)] = None
    """Link the control in so many further layouts first, and note differences that are no larger than theirs."""

    self_check: Annotated[bool | None, Parameter(group=_SIDES, negative="")] = None
    """Compare the installed runner with itself: only `no change` is right, and `undecided` says that more pairs are
    needed."""

    ab_testing: Annotated[bool | None, Parameter(group=_SIDES, negative="")] = None
    """FAI-PEP's: compare `--base-commit` with `--commit`."""

    metric: Annotated[tuple[str, ...] | None, Parameter(metavar="NAME", group=_DECIDE, negative="")] = None
    """Metric to compare (default: `NET latency`; of a generation its decode rate and first token). Repeatable."""

    margin: Annotated[float | None, Parameter(metavar="FRACTION", group=_DECIDE)] = None
    """Differences that `no change` rules out (default 0.01, i.e. 1 %); a smaller one that is proven is reported."""

    tail_margin: Annotated[float | None, Parameter(metavar="FRACTION", group=_DECIDE)] = None
    """Equivalence margin of the 90th percentile (default 0.05, i.e. 5 %)."""

    output_tolerance: Annotated[float | None, Parameter(metavar="FRACTION", group=_DECIDE)] = None
    """Difference between outputs that is rounding, relative to the largest output (default for float: 1e-4)."""

    alpha: Annotated[float | None, Parameter(metavar="PROBABILITY", group=_DECIDE)] = None
    """Largest probability of a false regression, and of a false improvement (default 0.01)."""

    beta: Annotated[float | None, Parameter(metavar="PROBABILITY", group=_DECIDE)] = None
    """Largest probability of calling a change that matters no change (default 0.05)."""

    fdr: Annotated[float | None, Parameter(metavar="FRACTION", group=_DECIDE)] = None
    """Largest expected share of false ones among the reported regressions of many benchmarks (default 0.05)."""

    pairs: Annotated[int | None, Parameter(metavar="COUNT", group=_DECIDE)] = None
    """Budget of each benchmark in pairs of launches (default 100)."""

    seconds: Annotated[float | None, Parameter(metavar="SECONDS", group=_DECIDE)] = None
    """Budget of each benchmark in seconds of device time (default: none)."""

    gate: Annotated[bool | None, Parameter(group=_DECIDE, negative="")] = None
    """Test for a regression only: takes less time when there is none."""

    interleave: Annotated[
        Literal["auto", "launch", "process", "duet"] | None, Parameter(metavar="KIND", group=_DECIDE)
    ] = None
    """What alternates in a pair: launches, iterations (faster) or milliseconds (a duet, fastest); `auto` chooses."""

    seed: Annotated[int | None, Parameter(metavar="NUMBER", group=_DECIDE)] = None
    """Random seed for the order of the launches in each pair; recorded (default: a random one)."""

    resume: Annotated[bool | None, Parameter(group=_DECIDE, negative="")] = None
    """Continue an interrupted comparison."""


def run_compare_flags() -> type[CompareFlags]:
    """Return the flags about commits of `harness run`: all are accepted, as FAI-PEP's command lines have them.

    `--help` shows those that name the one commit to measure; any other makes the command a comparison.
    """
    hints = get_type_hints(CompareFlags, include_extras=True)
    changes = {name: Parameter(group=_COMMIT) if name in ONE_COMMIT else Parameter(show=False) for name in hints}
    return make_dataclass(
        "RunCompareFlags",
        [(name, Annotated[hints[name], change], None) for name, change in changes.items()],
        bases=(CompareFlags,),
        namespace={"__module__": __name__, "__doc__": CompareFlags.__doc__},
        frozen=True,
        kw_only=True,
        eq=False,
        repr=False,
    )


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WatchFlags:
    """Flags about watching a repository. None where the command line says nothing."""

    interval: Annotated[float | None, Parameter(metavar="SECONDS", group=_WATCH)] = None
    """Seconds between polls for new commits; without it, process all commits that are there and exit."""

    since: Annotated[str | None, Parameter(metavar="COMMIT", group=_WATCH)] = None
    """Commit after which the first start begins (default: measure the newest commit only)."""

    again: Annotated[str | None, Parameter(metavar="COMMITS", group=_WATCH)] = None
    """Measure commits of the backlog again, also failed ones: A..B, or a single commit."""

    step: Annotated[int | None, Parameter(metavar="COUNT", group=_WATCH)] = None
    """Measure every N-th commit, and always the newest (default 1)."""

    merges: Annotated[bool | None, Parameter(group=_WATCH)] = None
    """Measure merge commits too (the default), or skip them."""

    regression: Annotated[bool | None, Parameter(group=_WATCH)] = None
    """Detect changes, verify them and search for their commits (the default), or only measure."""

    platforms: Annotated[Words, Parameter(metavar="NAME...", group=_WATCH)] = None
    """Platforms to measure on, for example `host android` (default: that of --platform)."""

    state: Annotated[Path | None, Parameter(metavar="FILE", group=_WATCH)] = None
    """State file of the watcher (default: `watch.db` beside the results)."""

    commit_file: Annotated[Path | None, Parameter(metavar="FILE", group=_WATCH)] = None
    """FAI-PEP's: file with the last measured commit, after which the first start begins."""

    status_file: Annotated[Path | None, Parameter(metavar="FILE", group=_WATCH)] = None
    """FAI-PEP's: file that stops the watcher after the current launch when it contains 0."""

    on_alarm: Annotated[str | None, Parameter(metavar="COMMAND", group=_WATCH, allow_leading_hyphen=True)] = None
    """Command to run for each alarm, which it reads from standard input or $HARNESS_ALARM_FILE."""

    hook: Annotated[
        Words,
        Parameter(
            metavar="TARGET...",
            group=_WATCH,
            help="Where to send alarms: a URL of Slack, Teams, Mattermost or a program of yours, "
            "`mail:smtp://HOST?to=ADDRESS`, `github:OWNER/REPOSITORY`, `github-status:OWNER/REPOSITORY`; `FORM:URL` "
            "names the form, `$NAME` a variable.",
        ),
    ] = None

    results_url: Annotated[str | None, Parameter(metavar="URL", group=_WATCH)] = None
    """Address under which others see the folder of results, for links in messages."""

    diff_url: Annotated[str | None, Parameter(metavar="URL", group=_WATCH)] = None
    """Page of the difference between two commits, with `{before}` and `{after}` (default: by the remote's URL)."""

    test_hook: Annotated[bool | None, Parameter(group=_WATCH, negative="")] = None
    """Send a test through every `--hook` and `--on-alarm`, and measure nothing."""


UNSUPPORTED_FLAGS = {
    "hash-platform-mapping": "name this machine with --platform-sig",
    "device-name-mapping": "name this machine with --platform-sig",
    "shared-libs": "give them as further programs, which lie beside the runner: --program PATH libx.so=PATH",
    "remote": "`--lab ADDRESS` measures on devices of a lab",
    "server-addr": "`--lab ADDRESS` measures on devices of a lab",
    "logger-level": "progress goes to standard error: redirect it to silence it",
    "remote-access-token": "a token in arguments is seen by every user of the machine: set HARNESS_REMOTE_TOKEN",
}
"""Flags of FAI-PEP without a meaning here (yet), and why: a flag is never accepted and then ignored."""

_COMMAND_FLAGS: Final = frozenset(
    {
        *("--by", "--closed", "--reason"),
        *("--failed", "--format", "--keep", "--kind", "--limit", "--older-than", "--vacuum", "--yes"),
        *("--allowed-host", "--artifact-mib", "--batch", "--body-mib", "--certificate", "--expires", "--host"),
        *("--json-log", "--key", "--port", "--public-url", "--rate", "--requests", "--scope", "--title"),
        *("--commits", "--results"),
        *("--data", "--each", "--examples", "--layers", "--minutes"),
        *("--bad", "--benchmark", "--calibration", "--exec-dir", "--flush", "--from", "--good"),
        *("--json", "--keep-mib", "--model", "--output", "-o", "--prune", "--recipe", "--seed", "--state"),
        *("--unused-days", "--help", "-h", "--version", "-V", "--against", "--export", "--samples"),
        *("--rounds", "--tolerance"),
        *(
            "--as-class",
            "--builds",
            "--certificates",
            "--check-every",
            "--lease",
            "--open-runs",
            "--quiet-hours",
            "--repositories",
            "--requests-from",
            "--specifications",
        ),
    }
)
"""Flags of single commands."""


def reserved_flags() -> frozenset[str]:
    """Return the flags that are no options, with dashes, and the names that the classes of flags need themselves."""
    names = {"given", "base_commit", "commit", *UNSUPPORTED_FLAGS}
    for flags in (InspectFlags, RunFlags, CompareFlags, WatchFlags):
        names |= {field.name for field in dataclasses.fields(flags)}
        names |= {f"no_{name}" for name in _switches(flags)}
    return _COMMAND_FLAGS | {f"--{name.replace('_', '-')}" for name in names}


def find_flag_without_default(key: str) -> str | None:
    """Return the flag of single commands that a key of a file means; None where there is none.

    Such flags say what one command is to do, so that nothing but the command line sets them.
    """
    flag = f"--{key.lstrip('-').replace('_', '-')}"
    of_classes = {field for flags in (RunFlags, CompareFlags, WatchFlags) for field in _names(flags)}
    return flag if flag in of_classes | _COMMAND_FLAGS else None


def is_flag_of_measuring(flag: str) -> bool:
    """Return whether a flag without a default is of commands that measure, compare or watch."""
    return any(flag in _names(flags) for flags in (RunFlags, CompareFlags, WatchFlags))


def _names(flags: type) -> frozenset[str]:
    """Return the flags of a class, with dashes."""
    hints = get_type_hints(flags, include_extras=True)
    names = {f"--{name.replace('_', '-')}" for name in hints}
    parameters = (part for hint in hints.values() for part in get_args(hint)[1:] if isinstance(part, Parameter))
    return frozenset(names.union(*(parameter.name or () for parameter in parameters)))


def _switches(flags: type) -> Iterator[str]:
    """Yield the names of flags that can be switched off: `--no-NAME`."""
    for name, hint in get_type_hints(flags, include_extras=True).items():
        value_type, *metadata = get_args(hint)
        is_switch = bool in get_args(value_type)
        if is_switch and not any(isinstance(part, Parameter) and part.negative == () for part in metadata):
            yield name
