"""`--reporter html=FILE.html`: one page about a run, with pictures of its launches, its pairs and its devices."""

from __future__ import annotations

from harness.config.settings import Settings
from reporters.pages import PageReporter, ReportedRun, create_page_reporter


def create(settings: Settings) -> PageReporter | None:
    """Create the reporter where `--reporter html=FILE.html` asks for it."""
    return create_page_reporter("html", settings, _render)


def _render(run: ReportedRun) -> str:
    from reporters.html.page import render  # noqa: PLC0415 - templates are imported where a page is written

    return render(run)
