"""The pieces that pages are put together from."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as _entities

from harness.presentation.text import printable


def escape(text: str) -> str:
    """One line of HTML that stands for exactly this text, also in an attribute."""
    return _entities(printable(text))


def definitions(found: Sequence[tuple[str, str]]) -> str:
    """Names with what they stand for."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in found) + "</dl>"


def listed(texts: Sequence[str]) -> str:
    """One item each; nothing for none."""
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="remarks">{items}</ul>' if items else ""


def wide_table(head: Sequence[str], rows: Sequence[str]) -> str:
    """A table of finished cells that scrolls where the window is narrow."""
    body = "\n".join(rows)
    return (
        f'<div class="wide"><table>\n<thead><tr>{"".join(head)}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'
    )


def figure_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A small table of texts: words in the first column, figures in the others."""
    body = "\n".join(_cells(one, "td") for one in rows)
    return f"<table>\n<thead>{_cells(head, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _cells(texts: Sequence[str], tag: str) -> str:
    first, *others = (escape(text) for text in texts)
    return f"<tr><{tag}>{first}</{tag}>" + "".join(f'<{tag} class="right">{one}</{tag}>' for one in others) + "</tr>"
