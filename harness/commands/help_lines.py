"""Help of a command: sentences are broken where the screen ends, not where a line of the source does."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.help import DefaultFormatter, HelpPanel
    from rich.console import Console, ConsoleOptions


class JoinedLines:
    """Formatter of help that looks as that of cyclopts does (`cyclopts.help.HelpFormatter`)."""

    @cached_property
    def _cyclopts(self) -> DefaultFormatter:
        from cyclopts.help import DefaultFormatter

        return DefaultFormatter()

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Write a panel, with the lines of each paragraph joined."""
        from rich.text import Text

        for entry in panel.entries:
            text = getattr(entry.description, "primary_renderable", None)
            if isinstance(text, Text):
                entry.description.primary_renderable = Text(re.sub(r"(?<!\n)\n(?!\n) *", " ", text.plain))
        self._cyclopts(console, options, panel)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: object) -> None:
        """Write the line of the usage."""
        self._cyclopts.render_usage(console, options, usage)

    def render_description(self, console: Console, options: ConsoleOptions, description: object) -> None:
        """Write what the command does."""
        self._cyclopts.render_description(console, options, description)
