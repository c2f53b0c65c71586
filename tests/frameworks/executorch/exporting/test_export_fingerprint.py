from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.exporting import provenance
from harness.core.benchmark import Export
from harness.core.errors import ExportFailed

PACKAGE = "frameworks.executorch"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def users(definition: str, **options: str) -> Export:
    return Export(definition=definition, recipe="portable", options=dict(options))


def test_a_built_in_is_fingerprinted_by_versions_and_sources() -> None:
    entries = EXPORTER.fingerprint(Export(definition="mlp", recipe="portable"))

    assert {"torch", "executorch", "torchao", "torchvision", "definition", "recipe", "process"} == entries.keys()
    assert entries["executorch"] == "1.5.1"
    assert len(entries["definition"]) == 64


def test_the_versions_of_packages_that_a_recipe_needs_are_part_of_its_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = EXPORTER.fingerprint(Export(definition="mlp", recipe="openvino"))
    monkeypatch.setattr(provenance, "find_version", lambda package: "7" if package == "openvino" else None)
    after = EXPORTER.fingerprint(Export(definition="mlp", recipe="openvino"))

    assert before.keys() - EXPORTER.fingerprint(Export(definition="mlp", recipe="portable")).keys() == {
        "nncf",
        "openvino",
    }
    assert (after["openvino"], after["nncf"]) == ("7", "absent")


def test_definitions_of_a_family_share_a_fingerprint_and_recipes_do_not() -> None:
    resnet18, resnet50, mlp, lowered = (
        EXPORTER.fingerprint(Export(definition=definition, recipe=recipe))
        for definition, recipe in (
            ("resnet18", "portable"),
            ("resnet50", "portable"),
            ("mlp", "portable"),
            ("mlp", "xnnpack_fp32"),
        )
    )

    assert resnet18 == resnet50
    assert resnet18["definition"] != mlp["definition"]
    assert mlp["recipe"] != lowered["recipe"]


def test_the_fingerprint_of_a_recipe_covers_the_modules_it_imports() -> None:
    names = provenance.own_sources(f"{PACKAGE}.recipes.xnnpack_q8_relu6")

    assert {name.rpartition(".")[2] for name in names} >= {"xnnpack_q8_relu6", "xnnpack_q8", "_quantisation"}
    assert f"{PACKAGE}.recipes.portable" not in names


def test_the_fingerprint_covers_modules_that_the_process_imports_lazily() -> None:
    names = provenance.own_sources(f"{PACKAGE}.exporting.process")

    assert {f"{PACKAGE}.exporting.program", "frameworks.exporting.models"} <= names.keys()
    assert not {PACKAGE, "frameworks"} & names.keys()


def test_the_imports_of_our_sources_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(provenance.__file__).parents[1]
    modules = {
        ".".join(("frameworks", *file.relative_to(root).with_suffix("").parts)): file for file in root.rglob("*.py")
    }
    short = {module: set(provenance._imports(module, file)) for module, file in modules.items()}
    monkeypatch.setattr(provenance, "is_own", lambda module: False)

    assert short == {module: set(provenance._imports(module, file)) for module, file in modules.items()}
    assert len(modules) > 100


@pytest.mark.parametrize("statement", ["import torch\n", "raise RuntimeError('imported')\n"])
def test_a_user_module_is_read_and_not_imported(workplace: Path, statement: str) -> None:
    package = workplace / "unimported"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "nets.py").write_text(statement)

    assert EXPORTER.fingerprint(users("unimported.nets:tiny"))["definition"]


def test_a_changed_user_file_changes_the_fingerprint(workplace: Path) -> None:
    source = workplace / "changing_nets.py"
    source.write_text("def tiny(): ...\n")
    before = EXPORTER.fingerprint(users("changing_nets:tiny"))
    assert EXPORTER.fingerprint(users("changing_nets:tiny")) == before

    source.write_text("def tiny(): return 1\n")

    assert EXPORTER.fingerprint(users("changing_nets:tiny")) != before


@pytest.mark.parametrize(
    "statement",
    [
        "import user_zoo.layers",
        "from user_zoo import layers",
        "from user_zoo.layers import convolution",
        "from . import layers",
        "from .layers import convolution",
        "from .deeper import middle",
        "def tiny():\n    from .layers import convolution",
    ],
)
def test_a_changed_import_of_a_user_file_changes_the_fingerprint(workplace: Path, statement: str) -> None:
    zoo = workplace / "user_zoo"
    (zoo / "deeper").mkdir(parents=True)
    (zoo / "__init__.py").write_text("")
    (zoo / "nets.py").write_text(statement)
    (zoo / "layers.py").write_text("size = 3\n")
    (zoo / "deeper" / "__init__.py").write_text("")
    (zoo / "deeper" / "middle.py").write_text("from ..layers import size\n")
    before = EXPORTER.fingerprint(users("user_zoo.nets:tiny"))

    (zoo / "layers.py").write_text("size = 5\n")

    assert EXPORTER.fingerprint(users("user_zoo.nets:tiny")) != before


def test_unrelated_user_files_do_not_change_the_fingerprint(workplace: Path) -> None:
    (workplace / "alone_nets.py").write_text("import math, json\n")
    before = EXPORTER.fingerprint(users("alone_nets:tiny"))

    (workplace / "unrelated.py").write_text("changed = True\n")

    assert EXPORTER.fingerprint(users("alone_nets:tiny")) == before


