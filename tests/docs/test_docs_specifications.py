"""The page about specifications says what the loader does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from frameworks.observations.observer import parse_lines
from harness import plugins
from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.core.placeholders import find_placeholders
from harness.core.scenario import SCENARIO
from harness.specification import check, file_format, scope, sections
from harness.specification.files import DTYPES
from harness.specification.load import FLAGS_WITHOUT_OPTION, LoadOptions, load
from harness.specification.load_options import STATISTICS
from harness.specification.sections import Section, keys_of
from tests.docs.pages import ROOT, Block, blocks, codes, tables

PAGE = "specifications.md"
OPTIONS = LoadOptions(root_model_dir=Path("/models"))
KEYS = tables(PAGE, "keys")
SECTIONS = {
    name: section
    for name, section in {**vars(sections), **vars(file_format)}.items()
    if isinstance(section, type) and issubclass(section, Section) and section is not Section
}
"""Every part of a document."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where shipped specifications are, so that examples may name files beside them."""
    shutil.copytree(ROOT / "specifications", tmp_path / "specifications")
    return tmp_path / "specifications" / "models"


def loaded(block: Block, folder: Path) -> Sequence[Benchmark]:
    """The benchmarks of a block, completed to a whole specification where it is a part of one."""
    file = folder / f"example.{block.language}"
    file.write_text(block.text if block.label in ("specification", "list") else json.dumps(whole(block)))
    return load([file], OPTIONS).benchmarks


def whole(block: Block) -> dict[str, Any]:
    model: dict[str, Any] = {"name": "m", "format": "none"}
    test: dict[str, Any] = {"metric": "delay", "identifier": "t", "command": "{program}"}
    part = json.loads(block.text)
    if block.label == "model":
        return {"model": {**model, **part}, "tests": [test]}
    assert block.label == "test", f"what is the block at {block}?"
    return {"model": model, "tests": [part]}


@pytest.mark.parametrize(
    "block",
    [block for block in blocks(PAGE, "json") if not block.label.startswith(("broken", "output"))]
    + [*blocks(PAGE, "yaml")],
    ids=str,
)
def test_every_example_loads(block: Block, folder: Path) -> None:
    assert loaded(block, folder)


@pytest.mark.parametrize("block", [block for block in blocks(PAGE, "json") if block.label == "output"], ids=str)
def test_every_output_example_is_parsed(block: Block) -> None:
    observations, notes = parse_lines(block.text)
    assert notes == ()
    assert {"NET latency"} <= {observation.name for observation in observations if observation.unit == "ms"}


def test_names_of_nested_metrics_match_the_page() -> None:
    (block,) = (block for block in blocks(PAGE, "json") if block.label == "output" and "backend" in block.text)
    text = " ".join((ROOT / "docs" / PAGE).read_text().split())
    documented = codes(text.partition("The last one is ")[2].partition(".")[0])
    assert {observation.name for observation in parse_lines(block.text)[0]} == set(documented)


def test_the_flags_that_default_args_must_not_set_are_listed() -> None:
    text = (ROOT / "docs" / PAGE).read_text().partition("It may not set ")[2].partition("FAI-PEP")[0]
    protected = plugins.load_options(pytest.fail).protected_keys
    hidden = {"reporters", "q", "v", "pre_built_binary", "custom_binary", "c", "b", "benchmark_file", "reset_options"}
    assert {*codes(text)} == (protected | FLAGS_WITHOUT_OPTION) - hidden


def test_the_matrix_example_has_as_many_benchmarks_as_the_page_says(folder: Path) -> None:
    (block,) = (block for block in blocks(PAGE, "json") if '"exclude"' in block.text)
    assert len(loaded(block, folder)) == 6
    assert "That is six benchmarks: three combinations in two shapes." in (ROOT / "docs" / PAGE).read_text()


def test_problems_of_the_broken_example_match_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (broken,) = (block for block in blocks(PAGE, "json") if block.label.startswith("broken"))
    (shown,) = blocks(PAGE, "text")
    file = Path(broken.label.removeprefix("broken "))
    file.write_text(broken.text)
    with pytest.raises(SpecificationError) as caught:
        load([file])
    assert f"harness: {caught.value}\n" == shown.text


def test_every_part_of_a_document_has_a_table_of_its_keys() -> None:
    assert set(KEYS) == set(SECTIONS)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_table_has_all_keys_and_no_others(name: str) -> None:
    listed = [key for row in KEYS[name] for key in codes(row[0])]
    assert sorted(listed) == sorted(keys_of(SECTIONS[name]))


@pytest.mark.parametrize("name", SECTIONS)
def test_keys_marked_as_required_match_the_schema(name: str) -> None:
    fields = SECTIONS[name].model_fields.values()
    required = {key for key, field in zip(keys_of(SECTIONS[name]), fields, strict=True) if field.is_required()}
    called = {key for row in KEYS[name] if "required" in row[1] for key in codes(row[0])}
    assert called == required


@pytest.mark.parametrize("section", check.UNSUPPORTED, ids=lambda section: section.__name__)
def test_keys_marked_as_refused_match_the_code(section: type[Section]) -> None:
    refused = {key for row in KEYS[section.__name__] if row[2].startswith("refused") for key in codes(row[0])}
    assert refused == set(check.UNSUPPORTED[section])


def test_the_placeholders_that_the_harness_fills_in_are_listed() -> None:
    (rows,) = tables(PAGE, "placeholders").values()
    listed = {name for row in rows for code in codes(row[0]) for name in find_placeholders(code)}
    fixed = {name for name in listed if name.isupper() or name in ("program", "MODEL_DIR", *SCENARIO)}
    assert fixed == scope.BUILT_IN | {"ID"}


def test_element_types_are_listed() -> None:
    text = " ".join((ROOT / "docs" / PAGE).read_text().split())
    listed = text.partition("Element types are ")[2].partition(";")[0]
    assert set(codes(listed)) == set(DTYPES.values())


def test_statistics_are_listed(folder: Path) -> None:
    (row,) = (row for row in KEYS["Test"] if codes(row[0]) == ["statistics"])
    listed = codes(row[2])
    assert set(STATISTICS) <= set(listed)
    test = {"metric": "generic", "command": "true", "statistics": listed}
    assert loaded(Block("json", "test", json.dumps(test), 0), folder)


def test_string_map_wins_over_built_in_names(tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    test = {"metric": "generic", "command": "{FAIPEPROOT}/libraries/python/compare.py"}
    file.write_text(json.dumps({"model": {"name": "m", "format": "none"}, "tests": [test]}))
    (benchmark,) = load([file], LoadOptions(string_map={"FAIPEPROOT": "/opt/FAI-PEP"})).benchmarks
    assert benchmark.variables["FAIPEPROOT"] == "/opt/FAI-PEP"
