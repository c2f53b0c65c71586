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
from harness.config import arguments
from harness.config.flags import CompareOptions, PlaceOptions, RunOptions, WatchOptions
from harness.core.errors import ExitCode, HarnessError, UsageError, gravest
from harness.shell.streams import discard_output

if TYPE_CHECKING:
    from rich.console import Console

    from harness.config.settings import Settings


app = App(
    name="harness",
    help="How fast is this model on this device, and can the number be believed?",
    help_epilogue="harness -b specifications/models/mv2.json    measure, and show a table\n"
    "harness run --help                           every flag (`run` may be left out)",
    version=harness.__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,
)

_UNSET = RunOptions()
_NOTHING = CompareOptions()
_ANYWHERE = PlaceOptions()
_UNWATCHED = WatchOptions()


@app.command(sort_key=0)
def run(options: RunOptions = _UNSET, sides: CompareOptions = _NOTHING) -> int:
    """Measure the benchmarks of one or more specifications, with the installed runner or that of one commit."""
    one_commit = arguments.for_one_commit(sides)
    if (sides != _NOTHING and not one_commit) or arguments.for_comparison(options):
        return compare(options=options, sides=sides)
    settings = arguments.specified(arguments.settings(options))
    from harness import display, shell
    from harness.flows.compare import requests, source_fetcher
    from harness.flows.measure import run as flow
    from harness.flows.measure.workload import load_workload

    if settings.dry_run:
        return _show_plan(settings)
    with shell.handle_signals(), display.display() as shown:
        plan = load_workload(settings).plan()
        if not one_commit:
            return flow.run(plan, settings, shown)
        treatments = requests.treatments_of(arguments.compare_request(options, sides), settings)
        fetcher = source_fetcher.SourceFetcher(shown)
        found = (requests.side_of(request, settings, fetcher, shown) for request in treatments)
        return gravest([flow.run(plan, settings, shown, side) for side in found])


@app.command(sort_key=1)
def compare(
    *,
    from_: Annotated[Path | None, Parameter(name="--from")] = None,
    options: RunOptions = _UNSET,
    sides: CompareOptions = _NOTHING,
) -> int:
    """Hold a treatment against a control: two commits, releases or programs. Exit code 1 is a regression.

    Args:
        from_: Compute the verdicts of stored results again, perhaps with another margin; measures nothing.
        options: What to measure, where and how.
        sides: What to compare with what, and how to decide.
    """
    if from_ is not None:
        arguments.refuse_beside_from(options, sides)
    settings = arguments.settings(options)
    request = arguments.compare_request(options, sides)
    from harness import display, shell
    from harness.flows.compare import each, reevaluate, requests
    from harness.flows.measure.workload import load_workload

    if from_ is not None:
        return reevaluate.reevaluate(from_, request.decide, _console())
    arguments.specified(settings)
    if settings.dry_run:
        return _show_plan(settings, requests.described(request))
    with shell.handle_signals(), display.display() as shown:
        return each.compare_each(
            load_workload(settings).plan(), requests.treatments_of(request, settings), settings, shown
        )


@app.command(sort_key=2)
def watch(options: RunOptions = _UNSET, sides: CompareOptions = _NOTHING, watching: WatchOptions = _UNWATCHED) -> int:
    """Compare new commits as they come; verify what became slower, find the commit, and tell.

    Each commit is held against --base_commit, or else against the first of its week.
    """
    settings = arguments.specified(arguments.settings(options))
    request = arguments.compare_request(options, sides)
    from harness import display, shell
    from harness.flows.watch import watch as flow

    with shell.handle_signals(), display.display() as shown:
        return flow.watch(request, settings, arguments.watching(watching, settings), shown)


