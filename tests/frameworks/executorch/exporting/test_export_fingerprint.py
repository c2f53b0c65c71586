from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from frameworks.executorch.exporting import provenance
from frameworks.executorch.exporting.exporter import fingerprint
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
    found = fingerprint(Export(definition="mlp", recipe="portable"))

    assert {"torch", "executorch", "torchao", "torchvision", "definition", "recipe", "process"} == found.keys()
    assert found["executorch"] == "1.5.1"
    assert len(found["definition"]) == 64


def test_definitions_of_one_family_differ_in_nothing_and_recipes_do() -> None:
    resnet18, resnet50, mlp, lowered = (
        fingerprint(Export(definition=definition, recipe=recipe))
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


def test_a_recipe_counts_with_the_modules_it_builds_on() -> None:
    names = provenance.own_sources(f"{PACKAGE}.recipes.xnnpack_q8_relu6", PACKAGE)

    assert {name.rpartition(".")[2] for name in names} >= {"xnnpack_q8_relu6", "xnnpack_q8", "_quantisation"}
    assert f"{PACKAGE}.recipes.portable" not in names


def test_the_process_counts_with_the_modules_it_imports_late() -> None:
    names = provenance.own_sources(f"{PACKAGE}.exporting.process", PACKAGE)

    assert {f"{PACKAGE}.exporting.program", f"{PACKAGE}.exporting.model"} <= names.keys()
    assert PACKAGE not in names


@pytest.mark.parametrize("statement", ["import torch\n", "raise RuntimeError('imported')\n"])
def test_a_users_module_is_read_and_not_imported(workplace: Path, statement: str) -> None:
    package = workplace / "unimported"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "nets.py").write_text(statement)

    assert fingerprint(users("unimported.nets:tiny"))["definition"]


def test_a_change_of_the_users_file_changes_the_fingerprint(workplace: Path) -> None:
    source = workplace / "changing_nets.py"
    source.write_text("def tiny(): ...\n")
    before = fingerprint(users("changing_nets:tiny"))
    assert fingerprint(users("changing_nets:tiny")) == before

    source.write_text("def tiny(): return 1\n")

    assert fingerprint(users("changing_nets:tiny")) != before


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
def test_a_change_of_what_the_users_file_imports_changes_the_fingerprint(workplace: Path, statement: str) -> None:
    zoo = workplace / "user_zoo"
    (zoo / "deeper").mkdir(parents=True)
    (zoo / "__init__.py").write_text("")
    (zoo / "nets.py").write_text(statement)
    (zoo / "layers.py").write_text("size = 3\n")
    (zoo / "deeper" / "__init__.py").write_text("")
    (zoo / "deeper" / "middle.py").write_text("from ..layers import size\n")
    before = fingerprint(users("user_zoo.nets:tiny"))

    (zoo / "layers.py").write_text("size = 5\n")

    assert fingerprint(users("user_zoo.nets:tiny")) != before


def test_other_files_of_the_user_do_not_matter(workplace: Path) -> None:
    (workplace / "alone_nets.py").write_text("import math, json\n")
    before = fingerprint(users("alone_nets:tiny"))

    (workplace / "unrelated.py").write_text("changed = True\n")

    assert fingerprint(users("alone_nets:tiny")) == before


def test_an_option_that_names_a_file_counts_with_its_content(workplace: Path) -> None:
    (workplace / "checkpoint_nets.py").write_text("")
    weights = workplace / "weights.pth"
    weights.write_bytes(b"trained")
    before = fingerprint(users("checkpoint_nets:tiny", weights="weights.pth"))

    weights.write_bytes(b"trained longer")

    assert fingerprint(users("checkpoint_nets:tiny", weights="weights.pth")) != before


def test_an_installed_module_counts_with_its_version_and_its_own_file_only() -> None:
    assert fingerprint(users("pydantic.fields:Field"))["definition_version"] == metadata.version("pydantic")
    assert set(provenance.user_sources("pydantic.fields")) == {"pydantic.fields"}


@pytest.mark.parametrize("module", ["no_such_nets", "no_such_package.nets", "json.no_such_part", "math", "__main__"])
def test_a_module_without_source_is_refused(workplace: Path, module: str) -> None:
    with pytest.raises(ExportFailed, match="no Python module") as failure:
        fingerprint(users(f"{module}:tiny"))

    assert "PYTHONPATH" in (failure.value.hint or "")


def test_a_module_with_a_syntax_error_is_refused(workplace: Path) -> None:
    (workplace / "broken_nets.py").write_text("def tiny(:\n")

    with pytest.raises(ExportFailed, match=r"cannot read .*broken_nets\.py"):
        fingerprint(users("broken_nets:tiny"))


def test_modules_that_import_each_other_are_followed_to_an_end(workplace: Path) -> None:
    (workplace / "cycle_a.py").write_text("import cycle_b\n")
    (workplace / "cycle_b.py").write_text("import cycle_a\n")

    assert set(provenance.user_sources("cycle_a")) == {"cycle_a", "cycle_b"}
