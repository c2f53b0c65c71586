from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.placeholders import PlaceholderProblem, find_placeholders, substitute, suggest

NAMES = st.sampled_from(["a", "b", "c", "files.x"])
TEXTS = st.lists(st.one_of(NAMES.map(lambda name: f"{{{name}}}"), st.text(alphabet="xy {}\"':,", max_size=5))).map(
    "".join
)


def test_values_are_replaced_recursively() -> None:
    assert substitute("{a} {files.x}", {"a": "<{b}>", "b": "1", "files.x": "/m"}) == "<1> /m"


def test_the_former_spelling_of_id_is_accepted() -> None:
    assert substitute("test-<ID>-{ID}", {"ID": "4"}) == "test-4-4"


def test_json_and_other_braces_are_left_alone() -> None:
    assert substitute('{"a": 1} {} { a } ${a}', {"a": "2"}) == '{"a": 1} {} { a } $2'


def test_doubled_braces_are_literal_and_survive_the_first_pass() -> None:
    once = substitute("{{a}} {a}", {"a": "1"}, later={"b"})
    assert once == "{{a}} 1"
    assert substitute(once, {}) == "{a} 1"


def test_names_known_later_are_left() -> None:
    assert substitute("{TGTDIR}/{a}", {"a": "1"}, later={"TGTDIR"}) == "{TGTDIR}/1"


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(PlaceholderProblem, match=r"unknown placeholder \{itr\}") as caught:
        substitute("{itr}", {"iter": "1"})
    assert caught.value.hint == "did you mean `iter`?"


def test_an_unknown_name_without_similar_names_lists_all_names() -> None:
    with pytest.raises(PlaceholderProblem) as caught:
        substitute("{zzz}", {"iter": "1"}, later={"program"})
    assert caught.value.hint == "known here: {iter}, {program}"


def test_a_circular_value_is_an_error_that_shows_the_circle() -> None:
    with pytest.raises(PlaceholderProblem, match=r"\{a\} -> \{b\} -> \{a\}"):
        substitute("{a}", {"a": "x{b}", "b": "{a}"})


@given(TEXTS, st.dictionaries(NAMES, TEXTS, max_size=4))
def test_substitution_ends_and_leaves_no_known_name(template: str, values: dict[str, str]) -> None:
    try:
        substituted = substitute(template, values, later={"later"})
    except PlaceholderProblem:
        return
    assert not set(find_placeholders(substituted)) & set(values)


def test_dissimilar_names_are_not_suggested() -> None:
    assert suggest("zzz", ["iter"]) is None
