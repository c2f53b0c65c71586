"""Showing a person what was asked for, on standard output."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.display.tables import widen
from harness.presentation.text import make_printable
from harness.shell.streams import discard_output


def show(shown: Table | Text, console: Console) -> None:
    """Print. What nobody reads any more (`| head`) goes nowhere, and the exit status stays what it would have been."""
    try:
        widen(console).print(shown, soft_wrap=isinstance(shown, Text))
    except BrokenPipeError:
        discard_output(console.file)


def cell(text: str) -> Text:
    """Names come from anywhere: they colour nothing and move no cursor."""
    return Text(make_printable(text))
