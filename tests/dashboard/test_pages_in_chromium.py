"""Pages in a real Chromium: bright and dark, wide and narrow, with names that attack them, by mouse and by keyboard."""

from __future__ import annotations

import pytest

from tests.dashboard.conftest import Opener
from tests.dashboard.pages import make_pages
from tests.dashboard.samples import HOUR, START

NAMES = tuple(make_pages())

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_its_window_and_asks_and_complains_of_nothing(
    open_page: Opener, name: str, width: int, scheme: str
) -> None:
    page, complaints = open_page(make_pages()[name], width, scheme)
    assert complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    assert page.evaluate("document.querySelectorAll('main img, main script, main iframe').length") == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("hostile")])
def test_no_link_of_a_hostile_page_runs_a_script(open_page: Opener, name: str) -> None:
    page, _ = open_page(make_pages()[name])
    links = page.evaluate("Array.from(document.querySelectorAll('a')).map(a => a.getAttribute('href'))")
    assert links
    assert not [link for link in links if link.strip().lower().startswith(("javascript", "data"))]


def test_points_are_reached_by_keyboard_and_have_names(open_page: Opener) -> None:
    page, _ = open_page(make_pages()["cell"])
    first = page.locator("svg.history a[href^='/results/']").first
    first.focus()
    assert "12." in page.evaluate("document.activeElement.getAttribute('aria-label')")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')").startswith("/results/")


def test_rows_of_a_static_page_are_filtered_by_time_and_the_address_keeps_it(open_page: Opener) -> None:
    page, _ = open_page(make_pages()["cell-static"])
    rows = page.locator("table.points tbody tr:visible")
    assert rows.count() == 40
    page.locator("input[name=start]").fill("2025-10-10")
    midnight = 1_760_054_400.0
    assert rows.count() == sum(START + number * HOUR >= midnight for number in range(40))
    assert "start=2025-10-10" in page.evaluate("location.hash")


def test_a_person_can_act_on_an_alarm_only_where_a_server_answers(open_page: Opener) -> None:
    live, static = open_page(make_pages()["alarm"])[0], open_page(make_pages()["alarm-static"])[0]
    assert live.locator("form.act button:visible").all_inner_texts() == ["Comment", "Acknowledge again", "Mute"]
    assert (live.locator("form.act").get_attribute("action") or "").endswith("/remarks")
    assert static.locator("form.act").count() == 0