@app.command(sort_key=3)
def bisect(
    *,
    good: str,
    bad: str,
    benchmark: str | None = None,
    options: RunOptions = _UNSET,
    sides: CompareOptions = _NOTHING,
) -> int:
    """Find the commit that changed a number, between a good and a bad one.

    Args:
        good: Commit without the change.
        bad: Commit with it.
        benchmark: Name of the benchmark that shows it, or a pattern.
        options: What to measure, where and how.
        sides: Where commits come from, and how to decide.
    """
    settings = arguments.specified(arguments.settings(options))
    request = arguments.compare_request(options, sides)
    from harness import display, shell
    from harness.flows.bisect import bisect as flow

    between = flow.Between(good, bad, benchmark, sides.pairs, resume=bool(sides.resume))
    with shell.handle_signals(), display.display() as shown:
        return flow.bisect(request, settings, between, shown, _console())


@app.command(sort_key=4)
def status(
    *,
    state: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
    options: PlaceOptions = _ANYWHERE,
) -> int:
    """Show what a watcher is doing, its backlog, the last verdicts and the open alarms.

    Args:
        state: File of what it remembers; the default is `watch.db` beside the results.
        json: Show the whole document.
        options: Where things are.
    """
    from harness.flows.inspect import status as flow

    return flow.tell(arguments.state_file(state, arguments.settings(options)), _console(), as_json=json)


@app.command
def validate(*files: Path, options: PlaceOptions = _ANYWHERE) -> int:
    """Check specifications without running anything, and list what they expand to.

    Args:
        files: Specifications, or lists of them (JSON or YAML).
        options: Where things are.
    """
    if not files:
        raise UsageError("no specification to check", hint="harness validate FILE...")
    settings = dataclasses.replace(arguments.settings(options), benchmark_file=files)
    from harness.flows.inspect import checks
    from harness.flows.measure.workload import load_benchmarks

    checks.validate(load_benchmarks(settings), settings, _console())
    return ExitCode.OK


@app.command
def devices(options: PlaceOptions = _ANYWHERE) -> int:
    """List every device that can be reached."""
    from harness.flows.inspect import devices as flow

    return flow.list_all(arguments.settings(options), _console())


@app.command
def export(
    model: str,
    *,
    recipe: str = "xnnpack_fp32",
    output: Annotated[Path | None, Parameter(name=["-o", "--output"])] = None,
    seed: int = 0,
    calibration: int = 8,
    options: PlaceOptions = _ANYWHERE,
) -> int:
    """Export a model and show what was lowered.

    Args:
        model: A specification file, an installed definition such as `mv2`, or `package.module:function`.
        recipe: How to lower a definition: an installed recipe, or `package.module:function`.
        output: Where to put the program; the default is `MODEL_RECIPE.pte` here. For a specification: a folder for all.
        seed: Seed of weights and calibration data.
        calibration: Number of calibration batches, for recipes that quantise statically.
        options: Where things are.
    """
    from harness import display, shell
    from harness.flows.inspect import exports

    settings = arguments.settings(options)
    _refuse_missing(model)
    with shell.handle_signals(), display.display() as shown:
        if model.endswith((".json", ".yaml", ".yml")):
            return exports.export_files(dataclasses.replace(settings, benchmark_file=(Path(model),)), shown, output)
        wanted = exports.Wanted(model, recipe, seed, calibration, output or Path(f"{_stem(model)}_{_stem(recipe)}.pte"))
        return exports.export_model(wanted, settings, shown)


@app.command
def doctor(options: PlaceOptions = _ANYWHERE) -> int:
    """Tell what is installed, what is missing, and the remedy."""
    from harness.flows.inspect import doctor as flow

    return flow.examine(arguments.settings(options), _console())


