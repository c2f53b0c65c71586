"""Commands about a database of results: store, query."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags
from harness.config.flags import Words
from harness.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from harness.config.flags import InspectFlags as StoreFlags
    from harness.config.settings import Settings
    from harness.core.protocols import Display
    from harness.store.database.engine import Database
    from harness.store.database.retention import RetentionRule
else:  # cyclopts reads them from the signatures below
    StoreFlags = flags.inspect_flags(arguments.installed_options(), "database", "local_reporter")

_NO_FLAGS = StoreFlags()

StoreAction = Literal["info", "import", "export", "prune", "migrate", "check"]


def store(
    action: StoreAction = "info",
    /,
    *paths: Path,
    form: Annotated[
        Literal["json", "parquet", "csv"] | None, Parameter(name="--format", metavar="json|parquet|csv")
    ] = None,
    samples: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    older_than: Annotated[str | None, Parameter(metavar="AGE")] = None,
    kind: Annotated[Literal["results", "logs", "samples"] | None, Parameter(metavar="results|logs|samples")] = None,
    keep: Annotated[int | None, Parameter(metavar="COUNT")] = None,
    yes: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    vacuum: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: StoreFlags = _NO_FLAGS,
) -> int:
    """`harness store`.

    Args:
        action: Show what is in the database, import results, export them, remove old ones (prune), bring its tables up
            to date (migrate), or read everything and compare it with its digests (check).
        paths: What to import: folders of results (default: that of --local-reporter), a result.json, or a .jsonl; or
            the file or folder to export to.
        form: What to export: whole results as lines of JSON, as they were stored, or a table (default: by the ending).
        samples: Export one row per sample, instead of one per result and metric.
        older_than: Prune what was measured longer ago: `90d`, `12w`, or before a date.
        kind: Prune whole results (the default), or only their logs or samples.
        keep: Newest results of each benchmark and device that prune leaves as they are (default 1).
        yes: Remove it; without, prune shows what it would remove.
        vacuum: Give the room of what was pruned back to the disk.
        json: Show the outcome as JSON.
        inspect_flags: Where things are.
    """
    used = {"--format": form, "--samples": samples or None}
    pruning = {"--older-than": older_than, "--kind": kind, "--keep": keep, "--yes": yes or None}
    _reject_unused(action, "export", used)
    _reject_unused(action, "prune", {**pruning, "--vacuum": vacuum or None})
    if paths and action not in {"import", "export"}:
        raise UsageError(f"{action} takes no path, such as {paths[0]}", hint="--database names the database")
    if json and action == "export":
        raise UsageError("--json beside export, which writes a file", hint="--format json names the form of the file")
    settings = arguments.resolve_settings(inspect_flags)
    console = display.open_console() if json else None
    with shell.handle_signals(), display.open_display(quiet=settings.quiet or json) as shown:
        match action:
            case "import":
                return _import(settings, paths, shown, console)
            case "export":
                return _export(settings, paths, shown, form, samples=samples)
            case "prune":
                from harness.flows.store.contents import prune

                rule = _make_rule(older_than, kind, keep)
                with _open(settings) as database:
                    return prune(database, rule, shown, console, execute=yes, vacuum=vacuum)
            case "check":
                from harness.flows.store.contents import check

                with _open(settings) as database:
                    return check(database, shown, console)
            case _:
                from harness.flows.store.contents import show_info

                with _open(settings) as database:
                    return show_info(database, display.open_console(), as_json=json)


def query(
    *,
    model: Annotated[Words, Parameter(metavar="NAME...")] = None,
    backend: Annotated[Words, Parameter(metavar="NAME...")] = None,
    devices: Annotated[Words, Parameter(name=["-d", "--devices", "--device"], metavar="DEVICE...")] = None,
    only: Annotated[Words, Parameter(metavar="PATTERN...")] = None,
    since: Annotated[str | None, Parameter(metavar="TIME")] = None,
    commit: Annotated[str | None, Parameter(metavar="COMMIT")] = None,
    metric: Annotated[Words, Parameter(metavar="NAME...")] = None,
    failed: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    limit: Annotated[int | None, Parameter(metavar="COUNT")] = None,
    export: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    samples: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: StoreFlags = _NO_FLAGS,
) -> int:
    """`harness query`.

    Args:
        model: Keep the results of these models.
        backend: Keep the results of these backends.
        devices: Keep the results of these devices, by identity or name.
        only: Keep the results whose name (`model/identifier`) matches one of these patterns, or `model:mv2`, or any
            axis of the matrix.
        since: Keep the results measured since a date or time (UTC), or for an age such as `2d`.
        commit: Keep the results of this commit, which may be abbreviated.
        metric: Keep these metrics, for example `'NET latency'` (default: the main one of each; of exports all).
        failed: Keep the results that should have numbers and have none.
        limit: Keep the newest results, so many (default: 25 on the screen, else all).
        export: Write the rows into a table: FILE.csv, FILE.parquet or FILE.json.
        samples: Export one row per sample, instead of one per result and metric.
        json: Show all rows as JSON.
        inspect_flags: Where things are.
    """
    if samples and export is None:
        raise UsageError("--samples without --export", hint="harness query --export samples.csv --samples")
    if json and export is not None:
        raise UsageError("--json beside --export", hint="leave one of them out")
    settings = arguments.resolve_settings(inspect_flags)
    from harness.flows.store import queries

    shows = export is None and not json
    selection = from_flags.stored_selection(
        models=model,
        backends=backend,
        devices=devices,
        only=only,
        since=since,
        commit=commit,
        metrics=metric,
        failed=failed,
        limit=limit if limit is not None or not shows else queries.SCREENFUL,
    )
    with shell.handle_signals(), _open(settings) as database:
        if export is not None:
            from harness.flows.store.exports import export_rows

            with display.open_display(quiet=settings.quiet) as shown:
                return export_rows(database, selection, export, shown, samples=samples)
        if json:
            return queries.describe_rows(database, selection, display.open_console())
        return queries.show_rows(database, selection, display.open_console())


def _import(settings: Settings, paths: tuple[Path, ...], shown: Display, console: Console | None) -> ExitCode:
    from harness.flows.store.imports import import_paths

    with _open(settings, create=True) as database:
        return import_paths(database, paths or (settings.local_reporter,), shown, now=time.time(), console=console)


def _export(
    settings: Settings,
    paths: tuple[Path, ...],
    shown: Display,
    form: Literal["json", "parquet", "csv"] | None,
    *,
    samples: bool,
) -> ExitCode:
    if len(paths) != 1:
        raise UsageError("export to which file or folder?", hint="harness store export results.jsonl")
    from harness.flows.store.exports import export_results

    with _open(settings) as database:
        return export_results(database, paths[0], shown, form=form, samples=samples)


def _make_rule(older_than: str | None, kind: str | None, keep: int | None) -> RetentionRule:
    if older_than is None:
        raise UsageError("prune what?", hint="harness store prune --older-than 90d")
    if keep is not None and keep < 1:
        raise UsageError(f"--keep {keep}: must be at least 1", hint="the newest result of each cell stays in any case")
    before = from_flags.stored_selection(since=older_than).since
    from harness.store.database.retention import RetentionKind, RetentionRule

    return RetentionRule(RetentionKind(kind or "results"), before or 0.0, keep or 1)


@contextmanager
def _open(settings: Settings, *, create: bool = False) -> Iterator[Database]:
    from harness.store.database.opening import open_configured

    with open_configured(settings, create=create) as database:
        yield database


def _reject_unused(action: str, wanted: str, given: Mapping[str, object]) -> None:
    """Reject flags of another action.

    Raises:
        UsageError: There is one.
    """
    for flag, value in given.items():
        if value is not None and action != wanted:
            raise UsageError(f"{flag} beside {action}", hint=f"it belongs to `harness store {wanted}`")
