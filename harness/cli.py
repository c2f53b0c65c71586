"""The command line: the one place with argv and exit."""

from __future__ import annotations

import dataclasses
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, CycloptsError, Parameter, UnknownOptionError

import harness
from harness.config import arguments, flags
from harness.config.flags import CompareFlags, WatchFlags
from harness.core.errors import ExitCode, HarnessError, UsageError, most_severe

if TYPE_CHECKING:
    from rich.console import Console

    from harness.config.flags import InspectFlags, RunFlags
    from harness.config.settings import Settings
else:  # cyclopts reads them from the signatures below: with a field for each option that is declared
    InspectFlags = flags.inspect_flags(arguments.installed_options())
    RunFlags = flags.run_flags(arguments.installed_options())


app = App(
    name="harness",
    help="How fast is this model on this device, and can the number be believed?",
    help_epilogue="harness -b specifications/models/mv2.json    measure, and show a table\n"
    "harness run --help                           every flag (`run` may be left out)",
    version=harness.__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)

_NO_RUN_FLAGS = RunFlags()
_NO_COMPARE_FLAGS = CompareFlags()
_NO_INSPECT_FLAGS = InspectFlags()
_NO_WATCH_FLAGS = WatchFlags()


@app.command(sort_key=0)
def run(run_flags: RunFlags = _NO_RUN_FLAGS, compare_flags: CompareFlags = _NO_COMPARE_FLAGS) -> int:
    """Measure the benchmarks of one or more specifications, with the installed runner or that of one commit."""
    if arguments.wants_comparison(run_flags, compare_flags):
        return compare(run_flags=run_flags, compare_flags=compare_flags)
    settings = arguments.require_specification(arguments.resolve_settings(run_flags))
    from harness import display, shell
    from harness.flows.compare import requests, source_fetcher
    from harness.flows.measure import run as flow
    from harness.flows.measure.workload import load_workload

    if settings.dry_run:
        return _show_plan(settings)
    with shell.handle_signals(), display.open_display() as shown:
        plan = load_workload(settings).plan()
        if not arguments.is_single_commit_run(compare_flags):
            return flow.run(plan, settings, shown)
        treatments = requests.split_treatments(arguments.compare_request(run_flags, compare_flags), settings)
        fetcher = source_fetcher.SourceFetcher(shown)
        runners = (requests.resolve_side(request, settings, fetcher, shown) for request in treatments)
        return most_severe([flow.run(plan, settings, shown, runner) for runner in runners])


@app.command(sort_key=1)
def compare(
    *,
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
) -> int:
    """Compare a treatment with a control: two commits, releases or programs. Exit code 1 means a regression.

    Args:
        from_: Evaluate stored results again, perhaps with another margin; measures nothing.
        run_flags: What to measure, where and how.
        compare_flags: What to compare with what, and how to decide.
    """
    if from_ is not None:
        arguments.reject_flags_with_from(run_flags, compare_flags)
    settings = arguments.resolve_settings(run_flags)
    request = arguments.compare_request(run_flags, compare_flags)
    from harness import display, shell
    from harness.flows.compare import batch, reevaluate, requests
    from harness.flows.measure.workload import load_workload

    if from_ is not None:
        return reevaluate.reevaluate(from_, request.parameters, _console())
    arguments.require_specification(settings)
    if settings.dry_run:
        return _show_plan(settings, requests.describe_sides(request))
    with shell.handle_signals(), display.open_display() as shown:
        return batch.compare_batch(
            load_workload(settings), requests.split_treatments(request, settings), settings, shown
        )


@app.command(sort_key=2)
def watch(
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
    watch_flags: WatchFlags = _NO_WATCH_FLAGS,
) -> int:
    """Compare new commits as they arrive; verify slow-downs, find the commits that caused them, and send alarms.

    Each commit is compared with --base-commit, or else with the first commit of its week.
    """
    settings = arguments.require_specification(arguments.resolve_settings(run_flags))
    request = arguments.compare_request(run_flags, compare_flags)
    from harness import display, shell
    from harness.flows.watch import watch as flow

    with shell.handle_signals(), display.open_display() as shown:
        return flow.watch(request, settings, arguments.watch_request(watch_flags, settings), shown)


