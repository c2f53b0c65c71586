"""The pages about `every_kind` as they are kept beside the tests.

`python -m tests.reporters.golden_pages` writes them anew: look at the difference before you keep it.
"""

from __future__ import annotations

from pathlib import Path

from reporters.html.page import render as html_page
from reporters.markdown.page import render as markdown_page
from reporters.pages import ReportedRun
from tests.presentation.comparison_samples import every_kind

FOLDER = Path(__file__).parent / "golden"


def current() -> dict[str, str]:
    """Text by file name."""
    run = ReportedRun(every_kind(), Path("results"), finished=True)
    return {"comparison.html": html_page(run), "comparison.md": markdown_page(run)}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in current().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
