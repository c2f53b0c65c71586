"""A run as one HTML page, read back by an HTML parser."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.settings import Settings
from harness.core.comparison import Comparison
from harness.core.errors import UsageError
from harness.core.result import Result
from harness.presentation.text import make_printable
from harness.testing.results import failed_result, ok_result
from reporters import html
from reporters.document.picture import Picture
from reporters.document.rendering import load_environment, render_picture
from reporters.document.tables import build_figures
from reporters.html.page import render
from reporters.html.pictures.pairs import draw_interval, draw_pairs, interval_reach
from reporters.pages import ReportedRun
from tests.display.screens import measured
from tests.presentation.comparison_samples import compared, every_kind, identical, made_pairs
from tests.reporters.golden_pages import FOLDER, current

NASTY = st.text(st.sampled_from("ab <>&\"'/=;#x\n\x1b\ud800é"), max_size=30) | st.text(max_size=30)
VOID = {"meta"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "strong", "dl", "dt", "dd", "div",
    "table", "thead", "tbody", "tr", "th", "td", "span", "a", "ul", "li", "article", "header", "pre", "details",
    "summary", "script", "svg", "desc", "path", "circle", "rect", "text",
}  # fmt: skip


class Reader(HTMLParser):
    """Refuses what is not closed, and keeps texts, tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open) and data.strip():
            self.texts.append(data)


def _read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def _page(*results: Result, finished: bool = True) -> str:
    return render(ReportedRun(results, Path("results"), finished))


def _drawn(picture: Picture | None) -> ET.Element:
    assert picture is not None
    return ET.fromstring(render_picture(picture))


def _comparison(result: Result) -> Comparison:
    assert result.comparison is not None
    return result.comparison


@given(NASTY)
def test_any_text_is_shown_verbatim(text: str) -> None:
    template = load_environment("reporters.html").from_string('<p title="{{ text }}">{{ text }}</p>')
    reader = _read(template.render(text=text))
    assert reader.attributes == [("title", make_printable(text))]
    assert "".join(reader.texts) == (make_printable(text) if make_printable(text).strip() else "")


