"""`--reporter html=FILE.html`: one page about a run, with a picture of every comparison and nothing from elsewhere."""

from __future__ import annotations

from harness.config.settings import Settings
from harness.presentation.run_page import RunPage, wanted
from reporters.html.page import render


def create(settings: Settings) -> RunPage | None:
    """The reporter, where `--reporter html=FILE.html` asks for it."""
    return wanted("html", settings, render)
