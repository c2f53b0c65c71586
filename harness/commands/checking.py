"""Command that measures the machine and no program: self-check."""

from __future__ import annotations

import dataclasses
import secrets
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.config import arguments, flags
from harness.core.errors import UsageError

if TYPE_CHECKING:
    from harness.config.flags import RunFlags
else:  # cyclopts reads it from the signature below: with a field for each option that is declared
    RunFlags = flags.run_flags(arguments.installed_options(), "dry_run")

_NO_RUN_FLAGS = RunFlags()
_LONGEST_MINUTES = 24 * 60.0


def self_check(
    *files: flags.SpecificationArgument,
    minutes: Annotated[float, Parameter(metavar="MINUTES")] = 5.0,
    seed: Annotated[int | None, Parameter(metavar="NUMBER")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
) -> int:
    """`harness self-check`.

    Args:
        files: Specifications whose benchmarks are checked (default: sorting in Python, which needs no torch).
        minutes: Time that measuring may take on each device, beside builds, exports and the estimate.
        seed: Random seed for the order of the launches in each pair; recorded.
        json: Show the complete self-check of each device as JSON.
        run_flags: What to measure, where and how.
    """
    if not 0 < minutes <= _LONGEST_MINUTES:
        raise UsageError(f"--minutes {minutes:g}: must be above 0 and at most {_LONGEST_MINUTES:g}")
    from harness import plugins
    from harness.core.protocols import is_local
    from harness.flows.compare import requests, sensitivity
    from harness.flows.inspect import self_checks
    from harness.flows.measure.workload import load_workload

    settings = arguments.resolve_settings(run_flags, files)
    if settings.dry_run:
        raise UsageError("a self-check has no plan to show", hint="`harness run --dry-run` shows the benchmarks")
    if not settings.benchmark_file:
        is_host = is_local(plugins.platform(settings.platform, settings))
        file = sensitivity.built_in_specification(settings.platform, is_host=is_host)
        only = settings.only or (sensitivity.BUILT_IN_BENCHMARK,)
        settings = dataclasses.replace(settings, benchmark_file=(file,), only=only)
    parameters = requests.validate_parameters({"seed": secrets.randbits(31) if seed is None else seed})
    request = sensitivity.SelfCheckRequest(minutes, parameters)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        code, checks = sensitivity.check_devices(load_workload(settings), request, settings, shown)
    self_checks.show(checks, display.open_console(), as_json=json)
    return code