@app.command(sort_key=3)
def bisect(
    *,
    good: str,
    bad: str,
    benchmark: str | None = None,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
) -> int:
    """Find the commit that changed a metric, between a good and a bad one.

    Args:
        good: Commit without the change.
        bad: Commit with the change.
        benchmark: Name of the benchmark that shows the change, or a pattern.
        run_flags: What to measure, where and how.
        compare_flags: Where commits come from, and how to decide.
    """
    settings = arguments.require_specification(arguments.resolve_settings(run_flags))
    request = arguments.compare_request(run_flags, compare_flags)
    from harness import display, shell
    from harness.flows.bisect import bisect as flow

    bisect_request = flow.BisectRequest(good, bad, benchmark, compare_flags.pairs, resume=bool(compare_flags.resume))
    with shell.handle_signals(), display.open_display() as shown:
        return flow.bisect(request, settings, bisect_request, shown, _console())


@app.command(sort_key=4)
def status(
    *,
    state: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    inspect_flags: InspectFlags = _NO_INSPECT_FLAGS,
) -> int:
    """Show the current activity of a watcher, its backlog, the latest verdicts and the open alarms.

    Args:
        state: State file of the watcher (default: `watch.db` beside the results).
        json: Show the complete status as JSON.
        inspect_flags: Where things are.
    """
    from harness.flows.inspect import status as flow

    return flow.show_status(
        arguments.state_file(state, arguments.resolve_settings(inspect_flags)), _console(), as_json=json
    )


@app.command
def validate(*files: Path, inspect_flags: InspectFlags = _NO_INSPECT_FLAGS) -> int:
    """Check specifications without running anything, and list what they expand to.

    Args:
        files: Specifications, or lists of them (JSON or YAML).
        inspect_flags: Where things are.
    """
    if not files:
        raise UsageError("no specification to check", hint="harness validate FILE...")
    settings = dataclasses.replace(arguments.resolve_settings(inspect_flags), benchmark_file=files)
    from harness.flows.inspect import checks
    from harness.flows.measure.workload import load_benchmarks

    checks.validate(load_benchmarks(settings), settings, _console())
    return ExitCode.OK


@app.command
def devices(inspect_flags: InspectFlags = _NO_INSPECT_FLAGS) -> int:
    """List every device that can be reached."""
    from harness.flows.inspect import devices as flow

    return flow.list_devices(arguments.resolve_settings(inspect_flags), _console())


@app.command
def export(
    model: str,
    *,
    recipe: str = "xnnpack_fp32",
    output: Annotated[Path | None, Parameter(name=["-o", "--output"])] = None,
    seed: int = 0,
    calibration: int = 8,
    inspect_flags: InspectFlags = _NO_INSPECT_FLAGS,
) -> int:
    """Export a model and show what was lowered.

    Args:
        model: A specification file, an installed definition such as `mv2`, or `package.module:function`.
        recipe: Recipe to lower a definition with: an installed one, or `package.module:function`.
        output: File to write (default: `MODEL_RECIPE.pte` here); for a specification, a folder for all of its files.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        inspect_flags: Where things are.
    """
    from harness import display, shell
    from harness.flows.inspect import exports

    settings = arguments.resolve_settings(inspect_flags)
    _reject_missing_file(model)
    with shell.handle_signals(), display.open_display() as shown:
        if model.endswith((".json", ".yaml", ".yml")):
            return exports.export_files(dataclasses.replace(settings, benchmark_file=(Path(model),)), shown, output)
        request = exports.ExportRequest(
            model, recipe, seed, calibration, output or Path(f"{_stem(model)}_{_stem(recipe)}.pte")
        )
        return exports.export_model(request, settings, shown)


@app.command
def doctor(inspect_flags: InspectFlags = _NO_INSPECT_FLAGS) -> int:
    """Check what is installed and what is missing, and how to get it."""
    from harness.flows.inspect import doctor as flow

    return flow.examine(arguments.resolve_settings(inspect_flags), _console())


@app.command
def report(
    path: Path | None = None,
    /,
    *,
    flush: Annotated[bool, Parameter(negative="")] = False,
    inspect_flags: InspectFlags = _NO_INSPECT_FLAGS,
) -> int:
    """List the latest results, show stored ones again, or send what a remote reporter could not deliver.

    Args:
        path: A result, or a folder of results, to show again.
        flush: Send every result that is waiting.
        inspect_flags: Where things are.
    """
    from harness import display
    from harness.flows.inspect import reports

    if path is not None and flush:
        raise UsageError(f"--flush sends everything that waits, and not {path}", hint="leave one of them out")
    settings = arguments.resolve_settings(inspect_flags)
    if path is not None:
        return reports.show(path, settings, _console())
    if not flush:
        return reports.latest(settings, _console())
    with display.open_display() as shown:
        return reports.flush(settings, shown)


