"""The committed schemas, and that pydantic and JSON Schema agree about documents."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as Unfit
from pydantic import ValidationError

from harness.core.errors import SpecificationError
from harness.core.result import Outcome, Result
from harness.specification import file_format, schema
from harness.specification.file_format import Specification
from harness.specification.load import load
from harness.specification.misspellings import misspelling_pattern
from harness.specification.sections import keys_of

SPECIFICATIONS = Path(__file__).parents[2] / "specifications"
SHIPPED = sorted(SPECIFICATIONS.glob("models/*.json")) + sorted(SPECIFICATIONS.glob("benchmarks/*.json"))
FAI_PEP = sorted((Path(__file__).parent / "examples" / "faipep").glob("**/*.json"))
VALIDATOR = Draft202012Validator(schema.specification_schema())

EDITOR = Draft202012Validator(schema.editor_schema())

EXAMPLES = [
    json.loads((Path(__file__).parent / "examples" / "faipep_style.json").read_text()),
    json.loads((SPECIFICATIONS / "models" / "mv2.json").read_text()),
    json.loads((SPECIFICATIONS / "models" / "sort.json").read_text()),
]


def test_the_committed_schemas_are_current() -> None:
    assert schema.main(["--check"]) == 0


def test_a_stale_schema_is_detected_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema, "schema_folder", lambda: tmp_path / "schema")
    assert schema.main(["--check"]) == 1
    assert "specification.schema.json is not current" in capsys.readouterr().err
    assert schema.main([]) == 0
    assert schema.main(["--check"]) == 0


@pytest.mark.parametrize("text", schema.current_schema().values(), ids=schema.current_schema().keys())
def test_the_schemas_are_schemas_without_null_defaults(text: str) -> None:
    Draft202012Validator.check_schema(json.loads(text))
    assert '"default": null' not in json.dumps(json.loads(text)["$defs"].get("Test", {}))


def test_every_key_of_the_format_is_described() -> None:
    definitions: dict[str, Any] = schema.specification_schema()["$defs"]  # type: ignore[assignment]
    undescribed = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, value in definition.get("properties", {}).items()
        if not value.get("description")
    ]
    assert undescribed == []


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_shipped_specifications_load_and_fit_the_schema(file: Path) -> None:
    assert load([file]).benchmarks
    assert list(VALIDATOR.iter_errors(json.loads(file.read_text()))) == []
    assert list(EDITOR.iter_errors(json.loads(file.read_text()))) == []


@pytest.mark.parametrize("file", FAI_PEP, ids=lambda file: file.name)
def test_no_key_of_fai_pep_is_taken_for_a_misspelt_one(file: Path) -> None:
    document = json.loads(file.read_text())
    assert len(list(EDITOR.iter_errors(document))) == len(list(VALIDATOR.iter_errors(document)))


@pytest.mark.parametrize(
    "key", ["iterr", "ietr", "itr", "iteer", "thread_s", "thrwads", "time_limits", "comands", "wamup"]
)
def test_a_misspelt_key_of_a_test_is_an_error_in_an_editor(key: str) -> None:
    document = copy.deepcopy(EXAMPLES[2])
    document["tests"][0][key] = 3
    assert list(VALIDATOR.iter_errors(document)) == []
    (error,) = EDITOR.iter_errors(document)
    assert list(error.absolute_path) == ["tests", 0, key]
    assert error.schema["errorMessage"].startswith("Unknown key: did you mean `")


@pytest.mark.parametrize(
    ("demanded", "change"),
    [
        ("'identifier' is a required property", lambda test: test.pop("identifier")),
        ("'ab' does not match", lambda test: test["files"]["x"].update(md5="ab")),
        ("is not valid under any of the given schemas", lambda test: test["files"]["x"].pop("location")),
        ("is valid under each of", lambda test: test["files"]["x"].update(export={"model": "add"})),
    ],
)
def test_what_loading_demands_is_an_error_in_an_editor(
    demanded: str, change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    document = copy.deepcopy(EXAMPLES[2])
    document["tests"] = document["tests"][:1]
    document["tests"][0]["files"] = {"x": {"filename": "x", "location": "x", "md5": "0" * 32}}
    assert list(EDITOR.iter_errors(document)) == []
    (tmp_path / "spec.json").write_text(json.dumps(document))
    assert load([tmp_path / "spec.json"]).benchmarks
    change(document["tests"][0])
    (error,) = EDITOR.iter_errors(document)
    assert any(demanded in cause.message for cause in _causes(error))
    (tmp_path / "spec.json").write_text(json.dumps(document))
    with pytest.raises(SpecificationError):
        load([tmp_path / "spec.json"])


def _causes(error: Unfit) -> Iterator[Unfit]:
    yield error
    for cause in error.context or ():
        yield from _causes(cause)


@pytest.mark.parametrize("metric", ["generic", ["generic", "cpu"]])
def test_a_generic_test_needs_no_identifier(metric: str | list[str]) -> None:
    document = copy.deepcopy(EXAMPLES[2])
    document["tests"][0]["metric"] = metric
    del document["tests"][0]["identifier"]
    assert list(EDITOR.iter_errors(document)) == []


@pytest.mark.parametrize("md5", ["", "directory", "{md5}", "<ID>", "A" * 32])
def test_texts_that_loading_takes_are_none(md5: str) -> None:
    document = copy.deepcopy(EXAMPLES[2])
    document["tests"][0]["files"] = {"x": {"filename": "x", "location": "x", "md5": md5}}
    assert list(EDITOR.iter_errors(document)) == []


@pytest.mark.parametrize("key", ["item", "file", "input", "size", "command", "x", "batch", "iters", "rows"])
def test_keys_of_ones_own_are_none(key: str) -> None:
    document = copy.deepcopy(EXAMPLES[2])
    document["tests"][0].pop("commands", None)
    document["tests"][0][key] = "3"
    assert list(EDITOR.iter_errors(document)) == []


def test_no_known_key_is_taken_for_a_misspelt_one() -> None:
    for section in (file_format.ModelSection, file_format.Test, file_format.Matrix):
        keys = keys_of(section)
        patterns = [pattern for key in keys if (pattern := misspelling_pattern(key, keys)) is not None]
        assert patterns
        assert not [(key, pattern) for key in keys for pattern in patterns if re.search(pattern, key)]


def test_each_schema_has_an_identity_of_its_own() -> None:
    identities = [json.loads(text)["$id"] for text in schema.current_schema().values()]
    assert len(set(identities)) == len(identities)
    assert all(identity.startswith("urn:edge-harness:schema:") for identity in identities)


def test_the_shipped_list_names_every_executorch_model() -> None:
    titles = {benchmark.model.name for benchmark in load([SPECIFICATIONS / "benchmarks" / "all.json"]).benchmarks}
    assert titles == {"add", "digits", "mlp", "mv2", "mv3_small", "mv3_large", "resnet18", "resnet50", "tiny_llama"}
    assert {benchmark.model.group for benchmark in load([SPECIFICATIONS / "benchmarks" / "all.json"]).benchmarks} == {
        "all"
    }


def test_mobilenet_is_measured_as_documented() -> None:
    benchmarks = load([SPECIFICATIONS / "models" / "mv2.json"]).benchmarks
    assert [benchmark.identifier for benchmark in benchmarks] == [
        "mv2-portable-t1",
        "mv2-xnnpack_fp32-t1",
        "mv2-xnnpack_fp32-t2",
        "mv2-xnnpack_q8-t1",
        "mv2-xnnpack_q8-t2",
    ]
    benchmark = benchmarks[-1]
    assert (
        benchmark.warmup,
        benchmark.iterations,
        benchmark.min_iterations,
        benchmark.time_limit_s,
        benchmark.launches,
    ) == (10, 50, 3, 20.0, 5)
    assert benchmark.files[0].filename == "mv2_xnnpack_q8.pte"
    assert benchmark.files[0].export is not None
    assert (benchmark.files[0].export.definition, benchmark.files[0].export.recipe) == ("mv2", "xnnpack_q8")


def test_a_written_result_fits_its_schema() -> None:
    result = Result(
        harness_version="1", uid="u", started=1.0, finished=2.0, outcome=Outcome.FAILED,
        benchmark={"model": "m", "identifier": "i", "id": 0, "metric": "d", "framework": "f",
                   "specification": "s", "digest": "d"},
    )  # fmt: skip
    validator = Draft202012Validator(schema.result_schema())
    assert list(validator.iter_errors(json.loads(result.model_dump_json()))) == []
    assert list(validator.iter_errors({}))


JUNK: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2).filter(lambda number: not number.is_integer())
    | st.sampled_from(["", "x", "{ID}", "{iter}", "true"]) | st.lists(st.integers(0, 2), max_size=2)
    | st.dictionaries(st.sampled_from(["filename", "shape", "name", "x"]), st.integers(0, 2), max_size=2)
)  # fmt: skip


def paths(value: object, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, item in items for path in paths(item, (*here, key)))]


@st.composite
def mutants(draw: st.DrawFn) -> object:
    """A good document with one to three parts replaced, removed or added."""
    document = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([path for path in paths(document) if path]))
        around = document
        for step in path[:-1]:
            around = around[step]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del around[path[-1]]
        elif action == "add" and isinstance(around, dict):
            around[draw(st.sampled_from(["iters", "location", "matrix", "threads", "inputs", "z"]))] = draw(JUNK)
        else:
            around[path[-1]] = draw(JUNK)
    return document


@pytest.mark.slow
@given(mutants())
def test_pydantic_and_the_schema_accept_the_same_documents(document: object) -> None:
    try:
        Specification.model_validate(document)
    except ValidationError:
        accepted = False
    else:
        accepted = True
    if isinstance(document, dict) and "benchmarks" not in document:
        assert accepted == (not list(VALIDATOR.iter_errors(document)))


@pytest.mark.slow
@given(mutants())
def test_a_damaged_specification_loads_or_is_explained(
    tmp_path_factory: pytest.TempPathFactory, document: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "mutant.json"
    file.write_text(json.dumps(document, indent=1))
    lines = len(file.read_text().splitlines())
    try:
        load([file])
    except SpecificationError as error:
        for problem in error.problems:
            assert problem.message
            assert problem.line is not None
            assert 1 <= problem.line <= lines
            assert "not valid under any of the given schemas" not in problem.message


SECTIONS = st.sampled_from(["model", "tests", "benchmarks", "meta", "name", "metric", "matrix"])
DOCUMENTS = st.recursive(JUNK, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SECTIONS, inner, max_size=4))


@pytest.mark.slow
@given(DOCUMENTS)
def test_any_json_value_loads_or_is_explained(tmp_path_factory: pytest.TempPathFactory, document: object) -> None:
    file = tmp_path_factory.getbasetemp() / "any.json"
    file.write_text(json.dumps(document))
    with pytest.raises(SpecificationError):
        load([file])


@given(st.text(), st.sampled_from(["json", "yaml"]))
def test_any_text_loads_or_is_explained(tmp_path_factory: pytest.TempPathFactory, text: str, suffix: str) -> None:
    file = tmp_path_factory.getbasetemp() / f"any.{suffix}"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SpecificationError):
        load([file])
