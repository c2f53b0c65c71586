"""What placeholders stand for, and where files are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.core.benchmark import Benchmark, SpecificationPlace
from harness.core.placeholders import find_placeholders, substitute
from harness.specification.document import Findings, Problems, SpecificationDocument
from harness.specification.files import filename_fault
from harness.specification.load import LoadOptions
from harness.specification.scope import PlaceholderScope

Expand = Callable[..., Sequence[Benchmark]]


def test_placeholders_resolve_from_string_map_axis_test_and_model_in_order(expand: Expand) -> None:
    keys = {"a": "model", "b": "model", "c": "model", "d": "model"}
    test = {"b": "test", "c": "test", "command": "{a} {b} {c} {d}", "matrix": {"e": ["axis"]}}
    (benchmark,) = expand(keys, test, options=LoadOptions(string_map={"c": "map", "n": 2}))
    assert {name: benchmark.variables[name] for name in "abcden"} == {
        "a": "model", "b": "test", "c": "map", "d": "model", "e": "axis", "n": "2",
    }  # fmt: skip


def test_variables_contain_every_placeholder_of_a_command(expand: Expand) -> None:
    test = {
        "identifier": "x-{ID}",
        "iter": 5,
        "threads": 2,
        "inputs": {"data": {"shape": [1, 3, 4]}},
        "command": "{name} {format} {metric} {identifier} {iter} {warmup} {repeat} {threads} {inputs.data.shape} {ID}",
    }
    (benchmark,) = expand({}, test)
    assert substitute(benchmark.commands[0], benchmark.variables) == "m f delay x-0 5 -1 1 2 1,3,4 0"


def test_both_spellings_of_the_number_are_replaced(expand: Expand) -> None:
    first, second = expand({}, {"identifier": "a{ID}"}, {"identifier": "b<ID>", "metric": "generic"})
    assert (first.identifier, second.identifier) == ("a0", "b1")


def test_literal_braces_are_kept(expand: Expand) -> None:
    (benchmark,) = expand({}, {"identifier": "{{x}}", "command": 'echo {{x}} {"a": 1}'})
    assert benchmark.identifier == "{x}"
    assert substitute(benchmark.commands[0], benchmark.variables) == 'echo {x} {"a": 1}'


def test_every_kind_of_file_has_its_placeholder(expand: Expand) -> None:
    def file(name: str) -> Mapping[str, str]:
        return {"filename": name, "location": name}

    names = (
        "files.a", "files.b.0", "files.b.1", "files.t", "libraries.0", "input_files.i",
        "output_files.o", "preprocess.files.p", "postprocess.files.q",
    )  # fmt: skip
    (benchmark,) = expand(
        {"files": {"a": file("a"), "b": [file("b0"), file("b1")]}, "libraries": [file("l")]},
        {
            "files": {"t": file("t")},
            "input_files": {"i": file("i")},
            "output_files": {"o": {"filename": "o", "location": "{TGTDIR}/o"}},
            "preprocess": {"files": {"p": file("p")}, "command": "{preprocess.files.p}"},
            "postprocess": {"files": {"q": file("q")}, "command": "{postprocess.files.q}"},
            "command": " ".join(f"{{{name}}}" for name in names),
        },
    )
    assert {*names} - {"output_files.o"} == {file.key for file in benchmark.required_files()}


def file(name: str) -> Mapping[str, str]:
    return {"filename": name, "location": name}


def made(name: str, location: str) -> Mapping[str, str]:
    return {"filename": name, "location": location}


@pytest.mark.parametrize("section", ["input_files", "files", "output_files"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_name_of_a_list_expands_to_all_files(expand: Expand, section: str, count: int) -> None:
    entries = [made(f"x{number}", f"{{HOSTDIR}}/x{number}") for number in range(count)]
    (benchmark,) = expand({}, {section: {"x": entries}, "command": f"run {{{section}.x}} end"})
    paths = {f"{section}.x.{number}": f"/t/{number}" for number in range(count)}
    words = substitute(benchmark.commands[0], {**benchmark.variables, **paths}).split()
    assert words == ["run", *paths.values(), "end"]
    keys = [
        *(entry.key for entry in (*benchmark.files, *benchmark.input_files)),
        *(entry.key for entry in benchmark.output_files),
    ]
    assert keys == list(paths)


def test_the_name_of_a_list_in_a_step_expands_to_all_files(expand: Expand) -> None:
    step = {"files": {"p": [file("a"), file("b")]}, "command": "{preprocess.files.p}"}
    (benchmark,) = expand({}, {"preprocess": step})
    assert benchmark.variables["preprocess.files.p"] == "{preprocess.files.p.0} {preprocess.files.p.1}"


@pytest.mark.parametrize(
    ("models", "tests", "meant"),
    [
        (file("a"), [file("b"), file("c")], "/b /c"),
        ([file("a"), file("b")], file("c"), "/c"),
    ],
)
def test_a_list_and_a_file_of_the_same_name_are_distinguished(
    expand: Expand, models: object, tests: object, meant: str
) -> None:
    (benchmark,) = expand({"files": {"x": models}}, {"files": {"x": tests}, "command": "{files.x}"})
    paths = {entry.key: f"/{entry.filename}" for entry in benchmark.files}
    # As it is at launch: what has been known since loading comes first.
    assert substitute(substitute(benchmark.commands[0], benchmark.variables, later=paths), paths) == meant


def test_a_file_of_the_test_overrides_that_of_the_model(expand: Expand) -> None:
    model = {"files": {"x": {"filename": "x", "location": "/model/x"}}}
    (benchmark,) = expand(model, {"files": {"x": {"filename": "x", "location": "/test/x"}}})
    assert [file.location for file in benchmark.files] == ["/test/x"]


def test_the_same_file_may_be_listed_twice(expand: Expand) -> None:
    file = {"filename": "x", "location": "x"}
    assert len(expand({"files": {"a": file, "b": file}})[0].files) == 2


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://models.example/m.pte", "https://models.example/m.pte"),
        ("http://models.example/m.pte", "http://models.example/m.pte"),
        ("/abs/m.pte", "/abs/m.pte"),
        ("file:///abs/m%20n.pte", "/abs/m n.pte"),
        ("//x/m.pte", "/root/models/x/m.pte"),
        ("sub/m.pte", "{folder}/sub/m.pte"),
        ("../m.pte", "{parent}/m.pte"),
        ("{HOSTDIR}/m.pte", "{HOSTDIR}/m.pte"),
        ("{MODEL_DIR}/m.pte", "{MODEL_DIR}/m.pte"),
        ("{where}/m-{ID}.pte", "/abs/m-0.pte"),
    ],
)
def test_locations_become_absolute(expand: Expand, tmp_path: Path, location: str, expected: str) -> None:
    model = {"where": "/abs", "description": "{where}", "files": {"x": {"filename": "m.pte", "location": location}}}
    options = LoadOptions(root_model_dir=Path("/root/models"))
    folder = tmp_path.resolve()
    (benchmark,) = expand(model, options=options)
    want = expected.replace("{folder}", str(folder)).replace("{parent}", str(folder.parent))
    assert benchmark.files[0].location == want


def test_a_model_directory_from_the_string_map_is_filled_in(expand: Expand) -> None:
    model = {"files": {"x": {"filename": "m.pte", "location": "{MODEL_DIR}/m.pte", "md5": "directory"}}}
    (benchmark,) = expand(model, options=LoadOptions(string_map={"MODEL_DIR": "/d"}))
    assert (benchmark.files[0].location, benchmark.files[0].md5) == ("/d/m.pte", "directory")


@given(st.text(max_size=12).filter(lambda name: filename_fault(name) is None))
def test_a_valid_filename_stays_below_its_folder(name: str) -> None:
    inside = Path("/cache/model") / name
    assert inside.is_relative_to("/cache/model")
    assert ".." not in inside.parts
    assert inside != Path("/cache/model")


NAMES = st.sampled_from(["a", "b", "c", "TGTDIR", "nowhere"])
TEMPLATES = st.lists(st.one_of(NAMES.map(lambda name: f"{{{name}}}"), st.sampled_from(["x", "{{a}}", "{", "}"]))).map(
    "".join
)


@given(TEMPLATES, st.dictionaries(st.sampled_from(["a", "b", "c"]), TEMPLATES | st.just("}")))
@example("{x{a}", {"a": "}"})
def test_replacing_leaves_no_unknown_placeholder_without_a_problem(template: str, values: dict[str, str]) -> None:
    problems = Problems()
    document = SpecificationDocument(Path("x.json"), {}, {"": SpecificationPlace(file=Path("x.json"), line=1)})
    scope = PlaceholderScope(values, frozenset({"TGTDIR"}), Findings(document, problems))
    text = scope.resolve_known(template, "")
    if not len(problems):
        assert set(find_placeholders(text)) <= {"TGTDIR"}
        assert "{" not in substitute(text, {"TGTDIR": ""}).replace("{a}", "").replace("{", "", text.count("{"))
