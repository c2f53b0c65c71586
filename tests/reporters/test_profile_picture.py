"""The picture of operators on the page of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.presentation.module_tree import NO_MODULE
from reporters.document.picture import Label, Rectangle
from reporters.html.page import render
from reporters.html.pictures.profile import WIDTH, draw_profile
from reporters.pages import ReportedRun
from tests.presentation.test_profiles import IDENTITIES, profiled, untraced


def test_modules_are_an_icicle_whose_heights_are_times() -> None:
    picture = draw_profile(profiled(), "o1")
    assert picture is not None
    cells = {mark.title.partition(":")[0]: mark for mark in picture.marks if isinstance(mark, Rectangle)}
    assert set(cells) == {
        "stem",
        "(conv)",
        "head",
        f"{NO_MODULE}",
        f"{NO_MODULE}.GEMM",
        f"{NO_MODULE}.delegate call (rest)",
    }
    heights = {name: cells[name].height for name in ("stem", "(conv)", "head", NO_MODULE)}
    whole = sum(heights.values())
    shares = {name: height / whole for name, height in heights.items()}
    assert shares == pytest.approx({"stem": 0.3, "(conv)": 0.1, "head": 0.35, NO_MODULE: 0.25})
    assert cells["stem"].kind == "kernel leaf cell"
    assert cells["head"].kind == "delegated leaf cell"
    assert cells[NO_MODULE].kind.startswith("other")
    assert all(cell.x >= 0 and cell.x + cell.width <= WIDTH for cell in cells.values())


def test_without_modules_it_has_a_bar_for_each_operator() -> None:
    picture = draw_profile(profiled(()), "o1")
    assert picture is not None
    names = [mark.text for mark in picture.marks if isinstance(mark, Label) and mark.kind == "name"]
    assert names == ["GEMM #1", "conv #1", "GEMM #2", "conv #2", "delegate call (rest) #1"]
    widths = [mark.width for mark in picture.marks if isinstance(mark, Rectangle)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(widths[0] * 50 / 350)


def test_a_result_without_operators_has_no_picture_of_them() -> None:
    assert draw_profile(untraced(), "o1") is None


def test_the_page_contains_it_with_every_name_escaped() -> None:
    hostile = IDENTITIES[0].model_copy(
        update={"nodes": (IDENTITIES[0].nodes[0].model_copy(update={"module": "<script>alert(1)</script>"}),)}
    )
    run = ReportedRun([profiled((hostile, *IDENTITIES[1:])), untraced()], tree=Path(), finished=True)
    page = render(run)
    assert 'class="delegated leaf cell"' in page
    assert "Modules of the model" in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
