"""`--reporter html=FILE.html`: one page about a run, with a picture of every comparison and nothing from elsewhere."""

from __future__ import annotations

from harness.settings import Settings
from reporters.html.page import render
from reporters.run_page import RunPage, wanted


def create(settings: Settings) -> RunPage | None:
    """The reporter, where `--reporter html=FILE.html` asks for it."""
    return wanted("html", settings, render)
