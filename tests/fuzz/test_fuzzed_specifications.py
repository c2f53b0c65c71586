"""Shipped specifications with edits: they are loaded, or every problem is named."""

# ruff: noqa: ANN401 - documents have any shape

from __future__ import annotations

import contextlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.config.settings import Settings
from harness.core.errors import HarnessError, SpecificationError
from harness.display.console import CleanConsole
from harness.flows.inspect import checks
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.workload import load_benchmarks
from harness.specification.load import LoadOptions, default_args, load
from tests.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, fuzzed

ROOT = Path(__file__).parents[2]
FILES = (
    *sorted((ROOT / "specifications" / "models").glob("*.json")),
    *sorted((ROOT / "specifications" / "benchmarks").glob("*.json")),
    *sorted((ROOT / "tests" / "specification" / "examples").rglob("*.json")),
)


def _documents() -> list[Any]:
    documents = []
    for file in FILES:
        try:
            documents.append(json.loads(file.read_text()))
        except ValueError:
            continue
    return documents


DOCUMENTS = _documents()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside which the lists find the shipped specifications."""
    folder = tmp_path_factory.mktemp("specifications")
    (folder / "models").symlink_to(ROOT / "specifications" / "models")
    (folder / "benchmarks").mkdir()
    return folder / "benchmarks"


def _load(file: Path) -> None:
    """Load, and look at what was loaded as `harness validate` does."""
    settings = Settings(benchmark_file=(file,))
    try:
        default_args([file], frozenset())
        loaded = load([file], LoadOptions(), partial(find_problems, settings=settings))
    except SpecificationError as error:
        str(error)  # shows every problem
        return
    with file.with_suffix(".txt").open("w", encoding="utf-8") as shown:
        console = CleanConsole(file=shown)
        checks.show_benchmarks(loaded.benchmarks, console)
        with contextlib.suppress(HarnessError):
            find_problems(loaded.benchmarks, settings)
            load_benchmarks(settings)


@fuzzed(80)
@given(st.sampled_from(DOCUMENTS), EDITS)
def test_an_edited_specification_is_loaded_or_refused(folder: Path, document: Any, edits: list[Edit]) -> None:
    file = folder / "edited.json"
    file.write_text(json.dumps(edited(document, edits)))
    _load(file)


@fuzzed(40)
@given(st.sampled_from(DOCUMENTS), EDITS, CUTS)
def test_an_edited_yaml_file_is_loaded_or_refused(
    folder: Path, document: Any, edits: list[Edit], cuts: list[Cut]
) -> None:
    file = folder / "edited.yaml"
    text = yaml.safe_dump(edited(document, edits), allow_unicode=True).encode("utf-8", "surrogatepass")
    file.write_bytes(cut(text, cuts[1:]))
    _load(file)


@fuzzed(40)
@given(st.sampled_from(DOCUMENTS), CUTS)
def test_a_damaged_file_is_loaded_or_refused(folder: Path, document: Any, cuts: list[Cut]) -> None:
    file = folder / "damaged.json"
    file.write_bytes(cut(json.dumps(document, indent=1).encode(), cuts))
    _load(file)
