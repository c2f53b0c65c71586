"""Requests to flows, made from the flags of a command."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from harness.config import arguments
from harness.config.flags import ONE_COMMIT, CompareFlags, RunFlags, WatchFlags
from harness.config.parsing import find_programs, parse_devices, parse_precision, reject_percent
from harness.config.settings import Settings
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.config.fai_pep_info import InfoSide
    from harness.core.protocols import Reporter
    from harness.flows.compare.requests import CompareRequest
    from harness.flows.inspect.stored_results import ResultFilter
    from harness.flows.measure.runners import Programs
    from harness.flows.watch.watch import WatchRequest
    from harness.store.database.selection import StoredSelection

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
    "output_tolerance": "output_tolerance",
}
"""Flags about deciding, and the fields of `harness.core.comparison.Parameters` that they set."""

_WITH_FROM = frozenset({*_DECIDE, "reporters", "config_dir", "reset_options", "debug"}) - {"output_tolerance"}
"""Flags that mean something beside `--from`: those about judging stored pairs. Outputs are not stored."""

_SIDES = (
    *("control", "treatment", "control_program", "treatment_program"),
    *("source", "repo_dir", "repo", "remote_repository", "branch"),
)
"""Flags about what to compare."""

COMMIT_FLAGS = frozenset({"treatment", "source", "repo_dir", "branch"})
BUILD_FLAGS = ONE_COMMIT - COMMIT_FLAGS
"""Flags that name one commit, and how to get and build it."""


def reject_flags_with_from(run_flags: RunFlags, compare_flags: CompareFlags, files: Sequence[str] = ()) -> None:
    """Reject specifications, and flags about measuring, where stored pairs are judged again.

    Raises:
        UsageError: There is one.
    """
    if files:
        raise UsageError(
            f"{files[0]} beside --from, which judges what is stored and measures nothing", hint="leave one of them out"
        )
    for flags in (run_flags, compare_flags):
        for field in dataclasses.fields(flags):
            if field.name not in _WITH_FROM and getattr(flags, field.name) is not None:
                option = arguments.installed_options().find(field.name)
                flag = arguments.flag_of(field.name) if option is None else option.flag
                raise UsageError(
                    f"{flag} beside --from, which judges what is stored and measures nothing",
                    hint="leave one of them out",
                )


def without_table(settings: Settings) -> Settings:
    """Return the settings of a command with `--json`: standard output is for its document.

    Raises:
        UsageError: Something else is to be printed there, or nothing is to be measured.
    """
    if settings.dry_run:
        raise UsageError("--json beside --dry-run, which measures nothing", hint="leave one of them out")
    if settings.simple_screen_reporter and "simple_screen_reporter" in settings.requested:
        raise UsageError(
            "--json beside --simple-screen-reporter: both write to standard output", hint="leave one of them out"
        )
    return dataclasses.replace(settings, screen_reporter=False, simple_screen_reporter=False)


def open_document(*, json: bool) -> contextlib.AbstractContextManager[tuple[Reporter, ...]]:
    """Return what yields the listeners of a command, and with `--json` prints the document of its results."""
    if not json:
        return contextlib.nullcontext(())
    from harness import display
    from harness.flows.inspect import measured

    return measured.open_document(display.open_console())


def is_single_commit_run(compare_flags: CompareFlags) -> bool:
    """Return whether the flags name a commit, or its source, and nothing to compare it with: FAI-PEP's plain run."""
    given = {
        field.name for field in dataclasses.fields(compare_flags) if getattr(compare_flags, field.name) is not None
    }
    return bool(given & COMMIT_FLAGS) and given <= {*COMMIT_FLAGS, *BUILD_FLAGS}


def wants_comparison(flags: RunFlags, compare_flags: CompareFlags) -> bool:
    """Return whether the flags or FAI-PEP's info JSON name something to compare with."""
    is_given = any(value is not None for value in dataclasses.asdict(compare_flags).values())
    if is_given and not is_single_commit_run(compare_flags):
        return True
    return _read_comparison(flags) is not None


def _read_comparison(flags: RunFlags) -> tuple[InfoSide, InfoSide] | None:
    """Return control and treatment of FAI-PEP's info JSON, if there is one with a control.

    Raises:
        UsageError: It cannot be read.
    """
    if flags.info is None:
        return None
    from harness.config import fai_pep_info

    info = fai_pep_info.read(flags.info)
    return None if info.control is None else (info.control, info.treatment)


def compare_request(flags: RunFlags, compare_flags: CompareFlags) -> CompareRequest:
    """Return what the flags, or an info JSON, ask to compare.

    Raises:
        UsageError: The info JSON cannot be read, a self-check has sides, a margin was probably meant in percent, or
            there is no such folder of recipes.
    """
    from harness.core.comparison import Interleave
    from harness.flows.compare.requests import CompareRequest
    from harness.flows.measure.runners import Programs

    _reject_sides_of_self_check(compare_flags)
    _reject_empty_names(compare_flags)
    _reject_number_of_layouts(compare_flags)
    _reject_missing_folders_of_recipes(compare_flags)
    for name in ("margin", "tail_margin", "output_tolerance"):
        reject_percent(name.replace("_", "-"), getattr(compare_flags, name) or 0.0)
    control = _programs_or_name(compare_flags.control_program, compare_flags.control)
    treatment = _programs_or_name(compare_flags.treatment_program, compare_flags.treatment)
    if (info := _read_comparison(flags)) is not None:
        control, treatment = (Programs(side.paths(), side.commit, side.commit_time, side.texts()) for side in info)
    repository = f"{compare_flags.repo or 'git'}:{compare_flags.repo_dir}" if compare_flags.repo_dir else None
    values = {**dataclasses.asdict(compare_flags), "precision": _precision_of_interval(flags)}
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
        metrics=compare_flags.metric or (),
        interleave=Interleave(compare_flags.interleave or "auto"),
        resume=bool(compare_flags.resume),
        layouts=compare_flags.layouts or 0,
        unequal_options=tuple(",".join(compare_flags.unequal_options or ()).replace(",", " ").split()),
    )


