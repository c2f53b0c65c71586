"""The page of a cell: its picture, its table, and what it says where there is nothing to draw."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markupsafe import escape

from harness.core.outcome import Outcome
from harness.dashboard.cell import render_cell
from harness.dashboard.history_picture import MOST_POINTS
from harness.store.history import CellHistory, CommitInfo, HistoryPoint, Period
from tests.dashboard.samples import (
    HOSTILE,
    START,
    make_cell,
    make_change,
    make_commit,
    make_history,
    make_origin,
    make_points,
    make_site,
)


class _Picture(HTMLParser):
    """Links of the picture of a page, each with the class and title of what it surrounds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []
        self.kinds: list[str] = []
        self._href: str | None = None
        start, end = text.find('<svg viewBox="0 0 760'), text.find("</svg>")
        self.size = max(end - start, 0)
        self.feed(text[start:end] if start >= 0 else "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a":
            self._href, self._title = values["href"] or "", values.get("aria-label") or ""
        elif tag in {"circle", "path", "rect", "text"}:
            self.kinds.append(values.get("class") or "")
            if self._href is not None:
                self.links.append((values.get("class") or "", self._href, self._title))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._href = None


def _render(history: CellHistory) -> str:
    return render_cell(history, Period(), make_site())


def test_each_point_is_a_link_to_its_result_and_says_commit_figure_and_verdict() -> None:
    picture = _Picture(_render(make_history(make_points(20, step=10))))
    points = {href: title for kind, href, title in picture.links if kind.startswith("point")}
    assert len(points) == 18
    title = points[f"/results/{10:032x}"]
    assert "“Use a slower loop”: 13.1 ms [13.0 … 13.2 ms]" in title
    assert "regression" in title


def test_failed_results_are_crosses_with_their_reason() -> None:
    picture = _Picture(_render(make_history(make_points(20))))
    failed = [title for kind, _, title in picture.links if kind == "miss"]
    assert len(failed) == 2
    assert all("crashed, was ended by SIGSEGV" in title for title in failed)


def test_a_proven_change_has_a_line_and_its_size_which_link_to_the_alarm() -> None:
    picture = _Picture(_render(make_history(make_points(20, step=10), make_change(10))))
    assert [(kind, href) for kind, href, _ in picture.links if "alarms" in href] == [
        ("change regression", "/alarms/step%3A0123"),
        ("size regression", "/alarms/step%3A0123"),
    ]


def test_untrusted_points_are_hollow_and_foreign_ones_have_a_shape_and_a_badge() -> None:
    points = make_points(12)
    foreign = points[3].model_copy(update={"origin": make_origin()})
    text = _render(make_history((*points[:3], foreign, *points[4:])))
    kinds = _Picture(text).kinds
    assert sum("doubted" in kind for kind in kinds) == 1
    assert [kind for kind in kinds if "foreign" in kind] == ["point no-change foreign"]
    assert '<span class="badge elsewhere">measured elsewhere, n = 12, device state unknown</span>' in text


def test_results_of_one_commit_share_their_place() -> None:
    points = [point.model_copy(update={"commit": make_commit(1)}) for point in make_points(3)]
    places = set(re.findall(r'<circle class="point [^"]*" cx="(\d+\.\d)"', _render(make_history(tuple(points)))))
    assert len(places) == 1


@pytest.mark.parametrize("count", [MOST_POINTS, MOST_POINTS + 1, 10_000])
def test_a_picture_stays_below_300_kilobytes(count: int) -> None:
    picture = _Picture(_render(make_history(make_points(count, step=count // 2), make_change(count // 2))))
    assert 0 < picture.size < 300_000
    assert any("regression" in kind for kind, _, _ in picture.links)
    assert ("extent" in picture.kinds) == (count > MOST_POINTS)


def test_an_empty_history_is_words() -> None:
    text = _render(make_history(()))
    assert "No result." in text
    assert "<figure" not in text


def test_a_history_of_failures_is_words_and_a_table() -> None:
    points = [
        point.model_copy(update={"median": None, "low": None, "high": None, "outcome": Outcome.TIMEOUT})
        for point in make_points(4)
    ]
    text = _render(make_history(tuple(points)))
    assert "4 results, and none has a figure" in text
    assert "<figure" not in text
    assert text.count(">timeout</a>") == 4


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0, 1e300])
def test_strange_figures_draw_a_picture(value: float) -> None:
    points = make_points(4)
    strange = points[0].model_copy(update={"median": value, "low": value, "high": value})
    picture = _Picture(_render(make_history((strange, *points[1:]))))
    assert picture.size > 0


def test_hostile_names_are_text() -> None:
    commit = CommitInfo(id=HOSTILE, subject=HOSTILE, author=HOSTILE, url="javascript:alert(1)", time=START)
    point = HistoryPoint(uid=HOSTILE, commit=commit, time=START, median=1.0, reason=HOSTILE)
    text = _render(make_history((point,), cell=make_cell(HOSTILE, HOSTILE)))
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "javascript:" not in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert str(escape('a:b "><script>')) in text


def test_two_points_at_one_time_are_drawn() -> None:
    points = tuple(point.model_copy(update={"time": START}) for point in make_points(2))
    assert _Picture(_render(make_history(points))).size > 0
