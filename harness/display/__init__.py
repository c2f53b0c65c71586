"""Display of progress on standard error, live on a terminal and as plain lines elsewhere, and of results as tables."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, TextIO

from rich.console import Console

from harness.display.console import CleanConsole
from harness.display.plain import PlainDisplay
from harness.display.quiet import QuietDisplay
from harness.files.streams import never_failing

if TYPE_CHECKING:
    from harness.display.live import LiveDisplay


def open_display(stream: TextIO | None = None, *, quiet: bool = False) -> LiveDisplay | PlainDisplay | QuietDisplay:
    """Return a live display on a terminal, a plain one elsewhere; both are silent where nothing can be written.

    Args:
        stream: Stream to write to; None for standard error.
        quiet: Show warnings only.
    """
    stream = never_failing(stream or sys.stderr or io.StringIO())  # a closed standard error is None
    if quiet:
        return QuietDisplay(stream)
    console = CleanConsole(file=stream)
    if not console.is_terminal or console.is_dumb_terminal:
        return PlainDisplay(stream)
    from harness.display.live import LiveDisplay  # noqa: PLC0415 - tables and bars that move, for terminals only

    return LiveDisplay(console)


def open_console() -> Console:
    """Return standard output for tables, which is wide where it is no terminal."""
    console = CleanConsole()
    return console if console.is_terminal else CleanConsole(width=150)
