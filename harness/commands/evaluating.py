"""Command about outputs: evaluate."""

from __future__ import annotations

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


def evaluate(
    *files: flags.SpecificationArgument,
    data: Annotated[str | None, Parameter(metavar="PROVIDER")] = None,
    examples: Annotated[int | None, Parameter(metavar="COUNT")] = None,
    layers: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
) -> int:
    """`harness evaluate`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        data: Provider of the examples (default: that of the specification, else `random`).
        examples: Number of examples (default: that of the specification, else the provider's).
        layers: Show the gap of each layer too; takes some minutes for large models.
        json: Show the results as JSON, without single samples.
        run_flags: What to measure, where and how.
    """
    if examples is not None and examples < 1:
        raise UsageError(f"--examples {examples}: must be 1 or more")
    settings = arguments.require_specification(arguments.resolve_settings(run_flags, files), "evaluate")
    if settings.dry_run:
        raise UsageError("an evaluation has no plan to show", hint="`harness run --dry-run` shows the benchmarks")
    if json:
        settings = from_flags.without_table(settings)
    from harness.flows.evaluate import evaluate as flow

    request = flow.EvaluationRequest(data, examples, layers)
    with (
        shell.handle_signals(),
        from_flags.open_document(json=json) as listeners,
        display.open_display(quiet=settings.quiet) as shown,
    ):
        return flow.evaluate(request, settings, shown, listeners=listeners)
