"""Names of export requests: entry points of any installed package, and functions by module."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.exporting.catalogue import DEFINITIONS, Catalogue
from harness.core.errors import ExportFailed

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("catalogue", [DEFINITIONS, RECIPES])
def test_every_entry_point_of_this_distribution_is_installed(catalogue: Catalogue) -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][catalogue.group]

    assert set(declared) <= set(catalogue.names())
    for name, value in declared.items():
        entry = catalogue.find(name)
        assert f"{entry.module}:{entry.function}" == value


def test_definitions_and_recipes_are_listed_by_name() -> None:
    assert {"add", "linear", "mlp", "mv2", "mv3_small", "mv3_large", "resnet18", "resnet50"} <= {*DEFINITIONS.names()}
    assert {*RECIPES.names()} == {
        "openvino",
        "portable",
        "xnnpack_8da4w",
        "xnnpack_fp16",
        "xnnpack_fp32",
        "xnnpack_q8",
        "xnnpack_q8_dynamic",
        "xnnpack_q8_relu6",
    }


@pytest.mark.parametrize("folder", ["definitions", "recipes"])
def test_every_public_module_of_ours_is_offered(folder: str) -> None:
    catalogue = {"definitions": DEFINITIONS, "recipes": RECIPES}[folder]
    rooms = {"definitions": ROOT / "frameworks", "recipes": ROOT / "frameworks" / "executorch"}
    files = (rooms[folder] / folder).glob("[!_]*.py")
    offered = {catalogue.find(name).module.rpartition(".")[2] for name in catalogue.names()}

    assert {file.stem for file in files} == offered


def test_listing_and_finding_import_no_torch() -> None:
    program = (
        "import sys; from frameworks.executorch.exporting.recipes import RECIPES;"
        "from frameworks.exporting.catalogue import DEFINITIONS;"
        "DEFINITIONS.find('mv2'); RECIPES.find('xnnpack_q8');"
        "sys.exit('torch' in sys.modules or 'executorch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("catalogue", "misspelt", "suggestion", "installed"),
    [
        (DEFINITIONS, "resnet81", "did you mean `resnet18`?", "mv3_small"),
        (RECIPES, "xnnpack-q8", "did you mean `xnnpack_q8`?", "portable"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion_and_the_list(
    catalogue: Catalogue, misspelt: str, suggestion: str, installed: str
) -> None:
    with pytest.raises(ExportFailed, match=f"unknown {catalogue.kind} `{misspelt}`") as failure:
        catalogue.find(misspelt)

    hint = failure.value.hint or ""
    assert suggestion in hint
    assert installed in hint
    assert "package.module:function" in hint


@pytest.mark.parametrize("catalogue", [DEFINITIONS, RECIPES])
def test_a_function_is_named_by_its_module(catalogue: Catalogue) -> None:
    entry = catalogue.find("my_package.nets:tiny")

    assert (entry.module, entry.function, entry.version) == ("my_package.nets", "tiny", None)


@pytest.mark.parametrize(
    "spelling", ["nets:", ":tiny", "my nets:tiny", "nets.py:tiny:other", "../nets:tiny", "1nets:t"]
)
@pytest.mark.parametrize("catalogue", [DEFINITIONS, RECIPES])
def test_invalid_function_names_are_rejected(catalogue: Catalogue, spelling: str) -> None:
    with pytest.raises(ExportFailed, match="does not name a function"):
        catalogue.find(spelling)


def test_a_missing_function_is_reported_with_a_similar_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "misspelt_recipes.py").write_text("def lower(module, example_inputs, calibration): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(ExportFailed, match=r"`misspelt_recipes` has no function `lowr`") as failure:
        RECIPES.find("misspelt_recipes:lowr").load()

    assert "`lower`" in (failure.value.hint or "")


def offer(folder: Path, distribution: str, recipe: str) -> None:
    information = folder / f"{distribution}-3.4.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 3.4\n")
    (information / "entry_points.txt").write_text(
        f"[{RECIPES.group}]\nfast = {recipe}\n[{DEFINITIONS.group}]\nnet = acme_models:net\n"
    )


def test_another_distribution_can_offer_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path, "acme", "acme_recipes:lower_fast")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert {"fast", "portable"} <= {*RECIPES.names()}
    recipe, definition = RECIPES.find("fast"), DEFINITIONS.find("net")
    assert (recipe.module, recipe.function, recipe.version) == ("acme_recipes", "lower_fast", "3.4")
    assert (definition.module, definition.function) == ("acme_models", "net")


def test_a_name_offered_by_two_distributions_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path / "one", "acme", "acme_recipes:lower")
    offer(tmp_path / "two", "other", "other_recipes:lower")
    for folder in ("one", "two"):
        monkeypatch.syspath_prepend(str(tmp_path / folder))

    with pytest.raises(ExportFailed, match="acme_recipes:lower, other_recipes:lower") as failure:
        RECIPES.find("fast")

    assert "package.module:function" in (failure.value.hint or "")
