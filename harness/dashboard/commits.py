"""Commits: the list of those that were measured, and one with all its results."""

from __future__ import annotations

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view
from harness.dashboard.wording import name_commit
from harness.store.history import CommitPage, CommitRow, Page, ResultPage


def render_commits(commits: CommitPage, text: str, site: Site, page: Page | None = None) -> str:
    """Render commits, those with the newest measurement first.

    Args:
        commits: The rows of this page.
        text: What was searched for; empty for everything.
        site: What all pages have in common.
        page: Which part; None where there are no others.
    """
    return render_view(
        "commits.html", site, title="Commits", view="Commits", commits=commits, text=text, part=page or Page()
    )


def render_commit(row: CommitRow, results: ResultPage, site: Site, page: Page | None = None) -> str:
    """Render one commit: its results, failures first, then regressions.

    Args:
        row: The commit.
        results: The newest result of each cell at it.
        site: What all pages have in common.
        page: Which part of the results; None where there are no others.
    """
    controls = {each.contrast.control.id: each.contrast.control for each in results.rows if each.contrast is not None}
    return render_view(
        "commit.html",
        site,
        title=f"{'Program' if row.commit.is_given else 'Commit'} {name_commit(row.commit)}",
        view="Commits",
        row=row,
        results=results,
        controls=list(controls.values()),
        part=page or Page(),
    )
