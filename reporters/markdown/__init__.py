"""`--reporter markdown=FILE.md`: a run as GitHub shows it in a pull request or a job summary."""

from __future__ import annotations

from harness.config.settings import Settings
from harness.presentation.run_page import RunPage, wanted
from reporters.markdown.page import render


def create(settings: Settings) -> RunPage | None:
    """The reporter, where `--reporter markdown=FILE.md` asks for it."""
    return wanted("markdown", settings, render)
