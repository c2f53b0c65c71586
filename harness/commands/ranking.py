"""Command that ranks programs that do the same work: rank."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags
from harness.config.parsing import reject_percent
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.config.flags import RunFlags
else:  # cyclopts reads it from the signature below: with a field for each option that is declared
    RunFlags = flags.run_flags(arguments.installed_options(), "dry_run")

_NO_RUN_FLAGS = RunFlags()


def rank(
    *files: flags.SpecificationArgument,
    margin: Annotated[float, Parameter(metavar="FRACTION")] = 0.01,
    alpha: Annotated[float, Parameter(metavar="PROBABILITY")] = 0.05,
    tolerance: Annotated[float, Parameter(metavar="FRACTION")] = 0.001,
    rounds: Annotated[int, Parameter(metavar="COUNT")] = 60,
    seconds: Annotated[float | None, Parameter(metavar="SECONDS")] = None,
    seed: Annotated[int | None, Parameter(metavar="NUMBER")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
) -> int:
    """`harness rank`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        margin: Differences that a shared rank rules out; a smaller one that is proven is a rank of its own.
        alpha: Largest probability that a ranking wrongly calls any of its programs faster than another.
        tolerance: Difference between outputs that is rounding, where the specification has no `same_work`.
        rounds: Budget of each pair of programs, in rounds of launches.
        seconds: Budget of each ranking in seconds of device time (default: none).
        seed: Random seed for the order of the launches in each round; recorded (default: a random one).
        json: Show the ranking as JSON.
        run_flags: What to measure, where and how.
    """
    settings = arguments.require_specification(arguments.resolve_settings(run_flags, files), "rank")
    if settings.dry_run:
        raise UsageError("a ranking has no plan to show", hint="`harness run --dry-run` shows the benchmarks")
    for name, value in (("margin", margin), ("tolerance", tolerance)):
        reject_percent(name, value)
    given = {"margin": margin, "alpha": alpha, "tolerance": tolerance, "max_rounds": rounds, "max_seconds": seconds}
    from harness.flows.inspect.rankings import show, validate_parameters
    from harness.flows.rank import rank as flow

    parameters = validate_parameters({**given, "seed": secrets.randbits(31) if seed is None else seed})
    if json:
        settings = from_flags.without_table(settings)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        code, results = flow.rank(settings, parameters, shown)
    if json:
        show(results, display.open_console())
    return code
