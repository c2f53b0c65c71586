"""Names of folders, and folders that are complete or absent."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.store.tree import encode_segment, publish_folder


def test_a_folder_is_published_completely_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError):
        publish_folder(tmp_path, tmp_path / "results", {"a": "written", "a/b": "cannot be: a is a file"})
    assert list((tmp_path / "results").iterdir()) == []
    assert publish_folder(tmp_path, tmp_path / "results", {"a": "written"}).name == "0"


@given(st.text(st.characters()), st.text(st.characters()))
def test_different_names_are_different_segments(first: str, second: str) -> None:
    assert (encode_segment(first) == encode_segment(second)) == (first == second)


@pytest.mark.parametrize("name", ["con", "NUL", "nul.json", "Com1", "lpt9.tar.gz", "aux."])
def test_a_name_that_means_a_device_on_windows_is_none(name: str) -> None:
    segment = encode_segment(name)
    # The device is what precedes the first dot (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
    assert segment.partition(".")[0].upper() not in {"CON", "NUL", "AUX", "COM1", "LPT9"}
    assert unquote(segment) == name


def test_names_end_in_no_dot_which_windows_would_remove() -> None:
    assert encode_segment("v1.") == "v1%2E"


@given(st.text(st.sampled_from("a%2E-./ü~"), max_size=400), st.text(st.sampled_from("a%2E-./ü~"), max_size=400))
def test_names_made_of_our_own_escapes_stay_different(first: str, second: str) -> None:
    assert (encode_segment(first) == encode_segment(second)) == (first == second)


@given(st.text(st.characters()))
def test_a_segment_is_safe_everywhere(name: str) -> None:
    safe = encode_segment(name)
    assert 0 < len(safe.encode("ascii")) <= 120
    assert not safe.startswith(".")
    assert not set(safe) & set("/\\:*?\"<>| \n\x00'$`!&;()[]{}#")


def test_long_names_with_one_beginning_stay_apart() -> None:
    assert encode_segment("x" * 300) != encode_segment("x" * 301)
    assert encode_segment(encode_segment("x" * 300)) != encode_segment("x" * 300)


def test_ordinary_names_stay_as_they_are() -> None:
    assert encode_segment("mv2-xnnpack_q8+t1.v2@host,a=b~") == "mv2-xnnpack_q8+t1.v2@host,a=b~"
