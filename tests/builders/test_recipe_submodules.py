"""Submodules that recipes declare, and what a build of their commits gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed
from harness.core.submodules import ALL_SUBMODULES, SubmoduleSelection
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, TOOLS, Folder, write_recipe

LISTS = 'cp "$1/submodules" "$2"'


class Modular(Folder):
    """Source of one commit, with a file that names the submodules that were asked for."""

    def materialise_with(self, commit: Commit, folder: Path, submodules: SubmoduleSelection) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "submodules").write_text(str(submodules))


def _build(folder: Path, chosen: str | None = None) -> Build:
    return build_commit(
        Modular(folder),
        Commit(source="folder", id="c1"),
        find_recipe("thing", "host", [folder / "recipes"]),
        platform="host",
        submodules=None if chosen is None else SubmoduleSelection.parse(chosen.split(), "test"),
        cache=BuildCache(folder / "cache"),
        progress=RecordedProgress(),
        toolchain=TOOLS,
    )


def test_a_recipe_gets_the_submodules_that_it_declares(tmp_path: Path) -> None:
    script = write_recipe(tmp_path / "recipes", "thing/host", LISTS)
    everything = _build(tmp_path)
    assert everything.programs["program"].read_text() == "all"
    (script.parent / "submodules.txt").write_text("# of the tests\n\n third-party/json # headers\nlib/a\n")
    some = _build(tmp_path)
    assert some.programs["program"].read_text() == "lib/a third-party/json"
    assert some.digest != everything.digest
    assert "submodules" not in some.flags


def test_recipes_for_several_platforms_share_a_declaration(tmp_path: Path) -> None:
    for platform in ("host", "android", "ios"):
        write_recipe(tmp_path, f"thing/{platform}", LISTS)
    (tmp_path / "thing/submodules.txt").write_text("lib/a\n")
    (tmp_path / "thing/ios/submodules.txt").write_text("none\n")
    declared = {name: str(find_recipe("thing", name, [tmp_path]).submodules) for name in ("host", "android", "ios")}
    assert declared == {"host": "lib/a", "android": "lib/a", "ios": "none"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "../elsewhere\n", "all\nlib\n"])
def test_a_declaration_that_names_no_submodule_is_refused(tmp_path: Path, text: str) -> None:
    script = write_recipe(tmp_path, "thing/host", LISTS)
    (script.parent / "submodules.txt").write_text(text)
    with pytest.raises(BuildFailed, match=r"submodules\.txt"):
        find_recipe("thing", "host", [tmp_path])


def test_the_choice_of_the_user_takes_precedence_and_identifies_the_build(tmp_path: Path) -> None:
    script = write_recipe(tmp_path / "recipes", "thing/host", LISTS)
    (script.parent / "submodules.txt").write_text("lib/a\n")
    declared, chosen = _build(tmp_path), _build(tmp_path, "lib/b")
    assert chosen.programs["program"].read_text() == "lib/b"
    assert chosen.flags["submodules"] == "lib/b"
    assert chosen.digest != declared.digest
    assert _build(tmp_path, "lib/a").digest == declared.digest, "what the recipe declares is no other build"


def test_the_recipes_of_executorch_declare_theirs() -> None:
    host, android, ios = (find_recipe("executorch", name, [OURS]).submodules for name in ("host", "android", "ios"))
    assert host == android
    assert host.paths is not None
    assert "backends/xnnpack/third-party/XNNPACK" in map(str, host.paths)
    assert ios == ALL_SUBMODULES
