"""Command that times operators: profile."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.config.flags import RunFlags
else:  # cyclopts reads it from the signature below: with a field for each option that is declared
    RunFlags = flags.run_flags(arguments.installed_options(), "dry_run")

_NO_RUN_FLAGS = RunFlags()


def profile(
    *files: flags.SpecificationArgument,
    export: Annotated[Path | None, Parameter(metavar="FILE.csv")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
) -> int:
    """`harness profile`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        export: Write every operator with its module and line of Python into a table.
        json: Show the profiles as JSON.
        run_flags: What to measure, where and how; -v lists each operator.
    """
    settings = arguments.require_specification(arguments.resolve_settings(run_flags, files), "profile")
    if settings.dry_run:
        raise UsageError("a profile has no plan of its own", hint="`harness run --dry-run` shows the benchmarks")
    if export is not None and export.suffix.lower() != ".csv":
        raise UsageError(f"--export {export}: unknown ending `{export.suffix}`", hint="name a file with .csv")
    from harness.flows.inspect import profiles
    from harness.flows.measure import profile as flow
    from harness.flows.measure.workload import load_workload

    measuring = from_flags.without_table(settings) if json else dataclasses.replace(settings, screen_reporter=False)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        code, profiled = flow.profile(load_workload(settings), measuring, shown)
        if export is not None:
            shown.say(f"{profiles.write_csv(profiled, export)} operators: {export}")
    profiles.show(profiled, display.open_console(), verbose=settings.verbose, as_json=json)
    return code