@given(NASTY, NASTY)
def test_any_texts_in_a_table_stay_within_their_cells(first: str, second: str) -> None:
    template = load_environment("reporters.html").from_string(
        '{% import "document/tables.html" as tables %}{{ tables.table(shown) }}'
    )
    tags = _read(template.render(shown=build_figures(second, ("a", "b"), [(first, second)]))).tags
    assert tags == {"div", "table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.slow
@given(NASTY, NASTY)
def test_any_names_give_a_page_of_the_same_structure(model: str, identifier: str) -> None:
    reader = _read(_page(compared(identifier, PAIRS, model=model), failed_result(model=model, reason=identifier)))
    assert reader.tags <= KNOWN


PAIRS = made_pairs(0.0, 7)


def test_the_page_equals_the_golden_file() -> None:
    kept = (FOLDER / "comparison.html").read_text(encoding="utf-8")
    assert current()["comparison.html"] == kept, "run python -m tests.reporters.golden_pages and look at the difference"


def test_a_page_loads_nothing_and_allows_only_its_own_script() -> None:
    text = _page(*every_kind(), measured("plain", 1.0))
    reader = _read(text)
    assert reader.tags <= KNOWN
    names = {name for name, _ in reader.attributes}
    assert not {name for name in names if name.startswith("on")} | (names & {"src", "style", "xlink:href", "action"})
    assert {value[0] for name, value in reader.attributes if name == "href"} == {"#"}
    assert "url(" not in text
    assert "@import" not in text
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    place = reader.attributes.index(("http-equiv", "Content-Security-Policy"))
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert reader.attributes[place + 1] == ("content", policy)


def test_verdicts_are_sorted_and_linked_to_their_details() -> None:
    text = _page(*every_kind())
    assert "<h1>2 regressions, 1 improvement, 2 undecided, 2 no change, 1 failed, 1 skipped · mv2</h1>" in text
    links = re.findall(r'<a href="#(b\d+)">([\w-]+)</a>', text)
    assert [name for _, name in links] == [
        "much-slower",
        "slower",
        "faster",
        "loud",
        "alone",
        "same",
        "untouched",
        "crashed",
        "not-here",
    ]
    assert [place for place, _ in links] == re.findall(r'<article class="[\w-]+" id="(b\d+)">', text)


def test_builds_parameters_seed_and_commands_are_shown() -> None:
    texts = _read(_page(*every_kind())).texts
    assert texts[texts.index("control") + 1] == "executorch 111111111111 native"
    assert texts[texts.index("random seed") + 1] == "7"
    assert any(text.startswith("harness compare -b specifications/models/mv2.json --source git:") for text in texts)
    assert any(text.startswith("harness compare --from results/Example%20CPU") for text in texts)


def test_runs_without_a_control_have_the_table_of_the_screen() -> None:
    texts = _read(_page(measured("fp32", 10.0), measured("q8", 4.0))).texts
    assert "2 measured · mv2" in texts
    row = texts.index("q8")
    assert texts[row : row + 4] == ["q8", "4.00 ms", "2.7 %", "2.50×"]
    assert "fastest of mv2: q8, 2.37-2.64× as fast as fp32" in texts


def test_an_unfinished_page_is_marked() -> None:
    assert "Not finished." in _page(ok_result(), finished=False)
    assert "Not finished." not in _page(ok_result())
    assert "<h1>Nothing was measured</h1>" in _page()


def test_the_picture_has_a_dot_for_each_pair_that_shows_which_side_was_first() -> None:
    pairs = made_pairs(0.02, 20)
    drawn = _drawn(draw_pairs(_comparison(compared("a", pairs)), "p"))
    circles = [circle.get("class") for circle in drawn.iter("circle")]
    assert circles == ["first" if pair.control_first else "second" for pair in pairs]
    (trace,) = [path.get("d") or "" for path in drawn.iter("path") if path.get("class") == "trace"]
    assert trace.count("L") == 19
    assert [path.get("class") for path in drawn.iter("path")].count("margin") == 2


@pytest.mark.parametrize(
    ("change", "count", "noise"), [(0.0, 1, 0.0), (3.0, 30, 1.0), (-0.9, 30, 1.0), (0.0, 100, 50.0), (1e9, 9, 1.0)]
)
def test_everything_lies_within_the_picture(change: float, count: int, noise: float) -> None:
    comparison = _comparison(compared("a", made_pairs(change, count, noise=noise)))
    drawn = _drawn(draw_pairs(comparison, "p"))
    for circle in drawn.iter("circle"):
        assert 0 <= float(circle.get("cx", "-1")) <= 640
        assert 0 <= float(circle.get("cy", "-1")) <= 220
    band = drawn.find("rect")
    assert band is not None
    assert 0 <= float(band.get("y", "-1")) <= float(band.get("y", "-1")) + float(band.get("height", "999")) <= 220
    assert 2 <= len([path for path in drawn.iter("path") if path.get("class") == "grid"]) <= 8


def test_margins_are_visible_and_one_outlier_does_not_flatten_the_plot() -> None:
    pairs = made_pairs(0.0, 40)
    wild = pairs[5].model_copy(update={"treatment": tuple(50 * value for value in pairs[5].treatment)})
    drawn = _drawn(draw_pairs(_comparison(compared("a", [*pairs[:5], wild, *pairs[6:]])), "p"))
    places = [
        float((path.get("d") or "").split()[1].partition("H")[0])
        for path in drawn.iter("path")
        if path.get("class") == "margin"
    ]
    assert abs(places[0] - places[1]) > 60
    assert [circle.get("r") for circle in drawn.iter("circle")].count("1.8") == 1


def test_intervals_are_drawn_on_a_common_scale() -> None:
    comparisons = [_comparison(compared("a", made_pairs(change, 20))) for change in (0.0, 0.02, 0.5)]
    limit = interval_reach(comparisons)
    assert limit == pytest.approx(0.08)
    for comparison in comparisons:
        _drawn(draw_interval(comparison, limit, "i"))
    assert draw_interval(_comparison(identical("x")), limit, "i") is None
    assert interval_reach([]) > 0


def test_the_reporter_is_created_only_on_request(tmp_path: Path) -> None:
    assert html.create(Settings()) is None
    reporter = html.create(Settings(reporters={"html": str(tmp_path / "x.html")}))
    assert reporter is not None
    assert reporter.name == "html"
    with pytest.raises(UsageError, match="names no file"):
        html.create(Settings(reporters={"html": ""}))
