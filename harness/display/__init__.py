"""Display of progress on standard error, live on a terminal and as plain lines elsewhere, and of results as tables."""

from __future__ import annotations

import io
import sys
from typing import TextIO

from rich.console import Console

from harness.display.console import CleanConsole
from harness.display.live import LiveBoard, LiveDisplay, LiveTask
from harness.display.plain import PlainBoard, PlainDisplay, PlainTask
from harness.display.quiet import QuietDisplay
from harness.files.streams import never_failing

__all__ = [
    "LiveBoard",
    "LiveDisplay",
    "LiveTask",
    "PlainBoard",
    "PlainDisplay",
    "PlainTask",
    "QuietDisplay",
    "open_console",
    "open_display",
]


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
    return LiveDisplay(console) if console.is_terminal and not console.is_dumb_terminal else PlainDisplay(stream)


def open_console() -> Console:
    """Return standard output for tables, which is wide where it is no terminal."""
    console = CleanConsole()
    return console if console.is_terminal else CleanConsole(width=150)