def test_the_fingerprint_covers_the_content_of_files_named_by_options(workplace: Path) -> None:
    (workplace / "checkpoint_nets.py").write_text("")
    weights = workplace / "weights.pth"
    weights.write_bytes(b"trained")
    before = EXPORTER.fingerprint(users("checkpoint_nets:tiny", weights="weights.pth"))

    weights.write_bytes(b"trained longer")

    assert EXPORTER.fingerprint(users("checkpoint_nets:tiny", weights="weights.pth")) != before


def test_the_fingerprint_covers_the_content_of_folders_named_by_options(workplace: Path) -> None:
    (workplace / "folder_nets.py").write_text("")
    weights = workplace / "checkpoint" / "shards" / "0.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"trained")
    before = EXPORTER.fingerprint(users("folder_nets:tiny", weights="checkpoint"))

    weights.write_bytes(b"trained longer")

    assert EXPORTER.fingerprint(users("folder_nets:tiny", weights="checkpoint")) != before


def test_the_fingerprint_covers_only_version_and_file_of_an_installed_module() -> None:
    assert EXPORTER.fingerprint(users("pydantic.fields:Field"))["definition_version"] == metadata.version("pydantic")
    assert set(provenance.user_sources("pydantic.fields")) == {"pydantic.fields"}


@pytest.mark.parametrize(
    "export",
    [
        Export(definition="no_such_model", recipe="no_such_recipe"),
        Export(definition="mlp", recipe="no_such_lowering:lower"),
        users("broken_models:tiny"),
    ],
)
def test_a_check_says_what_the_fingerprint_would_say(workplace: Path, export: Export) -> None:
    (workplace / "broken_models.py").write_text("def tiny(:\n")
    with pytest.raises(ExportFailed) as told:
        EXPORTER.fingerprint(export)
    with pytest.raises(ExportFailed) as checked:
        EXPORTER.check(export)

    assert (checked.value.message, checked.value.hint) == (told.value.message, told.value.hint)


def test_a_check_reads_no_checkpoint(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workplace / "weighed_nets.py").write_text("")
    (workplace / "weights.pth").write_bytes(b"gigabytes")
    monkeypatch.setattr("frameworks.exporting.exporter.sha256_of_file", pytest.fail)

    EXPORTER.check(users("weighed_nets:tiny", weights="weights.pth"))


@pytest.mark.parametrize("module", ["no_such_nets", "no_such_package.nets", "json.no_such_part", "math", "__main__"])
def test_a_module_without_source_is_rejected(workplace: Path, module: str) -> None:
    with pytest.raises(ExportFailed, match="no Python module") as failure:
        EXPORTER.fingerprint(users(f"{module}:tiny"))

    assert "PYTHONPATH" in (failure.value.hint or "")


def test_a_module_with_a_syntax_error_is_rejected(workplace: Path) -> None:
    (workplace / "broken_nets.py").write_text("def tiny(:\n")

    with pytest.raises(ExportFailed, match=r"cannot read .*broken_nets\.py"):
        EXPORTER.fingerprint(users("broken_nets:tiny"))


def test_circular_imports_are_followed_once(workplace: Path) -> None:
    (workplace / "cycle_a.py").write_text("import cycle_b\n")
    (workplace / "cycle_b.py").write_text("import cycle_a\n")

    assert set(provenance.user_sources("cycle_a")) == {"cycle_a", "cycle_b"}


RECIPE = """
from frameworks.executorch.recipes import xnnpack_q8
from .partition import partitioners

def lower(module, example_inputs, calibration): ...
"""


@pytest.fixture
def recipes(workplace: Path) -> Path:
    """A package with a recipe that builds on a module beside it and on a recipe of ours."""
    folder = workplace / "acme_lowering"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "fast.py").write_text(RECIPE)
    (folder / "partition.py").write_text("partitioners = []\n")
    return folder


def test_the_fingerprint_of_a_user_recipe_covers_its_imports(recipes: Path) -> None:
    export = Export(definition="mlp", recipe="acme_lowering.fast:lower")
    before = EXPORTER.fingerprint(export)
    assert before["recipe_version"] == "none"
    assert before["recipe"] != EXPORTER.fingerprint(Export(definition="mlp", recipe="portable"))["recipe"]

    (recipes / "partition.py").write_text("partitioners = [1]\n")

    after = EXPORTER.fingerprint(export)
    assert {name for name in before if before[name] != after[name]} == {"recipe"}


@pytest.mark.usefixtures("recipes")
def test_the_fingerprint_of_a_user_recipe_covers_imported_built_in_modules() -> None:
    names = provenance.sources("acme_lowering.fast")

    assert {"acme_lowering", "acme_lowering.fast", "acme_lowering.partition"} <= names.keys()
    assert {f"{PACKAGE}.recipes.xnnpack_q8", f"{PACKAGE}.recipes._quantisation"} <= names.keys()
    assert f"{PACKAGE}.recipes.portable" not in names


def test_the_fingerprint_of_a_recipe_by_entry_point_covers_its_distribution_version(
    recipes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = recipes.parent / "acme_bench-2.5.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-bench\nVersion: 2.5\n")
    (information / "entry_points.txt").write_text(
        "[edge_harness.executorch.recipes]\nfast = acme_lowering.fast:lower\n"
    )
    monkeypatch.syspath_prepend(str(recipes.parent))

    by_name, by_function = (
        EXPORTER.fingerprint(Export(definition="mlp", recipe=recipe)) for recipe in ("fast", "acme_lowering.fast:lower")
    )

    assert by_name["recipe_version"] == "2.5"
    assert by_name["recipe"] == by_function["recipe"]
