"""Consoles: the only way of a table or a line to a terminal. Everything that is drawn is cleaned here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from harness.core.terminal_text import clean_for_terminal
from harness.files.streams import discard_output


class CleanConsole(Console):
    """Console that draws no character that moves the cursor, colours the screen or turns the direction of writing.

    Colours and movements that are rich's own are no text, and stay. Brackets and colons in a text are no markup.

    Args:
        file: Stream to write to; None for standard output.
        width: Columns; None for those of the terminal.
        stderr: Write to standard error.
    """

    def __init__(self, *, file: IO[str] | None = None, width: int | None = None, stderr: bool = False) -> None:
        super().__init__(file=file, width=width, stderr=stderr, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render an object to segments of clean text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=clean_for_terminal(segment.text))

    def on_broken_pipe(self) -> None:
        """Discard what is still to be written: rich would end the process, with the code that means a regression.

        A reader that has gone (`| head`) has read what it wanted, and changes neither results nor exit code.
        """
        discard_output(self.file)
