from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.builders.recipes import find_recipe
from harness.core.errors import BuildFailed
from tests.builders.recipe_parts import OURS, write_recipe


def test_the_recipe_of_the_platform_precedes_that_of_the_framework(tmp_path: Path) -> None:
    write_recipe(tmp_path, "thing", "exit 1")
    script = write_recipe(tmp_path, "thing/host", "exit 0")
    recipe = find_recipe("thing", "host", [tmp_path])
    assert (recipe.name, recipe.framework, recipe.script) == ("thing/host", "thing", script)
    assert find_recipe("thing", "android", [tmp_path]).name == "thing"


def test_a_variant_is_a_recipe_below_that_of_the_platform_and_nothing_stands_in_for_it(tmp_path: Path) -> None:
    write_recipe(tmp_path, "thing/host", "exit 1")
    script = write_recipe(tmp_path, "thing/host/incremental", "exit 0")
    recipe = find_recipe("thing", "host", [tmp_path], variant="incremental")
    assert (recipe.name, recipe.script) == ("thing/host/incremental", script)
    with pytest.raises(BuildFailed, match="builds a thing runner for host/fast") as caught:
        find_recipe("thing", "host", [tmp_path], variant="fast")
    assert str(tmp_path / "thing/host/fast/build.sh") in (caught.value.hint or "")


def test_an_earlier_folder_takes_precedence(tmp_path: Path) -> None:
    user_recipes = write_recipe(tmp_path / "theirs", "thing", "exit 0")
    write_recipe(tmp_path / "ours", "thing/host", "exit 0")
    assert find_recipe("thing", "host", [tmp_path / "theirs", tmp_path / "ours"]).script == user_recipes


def test_a_release_is_never_built_by_a_source_recipe(tmp_path: Path) -> None:
    write_recipe(tmp_path, "thing/host", "exit 0")
    with pytest.raises(BuildFailed, match="from releases"):
        find_recipe("thing", "host", [tmp_path], released=True)
    script = write_recipe(tmp_path, "thing/releases/host", "exit 0")
    assert find_recipe("thing", "host", [tmp_path], released=True).script == script


def test_a_missing_recipe_is_reported_with_the_searched_folders(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="builds a thing runner for host") as caught:
        find_recipe("thing", "host", [tmp_path / "a", tmp_path / "b"])
    assert str(tmp_path / "a/thing/host/build.sh") in (caught.value.hint or "")
    assert str(tmp_path / "b/thing/host/build.sh") in (caught.value.hint or "")


def test_the_digest_covers_all_files_of_the_recipe_but_not_its_location(tmp_path: Path) -> None:
    write_recipe(tmp_path / "one", "thing/host", "exit 0")
    helper = tmp_path / "one/thing/host/parts/CMakeLists.txt"
    helper.parent.mkdir()
    helper.write_text("project(x)")
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    before = find_recipe("thing", "host", [tmp_path / "one"]).digest
    assert find_recipe("thing", "host", [tmp_path / "other"]).digest == before
    helper.write_text("project(y)")
    assert find_recipe("thing", "host", [tmp_path / "one"]).digest != before
    helper.write_text("project(x)")
    helper.rename(helper.with_name("other.txt"))
    assert find_recipe("thing", "host", [tmp_path / "one"]).digest != before


def test_the_digest_covers_shared_files_of_the_framework_but_not_other_platforms(tmp_path: Path) -> None:
    write_recipe(tmp_path, "thing/host", '. "$(dirname "$0")/../parts.sh"')
    alone = find_recipe("thing", "host", [tmp_path]).digest
    write_recipe(tmp_path, "thing/android", "exit 0")
    assert find_recipe("thing", "host", [tmp_path]).digest == alone
    digests = [alone]
    for content in ("echo 1", "echo 2"):
        (tmp_path / "thing/parts.sh").write_text(content)
        digests.append(find_recipe("thing", "host", [tmp_path]).digest)
    assert len(set(digests)) == 3


def test_the_digest_covers_scripts_that_all_recipes_share(tmp_path: Path) -> None:
    write_recipe(tmp_path, "thing/host", '. "$(dirname "$0")/../../recipes.sh"')
    digests = [find_recipe("thing", "host", [tmp_path]).digest]
    (tmp_path / "README.md").write_text("no script")
    assert find_recipe("thing", "host", [tmp_path]).digest == digests[0]
    for content in ("echo 1", "echo 2"):
        (tmp_path / "recipes.sh").write_text(content)
        digests.append(find_recipe("thing", "host", [tmp_path]).digest)
    assert len(set(digests)) == 3


def test_the_native_runner_counts_only_for_recipes_that_name_it(tmp_path: Path) -> None:
    write_recipe(tmp_path, "with/host", 'cp "$HARNESS_RUNNER_SOURCE/main.cpp" "$2"')
    write_recipe(tmp_path, "without/host", "exit 0")
    source = tmp_path / "native"
    source.mkdir()
    digests = {}
    for content in ("1", "2"):
        (source / "main.cpp").write_text(content)
        for name in ("with", "without"):
            recipe = find_recipe(name, "host", [tmp_path], runner_source=source)
            assert recipe.runner_source == (source if name == "with" else None)
            digests[name, content] = recipe.digest
    assert digests["with", "1"] != digests["with", "2"]
    assert digests["without", "1"] == digests["without", "2"]


@pytest.mark.parametrize(
    ("framework", "platform", "released"),
    [
        ("executorch", "host", False),
        ("executorch", "android", False),
        ("executorch", "ios", False),
        ("executorch", "host", True),
        ("generic", "host", False),
    ],
)
def test_bundled_recipes_are_found(framework: str, platform: str, released: bool) -> None:
    assert find_recipe(framework, platform, [OURS], released=released).name.endswith(platform)