def _precision_of_interval(flags: RunFlags) -> object:
    """Return the precision until which pairs are added; None where the command line does not ask for it.

    Saved defaults do not: they are about medians, which cost less.
    """
    given = getattr(flags, "precision", None)
    precision = None if given is None else parse_precision(given)
    return None if precision == math.inf else precision


def watch_request(flags: WatchFlags, settings: Settings) -> WatchRequest:
    """Return how a repository is to be watched."""
    from harness.flows.watch.watch import WatchRequest

    values = dataclasses.asdict(flags)
    names = {
        "interval": "interval_s",
        "since": "since",
        "regression": "alarms",
        **{name: name for name in ("again", "step", "merges", "platforms", "commit_file", "status_file", "on_alarm")},
        **{name: name for name in ("results_url", "diff_url")},
        "hook": "hooks",
    }
    given = {names[name]: value for name, value in values.items() if name in names and value is not None}
    return WatchRequest(state=state_file(flags.state, settings), **given)


def result_filter(
    *, only: Sequence[str] | None, since: str | None, devices: Sequence[str] | None, commit: str | None
) -> ResultFilter:
    """Return which stored results are asked for.

    Raises:
        UsageError: A value is empty, or means nothing.
    """
    from harness.flows.inspect.stored_results import ResultFilter, parse_since

    time, last_run = parse_since(since, datetime.now(UTC)) if since is not None else (None, False)
    names = _device_names(tuple(devices or ()))
    if commit == "":
        raise UsageError("--commit is empty", hint="name a commit, or leave the flag out")
    return ResultFilter(tuple(only or ()), time, last_run, names, commit)


def stored_selection(
    *,
    models: Sequence[str] | None = None,
    backends: Sequence[str] | None = None,
    devices: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    since: str | None = None,
    commit: str | None = None,
    metrics: Sequence[str] | None = None,
    failed: bool = False,
    limit: int | None = None,
) -> StoredSelection:
    """Return which results of a database are asked for.

    Raises:
        UsageError: A value is empty, or means nothing.
    """
    from harness.flows.inspect.stored_results import ResultFilter, parse_since
    from harness.store.database.selection import StoredSelection

    if commit == "":
        raise UsageError("--commit is empty", hint="name a commit, or leave the flag out")
    if limit is not None and not 1 <= limit < 2**31:
        raise UsageError(f"--limit {limit}: must be at least 1", hint="leave it out for all")
    time_since, last_run = parse_since(since, datetime.now(UTC)) if since is not None else (None, False)
    if last_run:
        raise UsageError("--since LAST is of the folder of results", hint="give a time or an age such as 2d")
    return StoredSelection(
        models=tuple(models or ()),
        backends=tuple(backends or ()),
        devices=_device_names(tuple(devices or ())),
        commit=commit or "",
        only=ResultFilter(tuple(only or ())).only,
        metrics=tuple(metrics or ()),
        since=time_since,
        failed=failed,
        limit=limit,
    )


def _device_names(devices: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that stored results are selected by: those of other tools' devices may have spaces or commas.

    Raises:
        UsageError: Nothing is named, or an object names no device.
    """
    names = cast("tuple[str, ...]", parse_devices(devices))
    if devices and not names:
        raise UsageError("--device is empty", hint="name a device, or leave the flag out")
    return tuple(dict.fromkeys((*names, *devices)))


def state_file(path: Path | None, settings: Settings) -> Path:
    """Return the state file of a watcher: the given one, or that beside the results."""
    return path or settings.local_reporter / "watch.db"


def _reject_sides_of_self_check(compare_flags: CompareFlags) -> None:
    named = [flag for flag in _SIDES if getattr(compare_flags, flag) is not None]
    if compare_flags.self_check and named:
        raise UsageError(
            f"{arguments.flag_of(named[0])} beside --self-check, which compares the installed runner with itself",
            hint="leave one of them out",
        )


def _reject_empty_names(compare_flags: CompareFlags) -> None:
    """Reject empty names: an empty variable of a script does not ask for the default."""
    for flag in _SIDES:
        if getattr(compare_flags, flag) == "":
            raise UsageError(
                f"{arguments.flag_of(flag)} is empty", hint="name something, or leave the flag out for its default"
            )


def _reject_number_of_layouts(compare_flags: CompareFlags) -> None:
    if compare_flags.layouts is None:
        return
    from harness.files.programs import LAYOUTS

    if not 1 <= compare_flags.layouts <= LAYOUTS:
        raise UsageError(f"--layouts {compare_flags.layouts}: must be 1 to {LAYOUTS}", hint="4 or 5 tell most")


def _reject_missing_folders_of_recipes(compare_flags: CompareFlags) -> None:
    """Reject folders that do not exist: a misspelt one would build with the recipe that ships with the harness."""
    for folder in compare_flags.frameworks_dir or ():
        if not folder.is_dir():
            raise UsageError(
                f"--frameworks-dir: there is no folder {folder}",
                hint="name a folder that contains `<framework>/<platform>/build.sh`",
            )


def _programs_or_name(programs: tuple[str, ...] | None, name: str | None) -> str | Programs | None:
    if not programs:
        return name
    from harness.flows.measure.runners import Programs

    return Programs(find_programs(programs))
