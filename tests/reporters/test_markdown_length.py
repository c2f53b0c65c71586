"""A run as Markdown that is too long for GitHub."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.core.result import Result
from harness.testing.results import failed_result
from reporters.markdown.fitting import LIMIT, Droppable, Fixed, Lines, Ranked, fit
from reporters.markdown.page import render
from reporters.pages import ReportedRun
from tests.display.screens import DOUBT, measured
from tests.presentation.comparison_samples import compared, made_pairs
from tests.presentation.test_operators import profiled

GITHUB: int = 65_536
"""Code points in the text of a pull request; a comment takes as many of four bytes each."""
PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = "</details><script> | `x` ```\n\n# h \u202e \U0001f600"


def _named(results: Sequence[Result], suffix: str = "") -> list[Result]:
    """Name results by their place, with a uid of their own."""
    return [
        result.model_copy(
            update={
                "uid": uuid.UUID(int=number).hex,
                "benchmark": result.benchmark.model_copy(update={"identifier": f"b{number}{suffix}"}),
            }
        )
        for number, result in enumerate(results)
    ]


def _check_structure(text: str) -> None:
    """Check that every table, fence and fold of a page is whole."""
    folds = 0
    columns = 0
    for token in PARSER.parse(text):
        if token.type == "html_block":
            folds += token.content.count("<details>") - token.content.count("</details>")
            assert folds in {0, 1}
            assert "<script" not in token.content
        if token.type == "fence":
            assert text.split("\n")[(token.map or [0, 1])[1] - 1].startswith("```")
        if token.type in {"paragraph_open", "inline"}:
            assert "| --- " not in token.content, "a table that is not shown as one"
        columns = 0 if token.type == "tr_open" else columns + (token.type in {"th_open", "td_open"})
    assert folds == 0
    widths = [len(re.findall(r"(?<!\\\\)\\|", line)) for line in text.split("\n") if line.startswith("| ")]
    assert all(width > 2 for width in widths)


@pytest.mark.parametrize("suffix", ["", HOSTILE])
def test_a_thousand_comparisons_fit_with_the_changes_first(suffix: str) -> None:
    kinds = [compared("x", made_pairs(change, 20)) for change in (0.0, 0.02, -0.04)]
    results = _named([kinds[0]] * 990 + [kinds[1]] * 6 + [kinds[2]] * 2 + [failed_result()] * 2, suffix)
    text = render(ReportedRun(results, Path("results"), finished=True))
    assert len(text) <= LIMIT < GITHUB
    lines = text.split("\n")
    assert lines[0] == "# harness: 6 regressions, 2 improvements, 990 no change, 2 failed · mv2"
    assert lines[2].startswith("> **Shortened** to what a comment on GitHub takes. All results are in results;")
    assert text.index("Some of 998 benchmarks may look worse or better by chance") < text.index("| ▼ |")
    assert text.count("\n| ▼ |") == 6
    assert text.count("<details><summary>▼") == 6, "the grounds of every regression"
    assert "990 without a change, or skipped" in text
    assert re.search(r"\*\d+ more lines left out\*", text)
    assert "How to measure again" in text
    _check_structure(text)


@pytest.mark.parametrize("suffix", ["", HOSTILE])
def test_a_thousand_measurements_fit(suffix: str) -> None:
    kinds = [measured("x", 1.0), measured("x", 2.0, notes=[DOUBT]), profiled(), failed_result()]
    results = _named([kinds[number % 4] for number in range(1000)], suffix)
    text = render(ReportedRun(results, Path("results"), finished=True))
    assert GITHUB // 2 < len(text) <= LIMIT < GITHUB
    assert text.startswith("# harness: 1000 measured · mv2\n\n> **Shortened**")
    assert text.index("fastest of mv2") < text.index("| benchmark |")
    assert "<details><summary>970 more</summary>" in text
    _check_structure(text)


def test_a_page_that_fits_is_whole() -> None:
    results = _named([measured("x", 1.0)] * 60)
    text = render(ReportedRun(results, Path("results"), finished=True))
    assert "Shortened" not in text
    assert [f"b{number} " in text for number in range(60)] == [True] * 60
    assert text.count("<details>") == text.count("</details>") == 1
    _check_structure(text)


def test_one_enormous_name_is_left_out_and_the_rest_stays() -> None:
    results = [compared("x" * 70_000, made_pairs(0.02, 12)), compared("y", made_pairs(0.0, 20))]
    text = render(ReportedRun(results, Path("results"), finished=True))
    assert len(text) <= LIMIT
    assert text.startswith("# harness: 1 regression, 1 no change · mv2\n")
    assert "= mv2/y: no change" in text
    _check_structure(text)


LINE = st.text(st.sampled_from("ab \U0001f600é"), max_size=40)


@given(
    st.lists(
        st.tuples(
            st.one_of(
                st.builds(Droppable, LINE),
                st.builds(lambda lines: Lines("head", lines, lambda count: f"{count} more", "end"), st.lists(LINE)),
            ),
            st.integers(0, 3),
        ),
        max_size=8,
    ),
    st.integers(20, 300),
)
def test_blocks_are_shortened_by_whole_lines_until_they_fit(
    blocks: list[tuple[Droppable | Lines, int]], limit: int
) -> None:
    ranked = [Ranked(block, float(importance)) for block, importance in blocks]
    texts, shortened = fit(ranked, limit)
    whole = [block.text for block, _ in blocks if block.text]
    fits = sum(len(text) + 2 for text in whole) <= limit
    assert shortened is not fits
    if fits:
        assert texts == whole
        return
    remaining = sum(len(text) + 2 for text in texts)
    least = sum(len(f"{len(block.lines)} more") + 2 for block, _ in blocks if isinstance(block, Lines))
    assert remaining <= max(limit, least)
    known = {line for block, _ in blocks if isinstance(block, Lines) for line in block.lines}
    for text in texts:
        if text.startswith("head"):
            body = text.removesuffix("end").split("\n\n")[0].split("\n")[1:]
            assert all(line in known for line in body)


def test_what_must_stay_stays() -> None:
    assert fit([Ranked(Fixed("x" * 100), 0.0), Ranked(Droppable("y"), 1.0)], 50) == (["x" * 100], True)
