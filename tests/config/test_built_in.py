"""Built-in specifications have names; files and folders are still paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import app
from harness.config.arguments import insert_default_command, resolve_settings
from harness.config.built_in import LISTS, MODELS, find_shipped, find_specifications, locate_specification
from harness.config.flags import InspectFlags
from harness.config.parsing import parse_files
from harness.core.errors import UsageError

COMMANDS = frozenset(name for name in app if not name.startswith("-"))


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def test_each_name_means_one_thing() -> None:
    models, lists = find_shipped(MODELS), find_shipped(LISTS)
    assert {"mv2", "sort"} <= models.keys()
    assert "nightly" in lists
    assert not models.keys() & lists.keys()
    assert not find_specifications().keys() & COMMANDS


def test_a_name_is_a_built_in_specification_from_every_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    mv2 = find_specifications()["mv2"]
    assert mv2.is_file()
    assert parse_files(("mv2", "a/mv2", "x.json")) == (mv2, Path("a/mv2"), Path("x.json"))
    assert resolve_settings(InspectFlags(), ("mv2",)).benchmark_file == (mv2,)
    monkeypatch.setenv("HARNESS_BENCHMARK_FILE", "mv2")
    assert resolve_settings(InspectFlags()).benchmark_file == (mv2,)


def test_a_file_of_that_name_wins_and_a_folder_does_not(empty_folder: Path) -> None:
    (empty_folder / "mv2").mkdir()
    assert locate_specification("mv2") == find_specifications()["mv2"]
    assert locate_specification("./mv2") == Path("mv2")
    (empty_folder / "sort").write_text("{}")
    assert locate_specification("sort") == Path("sort")
    (empty_folder / "mine").mkdir()
    assert locate_specification("mine") == Path("mine")


@pytest.mark.parametrize(("word", "meant"), [("mv22", "did you mean mv2? "), ("zzz", "")])
def test_an_unknown_name_gets_a_suggestion_and_the_list(word: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"no specification `{word}`") as error:
        locate_specification(word)
    assert error.value.hint is not None
    assert error.value.hint.startswith(f"{meant}built in: add, all, ")


@pytest.mark.parametrize("word", ["x" * 5000, "a\0b"])
def test_a_word_that_no_file_can_have_is_an_unknown_name(word: str) -> None:
    with pytest.raises(UsageError, match="no specification"):
        locate_specification(word)


def test_a_command_line_may_begin_with_a_specification(empty_folder: Path) -> None:
    (empty_folder / "mine").write_text("{}")
    for word in ("mv2", "my.json", "a/b", "mine"):
        assert insert_default_command([word, "--dry-run"], COMMANDS) == ["run", word, "--dry-run"]
    assert insert_default_command(["mv2", "--interval", "3"], COMMANDS) == ["watch", "mv2", "--interval", "3"]
    for word in COMMANDS:
        assert insert_default_command([word], COMMANDS) == [word]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("comparee", "did you mean compare?"),
        ("mv3", "did you mean mv3_large or mv3_small or mv3_small_frameworks?"),
        ("help", "`harness --help` lists the commands, `harness list` the models"),
        ("rnu", "did you mean run?"),
        ("mv22", "did you mean mv2?"),
        ("zzz", "`harness --help` lists the commands, `harness list` the models"),
    ],
)
def test_a_first_word_that_is_neither_command_nor_specification_is_an_error(word: str, hint: str) -> None:
    with pytest.raises(UsageError, match="neither a command nor a specification") as error:
        insert_default_command([word], COMMANDS)
    assert error.value.hint == hint


def test_a_missing_file_called_like_a_built_in_specification_is_told_its_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file") as caught:
        locate_specification("elsewhere/models/mv2.json")
    assert caught.value.hint == "the built-in specification is called `mv2`"
    assert locate_specification(str(tmp_path / "other.json")) == tmp_path / "other.json"
