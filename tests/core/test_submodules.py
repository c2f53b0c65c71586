from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from harness.core.errors import UsageError
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection


def _parse(*words: str) -> SubmoduleSelection:
    return SubmoduleSelection.parse(words, "--submodules")


def test_a_selection_needs_its_paths_and_those_around_them() -> None:
    selection = _parse("lib/a", "lib/b/deps/c")
    assert [path for path in ("lib/a", "lib/b", "lib/b/deps/c", "lib/b/deps/d", "lib/a/deps/c", "lib") if
            selection.needs(PurePosixPath(path))] == ["lib/a", "lib/b", "lib/b/deps/c", "lib"]  # fmt: skip


def test_all_and_none_are_words() -> None:
    assert _parse("all") == ALL_SUBMODULES
    assert ALL_SUBMODULES.needs(PurePosixPath("any/path"))
    assert not _parse("none").needs(PurePosixPath("any/path"))


@pytest.mark.parametrize("words", [("all",), ("none",), ("b", "a/c")])
def test_the_text_of_a_selection_can_be_parsed(words: tuple[str, ...]) -> None:
    assert SubmoduleSelection.parse(str(_parse(*words)).split(), "again") == _parse(*words)


@pytest.mark.parametrize("words", [(), ("all", "lib"), ("lib", "none"), ("/lib",), ("../lib",), ("",), (".",)])
def test_what_is_no_path_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="--submodules"):
        _parse(*words)
