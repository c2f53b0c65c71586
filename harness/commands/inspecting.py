"""Commands that measure nothing: status, alarms, devices, export, doctor, report, builds, init, schema."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from cyclopts import Parameter
from msgspec import structs

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags, parsing
from harness.config.flags import Words
from harness.core.errors import ExitCode, UsageError, most_severe

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags
    from harness.config.flags import InspectFlags as BuildFlags
    from harness.config.flags import InspectFlags as DeviceFlags
    from harness.config.flags import InspectFlags as ExportFlags
    from harness.config.flags import InspectFlags as ListFlags
    from harness.config.flags import InspectFlags as ReportFlags
    from harness.config.flags import InspectFlags as StateFlags
else:  # cyclopts reads them from the signatures below: with a field for each option, and help for those that count
    _OPTIONS = arguments.installed_options()
    InspectFlags = flags.inspect_flags(_OPTIONS, *_OPTIONS.keys)
    BuildFlags = flags.inspect_flags(_OPTIONS, "cache_dir")
    DeviceFlags = flags.inspect_flags(_OPTIONS, "cache_dir", show_plug_ins=True)
    ExportFlags = flags.inspect_flags(
        _OPTIONS, "string_map", "root_model_dir", "model_cache", "cache_dir", "force_export"
    )
    ListFlags = flags.inspect_flags(_OPTIONS)
    ReportFlags = flags.inspect_flags(_OPTIONS, "local_reporter", "remote_reporter", "cache_dir")
    StateFlags = flags.inspect_flags(_OPTIONS, "local_reporter")

_NO_INSPECT_FLAGS = InspectFlags()
_NO_BUILD_FLAGS = BuildFlags()
_NO_DEVICE_FLAGS = DeviceFlags()
_NO_EXPORT_FLAGS = ExportFlags()
_NO_LIST_FLAGS = ListFlags()
_NO_REPORT_FLAGS = ReportFlags()
_NO_STATE_FLAGS = StateFlags()


def status(
    *,
    state: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: StateFlags = _NO_STATE_FLAGS,
) -> int:
    """`harness status`.

    Args:
        state: State file of the watcher (default: `watch.db` beside the results).
        json: Show the complete status as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import status as flow

    settings = arguments.resolve_settings(inspect_flags)
    file = from_flags.state_file(state, settings)
    return flow.show_status(file, display.open_console(), settings.local_reporter, as_json=json)


def alarms(
    action: Literal["list", "close", "reopen"] = "list",
    alarm: str | None = None,
    /,
    *,
    reason: Annotated[str | None, Parameter(metavar="TEXT")] = None,
    by: Annotated[str | None, Parameter(metavar="COMMIT")] = None,
    closed: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    state: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    inspect_flags: StateFlags = _NO_STATE_FLAGS,
) -> int:
    """`harness alarms`.

    Args:
        action: List the alarms that are open, close one, or open a closed one again.
        alarm: Identity of an alarm, or the commit that caused alarms: then all of them. Each may be abbreviated.
        reason: Why it is closed or opened again; in the status, on its page and in the messages.
        by: Commit that repaired it.
        closed: List closed alarms too.
        json: Show everything about the alarms as JSON.
        state: State file of the watcher (default: `watch.db` beside the results).
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import alarms as flow

    file = from_flags.state_file(state, arguments.resolve_settings(inspect_flags))
    console = display.open_console()
    if action == "list":
        if alarm is not None or reason is not None or by is not None:
            raise UsageError("a list takes no alarm, --reason or --by", hint="harness alarms close ALARM --reason TEXT")
        return flow.list_alarms(file, console, with_closed=closed, as_json=json)
    if closed:
        raise UsageError(f"--closed beside {action}", hint="`harness alarms --closed` lists closed alarms too")
    if alarm is None or reason is None or not reason.strip():
        raise UsageError(f"{action} which alarm, and why?", hint=f"harness alarms {action} ALARM --reason TEXT")
    if action == "close":
        return flow.close(file, alarm, reason, by or "", console, as_json=json)
    if by is not None:
        raise UsageError("--by beside reopen", hint="--by names the commit that repaired an alarm that is closed")
    return flow.reopen(file, alarm, reason, console, as_json=json)


def schema(name: Literal["specification", "result", "comparison", "self-check"] = "specification", /) -> int:
    """`harness schema`.

    Args:
        name: Schema to print. `result` is that of each result.json, `comparison` that of its part of this name.
    """
    from harness.flows.inspect import schemas

    return schemas.show(name, display.open_console())


def devices(
    *,
    platform: Annotated[str | None, Parameter(name=["-p", "--platform"], metavar="NAME")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: DeviceFlags = _NO_DEVICE_FLAGS,
) -> int:
    """`harness devices`.

    Args:
        platform: List the devices of this platform only (default: of all).
        json: Show everything about each device as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import devices as flow

    with shell.handle_signals():
        settings = arguments.resolve_settings(inspect_flags)
        return flow.list_devices(settings, display.open_console(), platform=platform, as_json=json)


