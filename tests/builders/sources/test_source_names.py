from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.builders.sources.commit_names import CommitName, parse_name
from harness.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("main", CommitName("main")),
        ("origin/release/1.4", CommitName("origin/release/1.4")),
        ("HEAD~1", CommitName("HEAD", ("~1",))),
        ("v1.0^2~3^", CommitName("v1.0", ("^2", "~3", "^"))),
        ("fix-#12_größe", CommitName("fix-#12_größe")),
        ("1.4.1+cpu", CommitName("1.4.1+cpu")),
    ],
)
def test_names_are_parsed(text: str, name: CommitName) -> None:
    assert parse_name(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-rf",
        "--upload-pack=touch /tmp/x",
        "--upload-pack=x",
        "-",
        "~1",
        "^main",
        "a..b",
        "a...b",
        "main@{1}",
        "main^{tree}",
        ":/fix",
        "HEAD:file",
        "a b",
        "a\tb",
        "a\nb",
        "a\0b",
        "a\x7f",
        "a\u00a0b",
        "a~1\n",
        "a~\u0663",
        "a\u202eb",
        "a\udc80",
        'a"b',
        "all()" + "'",
        "$(x)",
        "`x`",
        "x" * 300,
    ],
)
def test_ambiguous_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_name(text)
    assert caught.value.hint


@given(st.text())
def test_accepted_names_are_never_options_and_contain_no_blank(text: str) -> None:
    try:
        name = parse_name(text)
    except UsageError:
        return
    assert str(name) == text
    assert not name.base.startswith("-")
    assert not set(name.base) & set(string.whitespace + "~^:?*[\\\"'$`{}\0")
    assert ".." not in name.base


@pytest.mark.parametrize(
    ("text", "is_hash", "is_full"), [("abc", False, False), ("abcd", True, False), ("A" * 40, True, True)]
)
def test_hashes_are_recognised(text: str, is_hash: bool, is_full: bool) -> None:
    assert (parse_name(text).is_hash, parse_name(text).is_full_hash) == (is_hash, is_full)
