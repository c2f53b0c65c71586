"""Latest results: the first page, one row for each benchmark on each device."""

from __future__ import annotations

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view
from harness.store.history import Page, ResultPage, Selection


def render_latest(rows: ResultPage, selection: Selection, page: Page, site: Site) -> str:
    """Render the newest result of each cell, by model, benchmark and device.

    Args:
        rows: The rows of this page.
        selection: What was asked for.
        page: Which part.
        site: What all pages have in common.
    """
    return render_view(
        "latest.html", site, title="Latest results", view="Latest", page=rows, selection=selection, part=page
    )
