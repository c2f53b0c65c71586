"""`--reporter markdown=FILE.md`: a run as GitHub shows it in a pull request or a job summary, verdicts first."""

from __future__ import annotations

from harness.config.settings import Settings
from reporters.pages import PageReporter, ReportedRun, create_page_reporter


def create(settings: Settings) -> PageReporter | None:
    """Create the reporter where `--reporter markdown=FILE.md` asks for it."""
    return create_page_reporter("markdown", settings, _render)


def _render(run: ReportedRun) -> str:
    from reporters.markdown.page import render  # noqa: PLC0415 - only where a page is written

    return render(run)
