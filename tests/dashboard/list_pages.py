"""Pages of lists from a made-up laboratory with hostile names, as a server and as a folder has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.dashboard.commits import render_commit, render_commits
from harness.dashboard.comparison import render_comparison
from harness.dashboard.coverage import render_coverage
from harness.dashboard.latest import render_latest
from harness.dashboard.links import LiveLinks, Site
from harness.dashboard.models import render_backends, render_models
from harness.store.database.engine import open_database
from harness.store.database.views.reader import History
from harness.store.history import CommitInfo, CommitPage, CommitRow, Coverage, FilterValues, Page, ResultPage, Selection
from tests.dashboard.samples import HOSTILE
from tests.store.big_store import fill_store
from tests.store.big_world import Laboratory

EVERYTHING = Selection()
PART = Page(limit=1000)
NAMES = ("latest", "coverage", "models", "backends", "commits", "commit", "comparison", "threshold")
EMPTY_NAMES = ("latest", "coverage", "models", "backends", "commits", "comparison")


def fill_laboratory(path: Path) -> History:
    """Return a store of about 90 results, with regressions, failures, figures from elsewhere and hostile names."""
    database = open_database(path)
    fill_store(database, Laboratory(commits=6, models=2, backends=2, devices=3, samples=3, launches=2, hostile=True))
    return History(database)


def make_list_pages(history: History, *, live: bool) -> Mapping[str, str]:
    """Return pages of lists by name."""
    site = Site(LiveLinks(), history.options(), live=live, made=None if live else 1.76e9)
    latest, commits = history.latest(EVERYTHING, PART), history.commits("", PART)
    newest = max(commits.rows, key=lambda row: (row.regressions + row.improvements, row.results))
    results = history.results_of(newest.commit.id, EVERYTHING, PART)
    control = next(row.contrast.control for row in results.rows if row.contrast is not None)
    differences = history.differences(control.id, newest.commit.id, EVERYTHING)
    model = latest.rows[0].cell.model
    hostile = CommitRow(
        commit=CommitInfo(id=HOSTILE, name=HOSTILE, subject=HOSTILE, author=HOSTILE, url="javascript:alert(1)"),
        results=3,
        failed=1,
        measured=9e99,
    )
    commits = CommitPage(rows=(hostile, *commits.rows), total=commits.total + 1)
    return {
        "latest": render_latest(latest, EVERYTHING, PART, site),
        "coverage": render_coverage(history.coverage(EVERYTHING, None), EVERYTHING, site),
        "models": render_models(latest.rows, site),
        "backends": render_backends(model, history.backends(model, ()), site),
        "commits": render_commits(commits, "", site, PART),
        "commit": render_commit(newest, results, site, PART),
        "comparison": render_comparison(control, newest.commit, differences, None, site, commits=commits.rows),
        "threshold": render_comparison(control, newest.commit, differences, 0.05, site, commits=commits.rows),
    }


def make_empty_pages() -> Mapping[str, str]:
    """Return the same of a store without results."""
    site = Site(LiveLinks(), FilterValues())
    return {
        "latest": render_latest(ResultPage(), EVERYTHING, PART, site),
        "coverage": render_coverage(Coverage(), EVERYTHING, site),
        "models": render_models((), site),
        "backends": render_backends("mv2", (), site),
        "commits": render_commits(CommitPage(rows=(), total=0), "", site, PART),
        "comparison": render_comparison(None, None, (), None, site),
    }