@app.command
def builds(
    action: Literal["list", "prune"] = "list",
    /,
    *,
    prune: Annotated[bool, Parameter(negative="")] = False,
    keep_mib: float | None = None,
    unused_days: float | None = None,
    exec_dir: Path | None = None,
    inspect_flags: InspectFlags = _NO_INSPECT_FLAGS,
) -> int:
    """List the runners that were built, or remove some to make room.

    Args:
        action: List the builds, or remove those that are not in use.
        prune: The same as the action `prune`.
        keep_mib: Keep the most recently used builds up to this size (default: keep none).
        unused_days: Remove only builds that have not been used for this many days.
        exec_dir: Folder of the builds.
        inspect_flags: Where things are.
    """
    from harness.builders.cache import BuildCache
    from harness.flows.inspect import builds as flow

    pruning = prune or action == "prune"
    arguments.reject_invalid_limits(pruning, keep_mib=keep_mib, unused_days=unused_days)
    cache = BuildCache(exec_dir or arguments.resolve_settings(inspect_flags).cache_dir / "builds")
    if pruning:
        return flow.prune(cache, _console(), keep_mib=keep_mib, unused_days=unused_days)
    return flow.show(cache, _console())


@app.command
def init(*, config_dir: Path | None = None) -> int:
    """Ask a few questions and save the answers as defaults."""
    from harness.config import layers
    from harness.flows.inspect import first_run

    return first_run.ask(layers.config_file(config_dir), _console())


def main(argv: Sequence[str] | None = None) -> None:
    """Run the console command, and end the process with its exit code."""
    tokens = arguments.normalise_flags(sys.argv[1:] if argv is None else argv)
    sys.exit(_run_command(arguments.insert_default_command(tokens)))


def _run_command(tokens: Sequence[str]) -> int:
    try:
        arguments.reject_unsupported_flags(tokens)
        arguments.reject_file_as_command(tokens)
        return int(app(tokens, exit_on_error=False, print_error=False, result_action="return_value") or 0)
    except BrokenPipeError:
        from harness.shell.streams import discard_output

        discard_output(sys.stdout)
        return ExitCode.ENVIRONMENT
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame: nothing is above it
        if "--debug" in tokens:
            arguments.warn(traceback.format_exc())
        text, code = _describe(error, tokens)
        arguments.warn(text)
        return code


def _describe(error: Exception | KeyboardInterrupt, tokens: Sequence[str]) -> tuple[str, ExitCode]:
    """Return the message for an error that ends the process, and its exit code."""
    match error:
        case HarnessError():
            return str(error), error.exit_code
        case UnknownOptionError():
            unknown = arguments.unknown_option(error)
            return str(unknown), unknown.exit_code
        case CycloptsError():
            return str(error), ExitCode.USAGE
        case KeyboardInterrupt():
            more = "; continue with `--resume`" if tokens[:1] in (["compare"], ["bisect"]) else ""
            signal = f" ({error})" if str(error) else ""  # one that came before signals were ours says nothing
            return f"interrupted{signal}: everything measured so far is kept{more}", ExitCode.INTERRUPTED
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            hint = "free some space or fix the permissions, or name another folder (see `harness run --help`)"
            return f"{place}{error.strerror or error}\n  hint: {hint}", ExitCode.ENVIRONMENT
        case _:
            hint = "a bug in the harness; --debug shows where"
            return f"{type(error).__name__}: {error}\n  hint: {hint}", ExitCode.ENVIRONMENT


def _show_plan(settings: Settings, sides: tuple[str, str] | None = None) -> ExitCode:
    """Show what would be measured, and measure nothing."""
    from harness.flows.inspect import checks
    from harness.flows.measure.workload import load_benchmarks, load_workload

    console = _console()
    benchmarks = load_benchmarks(settings)
    checks.raise_for_problems(benchmarks, settings)
    for name, side in zip(("control", "treatment"), sides or (), strict=False):
        console.print(f"{name}: {side}", markup=False, highlight=False, soft_wrap=True)
    checks.show_plan(load_workload(settings, benchmarks).plan(), settings, console)
    return ExitCode.OK


def _console() -> Console:
    """Return standard output, which is wide where it is no terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=150)


def _reject_missing_file(model: str) -> None:
    """Reject a path of no file, where a path was meant."""
    path = model.endswith((".json", ".yaml", ".yml")) or (os.sep in model and ":" not in model)
    if path and not Path(model).is_file():
        raise UsageError(f"there is no file {model}", hint="name a specification, `mv2` or package.module:function")


def _stem(model: str) -> str:
    return model.rpartition(":")[2].rpartition(".")[2]
