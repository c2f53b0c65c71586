"""Pages of lists in a real Chromium: hostile names, phones, filters that addresses keep, commands that are copied."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from harness.core.outcome import Outcome
from harness.dashboard.commits import render_commit
from harness.dashboard.latest import render_latest
from harness.dashboard.links import LiveLinks, Site
from harness.store.history import CommitRow, Figure, FilterValues, ResultPage, ResultRow
from tests.dashboard.conftest import Opener
from tests.dashboard.list_pages import (
    EMPTY_NAMES,
    EVERYTHING,
    NAMES,
    PART,
    fill_laboratory,
    make_empty_pages,
    make_list_pages,
)
from tests.dashboard.samples import HOSTILE, LATENCY, START, make_cell, make_commit, make_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return make_list_pages(fill_laboratory(tmp_path_factory.mktemp("laboratory") / "results.db"), live=True)


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return make_list_pages(fill_laboratory(tmp_path_factory.mktemp("laboratory") / "results.db"), live=False)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
@pytest.mark.parametrize("name", NAMES)
def test_a_list_fits_its_window_and_asks_and_complains_of_nothing(
    open_page: Opener, live: Mapping[str, str], name: str, width: int, scheme: str
) -> None:
    assert "&lt;script&gt;alert" in live[name]
    page, complaints = open_page(live[name], width, scheme)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('main img, main script, main iframe').length") == 0


@pytest.mark.parametrize("name", EMPTY_NAMES)
def test_an_empty_list_says_in_words_what_fills_it(open_page: Opener, name: str) -> None:
    page, complaints = open_page(make_empty_pages()[name], 390)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    words = page.locator("main .empty").inner_text()
    assert words == "Choose two commits." if name == "comparison" else "harness store import" in words


def test_two_thousand_cells_are_shown_and_can_be_searched(open_page: Opener) -> None:
    rows = tuple(_make_row(number) for number in range(2000))
    site = Site(LiveLinks(), FilterValues(results=2000), live=False)
    text = render_latest(ResultPage(rows=rows, total=2000), EVERYTHING, PART, site)
    page, complaints = open_page(text, 390)
    assert page.locator("main tbody tr:visible").count() == 2000
    page.locator("input[name=text]").fill("MV1234/")
    assert page.locator("main tbody tr:visible").count() == 1
    assert page.locator("[data-count]").inner_text() == "1 of 2000"
    assert complaints == []


def test_a_folder_filters_its_rows_and_the_address_and_back_keep_the_choice(
    open_page: Opener, static: Mapping[str, str]
) -> None:
    page, _ = open_page(static["latest"])
    rows = page.locator("main tbody tr:visible")
    everything = rows.count()
    page.locator("select[name=models]").select_option("mv2")
    chosen = rows.count()
    assert 0 < chosen < everything
    assert page.url.endswith("#models=mv2")
    page.reload()
    assert rows.count() == chosen
    assert page.locator("select[name=models]").input_value() == "mv2"
    page.go_back()
    assert rows.count() == everything


def test_the_matrix_of_a_folder_shows_the_device_that_is_chosen(open_page: Opener, static: Mapping[str, str]) -> None:
    page, _ = open_page(static["coverage"])
    page.locator("select[name=devices]").select_option(index=1)
    assert page.locator("table.matrix thead th[data-column]:visible").count() == 1
    assert page.locator("table.matrix tbody tr:visible").count() > 0


def test_counts_choose_rows_and_add_up_to_all_of_them(open_page: Opener, live: Mapping[str, str]) -> None:
    page, _ = open_page(live["comparison"])
    rows = page.locator("main tbody tr:visible")
    everything, total = rows.count(), 0
    for number in range(page.locator("button[data-state]").count()):
        button = page.locator("button[data-state]").nth(number)
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        total += rows.count()
        button.click()
        assert rows.count() == everything
    assert total == everything


def test_a_command_is_copied_from_a_page_on_a_disk(open_page: Opener, static: Mapping[str, str]) -> None:
    page, _ = open_page(static["commit"], 1600)
    page.locator("button.copy:visible").first.click()
    selected = page.evaluate("getSelection().toString()")
    assert selected == page.locator(".command code").first.text_content()
    assert page.locator("button.copy").first.inner_text() == "copied"


def test_an_address_of_a_commit_that_is_no_web_page_is_no_link(open_page: Opener) -> None:
    commit = make_commit(1).model_copy(update={"url": "javascript:alert(1)"})
    row = CommitRow(commit=commit, results=0, measured=START)
    page, complaints = open_page(render_commit(row, ResultPage(), make_site()))
    assert page.locator("main a[href^='javascript']").count() == 0
    assert complaints == []


def _make_row(number: int) -> ResultRow:
    return ResultRow(
        uid=f"{number:032x}",
        cell=make_cell(f"mv{number}", HOSTILE if number % 2 else "Pixel 8"),
        commit=make_commit(number),
        time=START + number,
        outcome=Outcome.OK if number % 7 else Outcome.CRASHED,
        reason="" if number % 7 else HOSTILE,
        figure=Figure(metric=LATENCY, median=1000.0 + number),
        reproduce="harness -b 'a b.json'",
    )