def export(
    model: str,
    *,
    recipe: Annotated[str, Parameter(metavar="NAME")] = "xnnpack_fp32",
    output: Annotated[Path | None, Parameter(name=["-o", "--output"], metavar="FILE")] = None,
    seed: Annotated[int, Parameter(metavar="NUMBER")] = 0,
    calibration: Annotated[int, Parameter(metavar="COUNT")] = 8,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: ExportFlags = _NO_EXPORT_FLAGS,
) -> int:
    """`harness export`.

    Args:
        model: A specification file, an installed definition such as `mv2`, or `package.module:function`.
        recipe: Recipe to lower a definition with: an installed one, or `package.module:function`.
        output: File to write (default: `MODEL_RECIPE.pte` here); for a specification, a folder for all of its files.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        json: Show the files, with what was lowered, as JSON.
        inspect_flags: Where things are.
    """
    from harness.display.documents import print_document
    from harness.flows.inspect import exports

    settings = arguments.resolve_settings(inspect_flags)
    _reject_missing_file(model)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        if model.endswith((".json", ".yaml", ".yml")):
            specified = dataclasses.replace(settings, benchmark_file=(Path(model),))
            document, code = exports.export_files(specified, shown, output)
        else:
            place = output or Path(f"{_stem(model)}_{_stem(recipe)}.pte")
            request = exports.ExportRequest(model, recipe, seed, calibration, place)
            document, code = exports.export_model(request, settings, shown), ExitCode.OK
    if json:
        print_document(document, display.open_console())
    return code


def list_(
    section: Literal[
        "models",
        "benchmarks",
        "definitions",
        "recipes",
        "frameworks",
        "platforms",
        "reporters",
        "sources",
        "data",
        "channels",
        "formats",
    ]
    | None = None,
    /,
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: ListFlags = _NO_LIST_FLAGS,
) -> int:
    """`harness list`.

    Args:
        section: The only section to show (default: all).
        json: Show everything as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import catalog

    _, mistake = arguments.resolve_or_default(inspect_flags)  # nothing listed depends on them
    if mistake is not None:
        arguments.warn(str(mistake))
    catalog.show_catalog(display.open_console(), section=section, as_json=json)
    return ExitCode.OK


def doctor(
    *,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: InspectFlags = _NO_INSPECT_FLAGS,
) -> int:
    """`harness doctor`.

    Args:
        json: Show all findings as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import doctor as flow

    with shell.handle_signals():
        settings, mistake = arguments.resolve_or_default(inspect_flags)
        return flow.examine(settings, display.open_console(), mistake=mistake, as_json=json)


