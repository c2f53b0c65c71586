"""What reaches a terminal: no character that it would obey."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.terminal_text import clean_for_terminal

OBEYED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's categories of controls, formats (direction marks among them), surrogates, and separators of lines."""


@given(st.text(st.characters(exclude_categories=())))
def test_no_control_and_no_direction_mark_is_left(text: str) -> None:
    left = {character for character in clean_for_terminal(text) if unicodedata.category(character) in OBEYED}
    assert left <= {"\n", "\t"}


@pytest.mark.parametrize("text", ["µs", "±0.3 %", "línea 1\nlínea 2\tend", "模型 ✓ “a” → b", "👍"])
def test_what_people_write_stays(text: str) -> None:
    assert clean_for_terminal(text) == text


def test_line_ends_and_spaces_of_elsewhere_become_ordinary_ones() -> None:
    assert clean_for_terminal("a\r\nb\N{NO-BREAK SPACE}c") == "a\nb c"


def test_an_overwritten_line_shows_that_it_was_one() -> None:
    assert clean_for_terminal("FAILED\rok") == "FAILED\N{REPLACEMENT CHARACTER}ok"
