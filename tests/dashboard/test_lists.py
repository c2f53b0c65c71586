"""Lists of the dashboard: every row of a store is there, links lead on, and names are text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.verdict import Verdict
from harness.dashboard.commits import render_commit, render_commits
from harness.dashboard.comparison import render_comparison
from harness.dashboard.coverage import render_coverage
from harness.dashboard.latest import render_latest
from harness.dashboard.links import LiveLinks, Site
from harness.dashboard.models import render_backends, render_models
from harness.store.database.engine import open_database
from harness.store.database.views.reader import History
from harness.store.database.writing import NewResult, store_results
from harness.store.history import (
    Cell,
    CommitDifference,
    CommitInfo,
    CommitPage,
    CommitRow,
    Contrast,
    DeviceInfo,
    Page,
    ResultPage,
    Selection,
)
from harness.testing.results import DEVICE, failed_result, ok_result

HOSTILE = '"><script>alert(1)</script>'
EVERYTHING = Selection()
FIRST = Page()


@pytest.fixture
def history(tmp_path: Path) -> History:
    database = open_database(tmp_path / "results.db")
    device = DEVICE.model_copy(update={"identity": HOSTILE, "name": HOSTILE})
    results = [
        ok_result(model="mv2", identifier="fast"),
        failed_result(),
        ok_result(model=HOSTILE, identifier=HOSTILE, device=device),
    ]
    results = [
        result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"digest": f"{number}" * 64})})
        for number, result in enumerate(results)
    ]
    store_results(database, [NewResult(result) for result in results], now=1.0)
    return History(database)


def _site(history: History | None = None) -> Site:
    return Site(LiveLinks()) if history is None else Site(LiveLinks(), history.options())


def test_the_first_page_has_a_row_for_every_cell(history: History) -> None:
    latest = history.latest(EVERYTHING, FIRST)
    page = render_latest(latest, EVERYTHING, FIRST, _site(history))
    assert page.count("<tr data-row") == latest.total == 3
    assert 'class="badge failed"' in page
    for row in latest.rows:
        assert f'href="/cells/{row.cell.key}"' in page


def test_rows_of_one_name_are_told_apart_by_their_definitions(history: History) -> None:
    latest = history.latest(EVERYTHING, FIRST)
    assert "another definition has the same name" not in render_latest(latest, EVERYTHING, FIRST, _site(history))
    row = latest.rows[0]
    edited = row.model_copy(update={"cell": row.cell.model_copy(update={"key": "edited", "digest": "e" * 64})})
    page = render_latest(latest.model_copy(update={"rows": (row, edited)}), EVERYTHING, FIRST, _site(history))
    assert re.findall(r"has the same name\">(\w+)<", page) == [row.cell.digest[:12], "e" * 12]


def test_names_are_text_on_every_list(history: History) -> None:
    site, latest = _site(history), history.latest(EVERYTHING, FIRST)
    commits = history.commits("", FIRST)
    row = commits.rows[0]
    pages = [
        render_latest(latest, Selection(text=HOSTILE), FIRST, site),
        render_coverage(history.coverage(EVERYTHING, None), EVERYTHING, site),
        render_models(latest.rows, site),
        render_backends(HOSTILE, history.backends(HOSTILE, ()), site),
        render_commits(commits, HOSTILE, site),
        render_commit(row, history.results_of(row.commit.id, EVERYTHING, FIRST), site),
    ]
    for page in pages:
        assert "<script>alert" not in page


def test_a_commit_is_its_hash_with_the_name_that_it_was_asked_for_behind_it() -> None:
    row = CommitRow(commit=CommitInfo(id="c" * 40, name="HEAD~6"), results=1, measured=1.0)
    listed = render_commits(CommitPage(rows=(row,), total=1), "", _site())
    assert re.search(r">c{12}</a> <span [^>]*>HEAD~6</span>", listed)
    page = render_commit(row, ResultPage(), _site())
    assert f"<h1>Commit {'c' * 12}</h1>" in page
    assert "<dt>asked for as</dt><dd>HEAD~6</dd>" in page


def test_a_given_program_is_its_file_name() -> None:
    program = CommitInfo(id="0123456789ab", source="prebuilt", name="hang.sh")
    page = render_commit(CommitRow(commit=program, results=1, measured=1.0), ResultPage(), _site())
    assert "<h1>Program hang.sh</h1>" in page


def test_an_empty_store_says_how_it_is_filled() -> None:
    assert "harness store import" in render_latest(ResultPage(), EVERYTHING, FIRST, _site())


def _difference(verdict: Verdict | None) -> CommitDifference:
    device = DeviceInfo(identity="x", name="x")
    cell = Cell(key="k", model="m", identifier="i", framework="f", digest="d", device=device)
    metric, effect = MetricInfo(name="NET latency", unit="ms"), Effect(log_ratio=0.1)
    if verdict is None:
        return CommitDifference(cell=cell, metric=metric, ratio=effect)
    contrast = Contrast(control=CommitInfo(id="a"), metric=metric, verdict=verdict, effect=effect)
    return CommitDifference(cell=cell, metric=metric, contrast=contrast)


def _compare(verdict: Verdict | None, threshold: float | None = None) -> str:
    return render_comparison(CommitInfo(id="a"), CommitInfo(id="b"), [_difference(verdict)], threshold, _site())


def test_colours_follow_verdicts_and_medians_have_none() -> None:
    assert '<tr class="regression"' in _compare(Verdict.REGRESSION)
    assert '<tr class="undecided"' in _compare(Verdict.UNDECIDED)
    assert '<tr class=""' in _compare(None)
    assert "Grey rows" in _compare(None)


def test_a_threshold_colours_by_size_and_says_so() -> None:
    page = _compare(Verdict.UNDECIDED, 0.05)
    assert '<tr class="worse"' in page
    assert "Colours follow a threshold of" in page
    assert '<tr class="no-change"' in _compare(Verdict.REGRESSION, 0.5)


def test_before_two_commits_are_chosen_the_newest_are_offered_beside_the_one_before(history: History) -> None:
    rows = [CommitRow(commit=CommitInfo(id=name * 40), results=1, measured=1.0) for name in "cba"]
    text = render_comparison(None, None, (), None, _site(history), commits=rows)
    assert text.count(">side by side</a>") == 2
    assert f"control={'b' * 40}&amp;treatment={'c' * 40}" in text


def test_the_list_of_models_counts_benchmarks_and_not_their_devices(history: History) -> None:
    row = history.latest(EVERYTHING, FIRST).rows[0]
    elsewhere = row.model_copy(
        update={"cell": row.cell.model_copy(update={"device": DeviceInfo(identity="x", name="x")})}
    )
    text = render_models([row, elsewhere], _site(history))
    assert '<td class="right" data-sort="1">1</td><td class="right" data-sort="2">2</td>' in text


def test_counts_say_that_they_are_about_the_rows_of_a_part(history: History) -> None:
    latest = history.latest(EVERYTHING, FIRST)
    part = latest.model_copy(update={"total": 5000})
    assert "of these 3 rows; 5000 in all" in render_latest(part, EVERYTHING, FIRST, _site(history))
    assert "in all" not in render_latest(latest, EVERYTHING, FIRST, _site(history))