def report(
    path: Path | None = None,
    /,
    *,
    reporter: Annotated[Words, Parameter(metavar="NAME...", negative="")] = None,
    against: Annotated[str | None, Parameter(metavar="LAST|TIME|FOLDER")] = None,
    export: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    samples: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    only: Annotated[Words, Parameter(metavar="PATTERN...")] = None,
    since: Annotated[str | None, Parameter(metavar="TIME")] = None,
    devices: Annotated[Words, Parameter(name=["-d", "--devices", "--device"], metavar="DEVICE...")] = None,
    commit: Annotated[str | None, Parameter(metavar="COMMIT")] = None,
    flush: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: ReportFlags = _NO_REPORT_FLAGS,
) -> int:
    """`harness report`.

    Args:
        path: A result, or a folder of results, to show again; LAST for those of the last run.
        reporter: Give the results to these reporters, `NAME` or `NAME=ARGUMENT`, as a run does.
        against: Show the results (default: of the last run, or the last run with what is selected) beside earlier ones:
            LAST, the last ones of each benchmark before; a date or an age such as `7d`, the last ones from before
            then; or those of a folder. Medians, ranges over launches and differences; no verdict.
        export: Write the results into a table: FILE.csv, FILE.parquet or FILE.json.
        samples: Export one row per sample, instead of one per result and metric.
        only: Keep the results whose name (`model/identifier`) matches one of these patterns, or `model:mv2`, or any
            axis of the matrix.
        since: Keep the results since a date or time (UTC), for an age such as `2d`, or of the `LAST` run.
        devices: Keep the results of these devices, by identity or name.
        commit: Keep the results of this commit, which may be abbreviated.
        flush: Send every result that is waiting.
        json: Show the list, with the command that measures each result again, as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import reports
    from harness.flows.inspect.stored_results import EVERYTHING, LAST

    settings = arguments.resolve_settings(inspect_flags)
    selection = from_flags.result_filter(only=only, since=since, devices=devices, commit=commit)
    if path is not None and str(path).upper() == LAST and not path.exists():
        path, selection = None, structs.replace(selection, last_run=True)
    selects = path is not None or selection != EVERYTHING
    writes = tuple(name for name, given in {"--reporter": reporter, "--export": export}.items() if given)
    _reject_contradictions(writes, flush=flush, json=json, against=against, selects=selects)
    if samples and export is None:
        raise UsageError("--samples without --export", hint="harness report --export samples.csv --samples")
    if flush or writes:
        if reporter:
            named = cast("dict[str, str]", parsing.parse_reporters(reporter))
            settings = dataclasses.replace(settings, reporters=named)
        with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
            if flush:
                return reports.flush(settings, shown)
            codes = [reports.render(path, settings, selection, shown)] if reporter else []
            if export is not None:
                from harness.flows.inspect import table_export

                codes.append(table_export.export_stored(path, settings, selection, export, shown, samples=samples))
            return most_severe(codes)
    console = display.open_console()
    if against is not None:
        from harness.flows.inspect.against import show_differences

        return show_differences(path, against, settings, selection, console, as_json=json)
    if json:
        return reports.describe(path, settings, selection, console)
    shows = path is not None or selection.last_run
    return reports.show(path, settings, console, selection) if shows else reports.latest(settings, console, selection)


def _reject_contradictions(
    writes: Sequence[str], *, flush: bool, json: bool, against: str | None, selects: bool
) -> None:
    """Reject flags of `harness report` that exclude one another.

    Raises:
        UsageError: There are some.
    """
    hint = "leave one of them out"
    if flush and (selects or writes or json or against is not None):
        raise UsageError("--flush sends everything that waits, and does nothing else", hint=hint)
    if json and writes:
        raise UsageError(f"--json beside {writes[0]}", hint=hint)
    if against is not None and writes:
        raise UsageError(f"--against beside {writes[0]}: it shows a table", hint=hint)


def builds(
    action: Literal["list", "prune"] = "list",
    /,
    *,
    prune: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    keep_mib: Annotated[float | None, Parameter(metavar="MIB")] = None,
    unused_days: Annotated[float | None, Parameter(metavar="DAYS")] = None,
    exec_dir: Annotated[Path | None, Parameter(metavar="FOLDER")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    inspect_flags: BuildFlags = _NO_BUILD_FLAGS,
) -> int:
    """`harness builds`.

    Args:
        action: List the builds, or remove those that are not in use.
        prune: The same as the action `prune`.
        keep_mib: Keep the most recently used builds up to this size; 0 removes all.
        unused_days: Remove only builds that have not been used for this many days.
        exec_dir: Folder of the builds.
        json: Show the builds, and those that were removed, as JSON.
        inspect_flags: Where things are.
    """
    from harness.builders.cache import BuildCache
    from harness.flows.inspect import builds as flow

    pruning = prune or action == "prune"
    arguments.reject_invalid_limits(pruning, keep_mib=keep_mib, unused_days=unused_days)
    if pruning and keep_mib is None and unused_days is None:  # builds may have taken hours
        hint = "give --keep-mib N or --unused-days N; --keep-mib 0 removes all"
        raise UsageError("`builds prune` does not know what to keep", hint=hint)
    cache = BuildCache(exec_dir or arguments.resolve_settings(inspect_flags).cache_dir / "builds")
    if pruning:
        return flow.prune(cache, display.open_console(), keep_mib=keep_mib, unused_days=unused_days, as_json=json)
    return flow.show(cache, display.open_console(), as_json=json)


def init(*, config_dir: Annotated[Path | None, Parameter(metavar="FOLDER")] = None) -> int:
    """`harness init`.

    Args:
        config_dir: Folder to save the answers in (default: that of this system's settings).
    """
    from harness.config import layers
    from harness.flows.inspect import first_run

    return first_run.ask(layers.config_file(config_dir), display.open_console())


def _reject_missing_file(model: str) -> None:
    """Reject a path of no file, where a path was meant."""
    path = model.endswith((".json", ".yaml", ".yml")) or (os.sep in model and ":" not in model)
    if path and not Path(model).is_file():
        raise UsageError(f"there is no file {model}", hint="name a specification, `mv2` or package.module:function")


def _stem(model: str) -> str:
    return model.rpartition(":")[2].rpartition(".")[2]