@app.command
def report(
    path: Path | None = None,
    /,
    *,
    flush: Annotated[bool, Parameter(negative="")] = False,
    options: PlaceOptions = _ANYWHERE,
) -> int:
    """List the latest results, show stored ones again, or send what a remote reporter could not deliver.

    Args:
        path: A result, or a folder of results, to show again.
        flush: Send everything that waits.
        options: Where things are.
    """
    from harness import display
    from harness.flows.inspect import reports

    if path is not None and flush:
        raise UsageError(f"--flush sends everything that waits, and not {path}", hint="leave one of them out")
    settings = arguments.settings(options)
    if path is not None:
        return reports.show(path, settings, _console())
    if not flush:
        return reports.latest(settings, _console())
    with display.display() as shown:
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
    options: PlaceOptions = _ANYWHERE,
) -> int:
    """List the runners that were built, or make room.

    Args:
        action: What to do.
        prune: The same as the action `prune`: remove builds that nothing uses now.
        keep_mib: Keep the latest used up to so many MiB; the default keeps none.
        unused_days: Remove only what was not used for so many days.
        exec_dir: Folder of the builds.
        options: Where things are.
    """
    from harness.builders.cache import BuildCache
    from harness.flows.inspect import builds as flow

    pruning = prune or action == "prune"
    arguments.refuse_odd_limits(pruning, keep_mib=keep_mib, unused_days=unused_days)
    cache = BuildCache(exec_dir or arguments.settings(options).cache_dir / "builds")
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
    """Entry point of the console command: everything that ends a process ends it here."""
    sys.exit(_guarded(arguments.with_command(arguments.spelled(sys.argv[1:] if argv is None else argv))))


def _guarded(tokens: Sequence[str]) -> int:
    try:
        arguments.refuse_elsewhere(tokens)
        arguments.refuse_bare_file(tokens)
        return int(app(tokens, exit_on_error=False, print_error=False, result_action="return_value") or 0)
    except BrokenPipeError:
        discard_output(sys.stdout)
        return ExitCode.ENVIRONMENT
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost frame: nothing is above it
        if "--debug" in tokens:
            arguments.warn(traceback.format_exc())
        text, code = _told(error, tokens)
        arguments.warn(text)
        return code


def _told(error: Exception | KeyboardInterrupt, tokens: Sequence[str]) -> tuple[str, ExitCode]:
    """What ended the process, in words, and its exit code."""
    match error:
        case HarnessError():
            return str(error), error.exit_code
        case UnknownOptionError():
            unknown = arguments.unknown_option(error)
            return str(unknown), unknown.exit_code
        case CycloptsError():
            return str(error), ExitCode.USAGE
        case KeyboardInterrupt():
            more = "; `--resume` goes on with it" if tokens[:1] in (["compare"], ["bisect"]) else ""
            signal = f" ({error})" if str(error) else ""  # one that came before signals were ours says nothing
            return f"interrupted{signal}: what was measured before is kept{more}", ExitCode.INTERRUPTED
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            hint = "make room or permission there, or name another place (`harness run --help`, files, configuration)"
            return f"{place}{error.strerror or error}\n  hint: {hint}", ExitCode.ENVIRONMENT
        case _:
            hint = "a defect of the harness; --debug shows where"
            return f"{type(error).__name__}: {error}\n  hint: {hint}", ExitCode.ENVIRONMENT


def _show_plan(settings: Settings, sides: tuple[str, str] | None = None) -> ExitCode:
    """Show what would be measured, and measure nothing."""
    from harness.flows.inspect import checks
    from harness.flows.measure.workload import load_benchmarks, load_workload

    console = _console()
    benchmarks = load_benchmarks(settings)
    checks.refuse(benchmarks, settings)
    for name, side in zip(("control", "treatment"), sides or (), strict=False):
        console.print(f"{name}: {side}", markup=False, highlight=False, soft_wrap=True)
    checks.show_plan(load_workload(settings, benchmarks).plan(), settings, console)
    return ExitCode.OK


def _console() -> Console:
    """Standard output; wide where no terminal says how wide."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=150)


def _refuse_missing(model: str) -> None:
    """Say that a path leads nowhere, where a path is what was meant."""
    path = model.endswith((".json", ".yaml", ".yml")) or (os.sep in model and ":" not in model)
    if path and not Path(model).is_file():
        raise UsageError(f"there is no file {model}", hint="name a specification, `mv2` or package.module:function")


def _stem(model: str) -> str:
    return model.rpartition(":")[2].rpartition(".")[2]
