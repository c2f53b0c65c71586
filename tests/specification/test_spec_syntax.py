"""JSON and YAML: places, mistakes, and that both mean the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from harness.core.errors import SpecificationError
from harness.specification.document import Problems, SpecificationDocument, join
from harness.specification.json_syntax import read_json
from harness.specification.load import load
from harness.specification.yaml_syntax import read_yaml

Write = Callable[..., Path]
FILE = Path("x.json")

KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=5)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


def json_of(text: str) -> tuple[SpecificationDocument | None, Problems]:
    problems = Problems()
    return read_json(FILE, text, problems), problems


def yaml_of(text: str) -> tuple[SpecificationDocument | None, Problems]:
    problems = Problems()
    return read_yaml(FILE, text, problems), problems


def lines_of(value: object, pointer: str = "") -> dict[str, int]:
    """Independent of the scanner: one value per line, counted while writing."""
    lines: dict[str, int] = {}
    count = 1

    def walk(part: object, here: str) -> None:
        nonlocal count
        lines[here] = count
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else None
        if items is None or not part:
            return
        for key, item in items:
            count += 1
            walk(item, join(here, key))
        count += 1

    walk(value, pointer)
    return lines


@given(VALUES)
def test_every_part_of_a_json_document_has_its_line(value: object) -> None:
    document, problems = json_of(json.dumps(value, indent=1))
    assert not len(problems)
    assert document is not None
    assert document.value == value
    assert {pointer: place.line for pointer, place in document.places.items()} == lines_of(value)
    assert all(place.pointer == pointer for pointer, place in document.places.items())


@given(VALUES)
def test_lines_do_not_depend_on_how_json_is_spaced(value: object) -> None:
    document, _ = json_of(json.dumps(value, separators=(",", ":")))
    assert document is not None
    assert {place.line for place in document.places.values()} == {1}
    assert set(document.places) == set(lines_of(value))


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ('{\n  "a": 1,\n}', (3, 2), "line", "remove the comma"),
        ("[1,\n 2,\n]", (3, 2), "line", "remove the comma"),
        ('{\n  // note\n  "a": 1\n}', (2,), "column 3", "JSON has no comments"),
        ('{\n  "a": 1 # note\n}', (2,), "column 10", "JSON has no comments"),
        ("{\n  'a': 1\n}", (2,), "column 3", "double quotes"),
        ('{\n  "a": True\n}', (2,), "column 8", "true or false"),
        ('{\n  "a": 1\n  "b": 2\n}', (3,), "column 3", "a comma or a closing bracket is missing"),
        ('{\n  "a": ', (2,), "not valid JSON", None),
        ("", (1,), "not valid JSON", "the file is empty"),
        ("\n\n", (3, 1), "not valid JSON", "the file is empty"),
        ('{"a": NaN}', (1,), "NaN is not a finite number", None),
        ('{"a":\n [1e999]}', (2,), "1e999 is not a finite number", None),
        ('{"a": "\\ud800"}', (1,), "half of a surrogate pair", "write the character"),
        ("[" * 100_000, (1,), "nested too deeply", None),
        ("9" * 5000, (1,), "a number has too many digits", None),
    ],
)
def test_json_mistakes_are_explained(text: str, line: tuple[int, ...], message: str, hint: str | None) -> None:
    document, problems = json_of(text)
    assert document is None
    (problem,) = problems.sort_problems()
    assert problem.line in line
    assert message in problem.message
    assert (problem.hint is None) if hint is None else (hint in (problem.hint or ""))


def test_a_json_mistake_is_shown_with_a_caret() -> None:
    _, problems = json_of('{\n  "name": mv2\n}')
    (problem,) = problems.sort_problems()
    assert problem.message == (
        'not valid JSON: expecting value (line 2, column 11)\n        "name": mv2\n                ^'
    )
    _, problems = json_of("")
    (problem,) = problems.sort_problems()
    assert problem.message == "not valid JSON: expecting value (line 1, column 1)"


def test_a_caret_marks_its_column_in_a_long_line() -> None:
    _, problems = json_of('{"a": "' + "x" * 500 + '" oops}')
    message = problems.sort_problems()[0].message.splitlines()
    assert message[1][message[2].index("^")] == "o"
    assert len(message[1]) < 100


def test_a_duplicate_key_names_both_lines_and_hides_nothing_else(write: Write) -> None:
    text = '{\n "model": {\n  "name": "a",\n  "name": "b",\n  "format": "f"\n },\n "tests": [{"metric": "x"}]\n}'
    with pytest.raises(SpecificationError) as caught:
        load([write(text)])
    duplicate, *remaining = caught.value.problems
    assert (duplicate.line, duplicate.pointer) == (4, "/model/name")
    assert duplicate.message == "key `name` is given twice (first on line 3)"
    assert [problem.pointer for problem in remaining] == ["/tests/0", "/tests/0"]


def test_pointers_are_escaped() -> None:
    document, _ = json_of('{"a/b": {"~": 1}}')
    assert document is not None
    assert list(document.places) == ["", "/a~1b", "/a~1b/~0"]


@given(VALUES)
@example({"<<": None})
def test_a_yaml_document_means_what_its_json_means(value: object) -> None:
    document, problems = yaml_of(json.dumps(value, indent=1))
    assert not len(problems)
    assert document is not None
    assert document.value == value
    assert {pointer: place.line for pointer, place in document.places.items()} == lines_of(value)


@given(VALUES)
def test_block_style_yaml_gives_the_same_pointers(value: object) -> None:
    assume(not re.search(r"\d[eE]\+?\d{3}", json.dumps(value)))  # as plain words those are numbers that are too large
    document, problems = yaml_of(yaml.safe_dump(value, allow_unicode=True))
    assert document is not None, [str(problem) for problem in problems.sort_problems()]
    assert set(document.places) == set(lines_of(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: on", {"a": "on"}),
        ("a: 1:30", {"a": "1:30"}),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: '5'", {"a": "5"}),
        ("a: 5", {"a": 5}),
        ("a: -1.5e3", {"a": -1500.0}),
        ("a: true", {"a": True}),
        ("a:", {"a": None}),
        ("1: x", {"1": "x"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
    ],
)
def test_yaml_values_keep_their_intended_types(text: str, value: object) -> None:
    document, problems = yaml_of(text)
    assert not len(problems)
    assert document is not None
    assert document.value == value


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: [1\nb: 2", 2, "not valid YAML"),
        ("a: 1\n  b: 2", 2, "not valid YAML"),
        ("a: !!python/object:os.system x", 1, "YAML tag `tag:yaml.org,2002:python/object:os.system` is not supported"),
        ("a: 1\nb: !!binary aGk=", 2, "YAML tag"),
        ("a: &x\n  b: *x", 2, "an alias refers to something that contains it"),
        ("? [a]\n: 1", 1, "a key must be plain text"),
        ("a: 1e999", 1, "too large for a number"),
        ("", 1, "the file is empty"),
        ("# nothing", 1, "the file is empty"),
        ("a: 1\n---\nb: 2", 2, "expected a single document"),
        ("a: \x00", 1, "not valid YAML"),
        ('a: "\\ud800"', 1, "half of a surrogate pair"),
        ("[" * 5000, 1, "nested too deeply"),
        (
            "a0: &a0 [x]\n" + "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)),
            1,
            "aliases expand to more than",
        ),
    ],
)
def test_yaml_mistakes_are_explained(text: str, line: int, message: str) -> None:
    document, problems = yaml_of(text)
    assert document is None
    assert [problem.line for problem in problems.sort_problems()] == [line]
    assert message in problems.sort_problems()[0].message


def test_duplicate_and_merge_keys_of_yaml_are_problems() -> None:
    _, problems = yaml_of("a: 1\nb: 2\na: 3\n<<: 4")
    assert [(problem.line, problem.message) for problem in problems.sort_problems()] == [
        (3, "key `a` is given twice (first on line 1)"),
        (4, "merge keys (`<<`) are not supported"),
    ]


@pytest.mark.parametrize("suffix", ["yaml", "yml", "YAML"])
def test_json_and_yaml_of_one_specification_expand_equally(write: Write, suffix: str) -> None:
    value = json.loads((Path(__file__).parents[2] / "specifications" / "models" / "mv2.json").read_text())
    first = load([write(value, "spec.json")]).benchmarks
    second = load([write(yaml.safe_dump(value, sort_keys=False), f"spec.{suffix}")]).benchmarks
    assert [benchmark.digest for benchmark in first] == [one.digest for one in second]
    assert [benchmark.title for benchmark in first] == [one.title for one in second]


@pytest.mark.parametrize("levels", [65, 500, 980, 1200, 100_000])
@pytest.mark.parametrize("name", ["deep.json", "deep.yaml"])
def test_a_document_with_too_many_levels_is_a_problem(levels: int, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("[" * levels + "]" * levels)
    with pytest.raises(SpecificationError, match="nested too deeply"):
        load([tmp_path / name])


@pytest.mark.parametrize("place", ["/dev/zero", "pipe"])
def test_a_specification_is_a_regular_file(place: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecificationError, match="not a regular file") as caught:
        load([tmp_path / place])
    (problem,) = caught.value.problems
    assert problem.hint != f"did you mean {tmp_path / place}?", "the file itself is not what was meant instead"
