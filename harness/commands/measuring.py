"""Commands that measure: run, compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags
from harness.config.flags import CompareFlags
from harness.core.errors import ExitCode, most_severe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.config.flags import CompareFlags as RunCompareFlags
    from harness.config.flags import RunFlags
    from harness.config.settings import Settings
    from harness.core.comparison import Parameters
    from harness.core.protocols import Display
    from harness.flows.compare.requests import CompareRequest
else:  # cyclopts reads it from the signatures below: with a field for each option that is declared
    RunFlags = flags.run_flags(arguments.installed_options())
    RunCompareFlags = flags.run_compare_flags()

_NO_RUN_FLAGS = RunFlags()
_NO_COMPARE_FLAGS = CompareFlags()
_NO_RUN_COMPARE_FLAGS = RunCompareFlags()


def run(
    *files: flags.SpecificationArgument,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: RunCompareFlags = _NO_RUN_COMPARE_FLAGS,
) -> int:
    """`harness run`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        json: Show the results as JSON, without single samples.
        run_flags: What to measure, where and how.
        compare_flags: What to compare with what, and how to decide.
    """
    if from_flags.wants_comparison(run_flags, compare_flags):
        return compare(*files, json=json, run_flags=run_flags, compare_flags=compare_flags)
    settings = arguments.require_specification(arguments.resolve_settings(run_flags, files))
    if json:
        settings = from_flags.without_table(settings)
    is_single_commit = from_flags.is_single_commit_run(compare_flags)
    if settings.dry_run:
        request = from_flags.compare_request(run_flags, compare_flags) if is_single_commit else None
        return _show_plan(settings, request, builds_runner=is_single_commit)
    if settings.lab is not None:
        from harness.flows.compare import requests
        from harness.lab import measuring as lab

        commits = (
            requests.split_treatments(from_flags.compare_request(run_flags, compare_flags), settings)
            if is_single_commit
            else (None,)
        )
        with (
            shell.handle_signals(),
            from_flags.open_document(json=json) as listeners,
            display.open_display(quiet=settings.quiet) as shown,
        ):
            return lab.run(settings, shown, commits, listeners=listeners)
    from harness.flows.measure import run as flow
    from harness.flows.measure.submodules import reject_unused_submodules
    from harness.flows.measure.workload import load_workload

    with (
        shell.handle_signals(),
        from_flags.open_document(json=json) as listeners,
        display.open_display(quiet=settings.quiet) as shown,
    ):
        plan = load_workload(settings).plan(shown)
        if not is_single_commit:
            reject_unused_submodules(settings)
            return flow.run(plan, settings, shown, listeners=listeners)
        from harness.flows.compare import requests, source_fetcher

        treatments = requests.split_treatments(from_flags.compare_request(run_flags, compare_flags), settings)
        fetcher = source_fetcher.SourceFetcher(shown)
        runners = (requests.resolve_side(request, settings, fetcher, shown) for request in treatments)
        return most_severe([flow.run(plan, settings, shown, runner, listeners=listeners) for runner in runners])


def compare(
    *files: flags.SpecificationArgument,
    from_: Annotated[Path | None, Parameter(name="--from", metavar="FOLDER")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
) -> int:
    """`harness compare`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        from_: Evaluate stored results again (`LAST`: of the last run), perhaps with another margin; measures nothing.
        json: Show the results as JSON, without single samples.
        run_flags: What to measure, where and how.
        compare_flags: What to compare with what, and how to decide.
    """
    if from_ is not None:
        from_flags.reject_flags_with_from(run_flags, compare_flags, files)
    settings = arguments.resolve_settings(run_flags, files)
    request = from_flags.compare_request(run_flags, compare_flags)
    from harness.flows.compare import batch, reevaluate, requests
    from harness.flows.measure.reporting import open_named_reporters
    from harness.flows.measure.workload import load_workload

    if from_ is not None:
        reporters = open_named_reporters(settings) if "reporters" in settings.requested else ()
        return reevaluate.reevaluate(
            from_,
            request.parameters,
            display.open_console(),
            tree=settings.local_reporter,
            as_json=json,
            reporters=reporters,
        )
    arguments.require_specification(settings, "compare")
    if json:
        settings = from_flags.without_table(settings)
    if settings.dry_run:
        parameters = requests.validate_parameters({"seed": 0, **request.parameters})
        return _show_plan(settings, request, parameters=parameters, builds_runner=not request.self_check)
    with (
        shell.handle_signals(),
        from_flags.open_document(json=json) as listeners,
        display.open_display(quiet=settings.quiet) as shown,
    ):
        treatments = requests.split_treatments(request, settings)
        if settings.lab is not None:
            from harness.lab import comparing

            return comparing.compare(settings, treatments, shown, listeners=listeners)
        return batch.compare_batch(load_workload(settings), treatments, settings, shown, listeners)


def _show_plan(
    settings: Settings, request: CompareRequest | None, *, parameters: Parameters | None = None, builds_runner: bool
) -> ExitCode:
    """Show what would be measured, and measure nothing. Commits are resolved, and not built.

    Args:
        settings: What to measure, where and how.
        request: What to compare, or the commit to measure.
        parameters: How it is decided; None where nothing is compared.
        builds_runner: Whether `{program}` comes from a commit, or is given for each side.
    """
    from harness.flows.inspect import checks
    from harness.flows.measure.named_parts import raise_for_problems
    from harness.flows.measure.plan import reject_recipe_variant
    from harness.flows.measure.workload import load_benchmarks, load_workload

    console = display.open_console()
    benchmarks = load_benchmarks(settings)
    raise_for_problems(benchmarks, settings)
    with display.open_display(quiet=settings.quiet) as shown:
        for line in _describe_request(request, settings, shown, parameters) if request is not None else ():
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        plan = load_workload(settings, benchmarks).plan(shown)
    if not builds_runner:
        reject_recipe_variant(plan.platform.name, plan.recipe_variant)
    pairs = parameters.max_pairs if parameters is not None else None
    checks.show_plan(plan, settings, console, builds_runner=builds_runner, pairs=pairs)
    return ExitCode.OK


def _describe_request(
    request: CompareRequest, settings: Settings, shown: Display, parameters: Parameters | None
) -> Iterator[str]:
    """Yield a line for the control, one for each commit or program to measure, and how a comparison is decided."""
    from harness.flows.compare import requests, source_fetcher

    fetcher = source_fetcher.SourceFetcher(shown)
    control = ""
    treatments = requests.split_treatments(request, settings)
    for treatment in treatments:
        if parameters is None:
            yield f"commit: {requests.describe_commit(treatment, settings, fetcher)}"
            continue
        try:
            sides = requests.describe_sides(treatment, settings, fetcher)
        except requests.SameCommit as same:
            if len(treatments) == 1:
                raise
            yield f"treatment: {treatment.treatment}: skipped, because {same.message}"
            continue
        if sides[0] != control:
            control = sides[0]
            yield f"control: {control}"
        yield f"treatment: {sides[1]}"
    if parameters is not None:
        from harness.presentation.numbers import format_percent

        metric = ", ".join(request.metrics) or "the main metric"
        yield f"decided by: {metric}, with a margin of {format_percent(parameters.margin)}"
