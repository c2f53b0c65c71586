"""`--reporter html=FILE.html`: one page about a run, with a picture of every comparison."""

from __future__ import annotations

from harness.config.settings import Settings
from reporters.html.page import render
from reporters.pages import PageReporter, create_page_reporter


def create(settings: Settings) -> PageReporter | None:
    """Create the reporter where `--reporter html=FILE.html` asks for it."""
    return create_page_reporter("html", settings, render)
