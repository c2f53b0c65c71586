"""A run as Markdown, read back by a Markdown parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.config.settings import Settings
from harness.core.errors import UsageError
from harness.core.result import Result
from harness.presentation.markdown import escape, fence, format_table
from harness.presentation.text import make_printable
from harness.testing.results import failed_result, ok_result
from reporters import markdown
from reporters.markdown.page import render
from reporters.markdown.ruler import draw_comparison
from reporters.pages import ReportedRun
from tests.display.screens import measured
from tests.presentation.comparison_samples import compared, every_kind, made_pairs
from tests.reporters.golden_pages import FOLDER, current

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NASTY = st.text(st.sampled_from("ab1 .)|<>[]()*_`~\\#&;!-+=:/$\n\t\x1b\ud800é"), max_size=30) | st.text(max_size=30)


def _page(*results: Result, finished: bool = True) -> str:
    return render(ReportedRun(results, Path("results"), finished))


def _texts(text: str) -> list[str]:
    """Return what each paragraph, heading or cell shows; fails where it shows anything but text."""
    texts = []
    for token in PARSER.parse(text):
        if token.type == "inline":
            assert {child.type for child in token.children or ()} <= {"text"}, token
            texts.append("".join(child.content for child in token.children or ()))
    return texts


@given(NASTY)
def test_any_text_in_a_paragraph_is_shown_verbatim(text: str) -> None:
    shown = make_printable(text)
    assert _texts(escape(text)) == ([shown] if shown else [])


@given(NASTY)
def test_any_text_in_a_heading_or_list_is_shown_verbatim(text: str) -> None:
    shown = make_printable(text)
    assert _texts(f"# {escape(text)}") == [shown]
    assert _texts(f"- {escape(text)}") == ([shown] if shown else [])


@given(st.lists(st.tuples(NASTY, NASTY, NASTY), min_size=1, max_size=4))
def test_any_texts_in_a_table_stay_within_their_cells(rows: list[tuple[str, str, str]]) -> None:
    text = format_table(("a", "b", "c"), rows, (False, True, False))
    assert _texts(text) == ["a", "b", "c", *(make_printable(cell) for row in rows for cell in row)]


@given(st.text(st.sampled_from("`~a \n"), max_size=40))
def test_no_text_escapes_a_fenced_block(text: str) -> None:
    tokens = PARSER.parse(f"{fence(text)}\nbehind")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content == f"{text}\n"


def test_the_page_equals_the_golden_file() -> None:
    kept = (FOLDER / "comparison.md").read_text(encoding="utf-8")
    assert current()["comparison.md"] == kept, "run python -m tests.reporters.golden_pages and look at the difference"


def test_each_verdict_is_once_in_the_table_and_once_above_its_details() -> None:
    text = _page(*every_kind())
    assert text.startswith(
        "# harness: 2 regressions, 1 improvement, 2 undecided, 2 no change, 1 failed, 1 skipped · mv2\n"
    )
    assert text.count("<details><summary>") == text.count("</details>") == 7
    assert text.index("▼ | much-slower") < text.index("▲ | faster") < text.index("✗ | crashed")


def test_names_with_special_characters_break_nothing() -> None:
    text = _page(compared("a|b <img src=x> [c](d)", made_pairs(0.0, 12), model="</details><script>"))
    html = PARSER.render(text)
    assert "<img" not in html
    assert "<script" not in html
    assert html.count("<details>") == html.count("</details>") == 1
    assert "a|b &lt;img src=x&gt; [c](d)" in html


def test_runs_without_a_control_have_the_table_of_the_screen() -> None:
    text = _page(measured("fp32", 10.0), measured("q8", 4.0), failed_result(identifier="x"))
    assert text.startswith("# harness: 3 measured · mv2\n")
    assert "| q8 | 4.00 ms | 2.7 % | 2.50× |" in text
    assert "- fastest of mv2: q8, 2.37-2.64× as fast as fp32" in text
    assert "crashed: was ended by SIGSEGV" in text


def test_a_page_shows_comparisons_and_measurements() -> None:
    text = _page(measured("plain", 3.0), compared("pairs", made_pairs(0.0, 9)))
    assert text.startswith("# harness: 1 no change, 1 measured · mv2\n")
    assert text.index("| pairs |") < text.index("## Measured without a control") < text.index("| plain |")


def test_an_unfinished_page_is_marked() -> None:
    assert "**Not finished.**" in _page(ok_result(), finished=False)
    assert "**Not finished.**" not in _page(ok_result())
    assert _page() == "# harness: nothing was measured\n"


def test_the_picture_has_a_bar_for_each_pair_and_the_interval_between_its_ends() -> None:
    comparison = compared("a", made_pairs(0.02, 20)).comparison
    assert comparison is not None
    pairs, interval = draw_comparison(comparison).splitlines()
    assert len(pairs.split()[1]) == 20
    ruler = interval.removeprefix("interval  ")
    assert ruler.index("|") < ruler.index("├") < ruler.index("●") < ruler.index("┤")
    assert ruler[:51].count(":") == 2


@pytest.mark.parametrize(("low", "high", "ends"), [(None, 0.004, "◄┤"), (-0.004, None, "├►"), (-0.5, 0.5, "◄►")])
def test_an_end_beyond_the_ruler_is_an_arrow(low: float | None, high: float | None, ends: str) -> None:
    comparison = compared("a", made_pairs(0.0, 12)).comparison
    assert comparison is not None
    drawn = draw_comparison(comparison.model_copy(update={"low": low, "high": high})).splitlines()[1]
    assert "".join(character for character in drawn if character in "◄├┤►") == ends


def test_many_pairs_are_downsampled_to_a_line() -> None:
    comparison = compared("a", made_pairs(0.0, 100)).comparison
    assert comparison is not None
    assert len(draw_comparison(comparison).split()[1]) == 50
    assert draw_comparison(comparison.model_copy(update={"pairs": ()})) == ""


def test_the_reporter_is_created_only_on_request(tmp_path: Path) -> None:
    assert markdown.create(Settings()) is None
    reporter = markdown.create(Settings(reporters={"markdown": str(tmp_path / "x.md")}))
    assert reporter is not None
    assert reporter.name == "markdown"
    with pytest.raises(UsageError, match="names no file"):
        markdown.create(Settings(reporters={"markdown": ""}))


def test_an_interval_that_is_not_known_has_no_brackets() -> None:
    page = _page(compared("few", made_pairs(0.2, 4)))
    assert "undecided, +2" in page
    assert "()" not in page
