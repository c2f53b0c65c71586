"""Documents on standard output."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from harness.core.values import Value, replace_surrogates
from harness.display.tables import print_output


def print_document(document: Value, console: Console) -> None:
    """Print a document as JSON for people and programs: in ASCII, so that it moves no cursor and fits any encoding."""
    text = replace_surrogates(document).model_dump_json(indent=2, ensure_ascii=True)
    print_output(Text(text, no_wrap=True), console)
