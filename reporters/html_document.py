"""Beginning and end of HTML documents that are complete in themselves: no script, and nothing that is loaded."""

from __future__ import annotations

import html
from collections.abc import Iterable

from harness.presentation.text import make_printable


def escape(text: str) -> str:
    """Return one line of HTML that shows exactly this text, also in an attribute."""
    return html.escape(make_printable(text))


def html_document(title: str, style: str, body: Iterable[str], *, images: str = "") -> str:
    """Return a document.

    Args:
        title: Title of its window, as plain text.
        style: Style sheet.
        body: Parts of its body, as HTML.
        images: Sources of images that are shown beside those that are drawn in the page: `data:`; none where empty.
    """
    policy = "; ".join(["default-src 'none'", *([f"img-src {images}"] if images else []), "style-src 'unsafe-inline'"])
    parts = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="edge-harness">',
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
        *body,
        "</body>\n</html>",
    )
    return "\n".join(parts) + "\n"
