"""Commands that follow the history of a repository: watch, bisect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.commands import from_flags
from harness.config import arguments, flags
from harness.config.flags import CompareFlags, WatchFlags

if TYPE_CHECKING:
    from harness.config.flags import RunFlags
else:  # cyclopts reads it from the signatures below: with a field for each option that is declared
    RunFlags = flags.run_flags(arguments.installed_options(), "dry_run")

_NO_RUN_FLAGS = RunFlags()
_NO_COMPARE_FLAGS = CompareFlags()
_NO_WATCH_FLAGS = WatchFlags()


def watch(
    *files: flags.SpecificationArgument,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
    watch_flags: WatchFlags = _NO_WATCH_FLAGS,
) -> int:
    """`harness watch`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        run_flags: What to measure, where and how.
        compare_flags: Where commits come from, and how to decide.
        watch_flags: How to watch.
    """
    settings = arguments.resolve_settings(run_flags, files)
    watching = from_flags.watch_request(watch_flags, settings)
    from harness.flows.watch import watch as flow

    if watch_flags.test_hook:
        with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
            return flow.send_test_messages(watching, shown)
    arguments.require_specification(settings, "watch")
    request = from_flags.compare_request(run_flags, compare_flags)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        if settings.lab is not None:
            from harness.lab.commits import open_lab_comparers

            return flow.watch(request, settings, watching, shown, open_lab_comparers)
        return flow.watch(request, settings, watching, shown)


def bisect(
    *files: flags.SpecificationArgument,
    good: Annotated[str, Parameter(metavar="COMMIT")],
    bad: Annotated[str, Parameter(metavar="COMMIT")],
    benchmark: Annotated[str | None, Parameter(metavar="PATTERN")] = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    run_flags: RunFlags = _NO_RUN_FLAGS,
    compare_flags: CompareFlags = _NO_COMPARE_FLAGS,
) -> int:
    """`harness bisect`.

    Args:
        files: Specifications, or lists of them: files (JSON or YAML), or names of built-in ones (`harness list`).
        good: Commit without the change.
        bad: Commit with the change.
        benchmark: Name of the benchmark that shows the change, or a pattern.
        json: Show the answer as JSON.
        run_flags: What to measure, where and how.
        compare_flags: Where commits come from, and how to decide.
    """
    settings = arguments.require_specification(arguments.resolve_settings(run_flags, files), "bisect")
    request = from_flags.compare_request(run_flags, compare_flags)
    from harness.flows.bisect import bisect as flow

    bisect_request = flow.BisectRequest(good, bad, benchmark, compare_flags.pairs, resume=bool(compare_flags.resume))
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        if settings.lab is not None:
            from harness.lab.commits import open_lab_comparers

            return flow.bisect(
                request,
                settings,
                bisect_request,
                shown,
                display.open_console(),
                as_json=json,
                open_comparers=open_lab_comparers,
            )
        return flow.bisect(request, settings, bisect_request, shown, display.open_console(), as_json=json)
