"""Command that writes pages of stored results: history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from harness import display, shell
from harness.config import arguments, flags

if TYPE_CHECKING:
    from harness.config.flags import InspectFlags
else:  # cyclopts reads it from the signature below: with a field for each option that is declared
    InspectFlags = flags.inspect_flags(arguments.installed_options(), "local_reporter", "database", "cache_dir")

_NO_FLAGS = InspectFlags()


def history(
    folder: Path | None = None,
    /,
    *,
    output: Annotated[Path, Parameter(metavar="FOLDER")] = Path("history"),
    commits: Annotated[int, Parameter(metavar="NUMBER")] = 200,
    results: Annotated[int, Parameter(metavar="NUMBER")] = 200,
    title: Annotated[str, Parameter(metavar="TEXT")] = "harness",
    inspect_flags: InspectFlags = _NO_FLAGS,
) -> int:
    """`harness history`.

    Args:
        folder: Folder of results (default: that of `--local-reporter`, or the database of `--database`).
        output: Folder for the pages: a new or empty one, or one of an earlier history, which is brought up to date.
        commits: Newest commits that get a page; those that changed a metric always do.
        results: Newest results that get a page, beside the newest of each benchmark and those that show a change.
        title: Name that stands in the title of every page.
        inspect_flags: Where things are.
    """
    settings = arguments.resolve_settings(inspect_flags)
    arguments.reject_invalid_limits(pruning=True, commits=commits, results=results)
    from harness.flows.history import history as flow
    from harness.flows.history.selection import Extent

    request = flow.HistoryRequest(folder, output, Extent(commits, results), title)
    with shell.handle_signals(), display.open_display(quiet=settings.quiet) as shown:
        return flow.write_history(request, settings, shown)
