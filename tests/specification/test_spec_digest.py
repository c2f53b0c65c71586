"""Which changes make another benchmark of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.specification.load import LoadOptions, load

Expand = Callable[..., Sequence[Benchmark]]
Members = dict[str, JsonValue]

MODEL: Members = {"files": {"x": {"filename": "x", "location": "x"}}}
TEST: Members = {"identifier": "i", "command": "{program} {files.x} {size}", "size": 1}


@pytest.mark.parametrize(
    ("model", "test"),
    [
        ({"description": "d", "group": "g", "category": "c", "kind": "k"}, {}),
        ({"timeout": 5, "cooldown": 5}, {"timeout": 6}),
        ({}, {"log_output": True, "statistics": ["p99"]}),
    ],
)
def test_settings_without_effect_on_the_measurement_keep_the_digest(
    expand: Expand, model: Members, test: Members
) -> None:
    plain = expand(MODEL, TEST)[0].digest
    assert expand({**MODEL, **model}, {**TEST, **test})[0].digest == plain


@pytest.mark.parametrize(
    ("model", "test"),
    [
        ({"name": "n"}, {}),
        ({"repeat": 2}, {}),
        ({"command_args": "--x"}, {}),
        ({"files": {"x": {"filename": "x", "location": "y"}}}, {}),
        ({"files": {"x": {"filename": "x", "location": "x", "md5": "0" * 32}}}, {}),
        ({}, {"size": 2}),
        ({}, {"iter": 5}),
        ({}, {"threads": 2}),
        ({}, {"env": {"A": "1"}}),
        ({}, {"identifier": "j"}),
        ({}, {"cpu-list": 1}),
    ],
)
def test_settings_with_effect_on_the_measurement_change_the_digest(
    expand: Expand, model: Members, test: Members
) -> None:
    plain = expand(MODEL, TEST)[0].digest
    assert expand({**MODEL, **model}, {**TEST, **test})[0].digest != plain


def test_the_path_of_a_specification_does_not_change_the_digest(tmp_path: Path, expand: Expand) -> None:
    here = expand(MODEL, TEST)[0]
    elsewhere = tmp_path / "elsewhere" / "other.json"
    elsewhere.parent.mkdir()
    elsewhere.write_text(json.dumps(json.loads((tmp_path / "spec.json").read_text())))
    there = load([elsewhere]).benchmarks[0]
    assert there.files[0].location != here.files[0].location
    assert there.digest == here.digest


def test_the_number_of_a_test_changes_the_digest_only_where_used(expand: Expand) -> None:
    plain, numbered = expand(MODEL, TEST)[0], expand(MODEL, {**TEST, "identifier": "{ID}"})[0]
    _, later = expand(MODEL, {"identifier": "other"}, TEST)
    _, renumbered = expand(MODEL, {"identifier": "other"}, {**TEST, "identifier": "{ID}"})
    assert later.digest == plain.digest
    assert renumbered.digest != numbered.digest


def test_a_given_value_changes_the_digest_only_where_used(expand: Expand) -> None:
    def digest(**string_map: str) -> str:
        return expand(MODEL, {**TEST, "command": "{a} {size}"}, options=LoadOptions(string_map=string_map))[0].digest

    assert digest(a="{b}", b="1") == digest(a="{b}", b="1", unused="2")
    assert digest(a="{b}", b="1") != digest(a="{b}", b="2")


def test_expanded_benchmarks_have_different_digests(expand: Expand) -> None:
    benchmarks = expand({}, {"matrix": {"a": [1, 2]}, "inputs": {"x": {"shapes": [[1], [2]]}}})
    assert len({benchmark.digest for benchmark in benchmarks}) == 4


def test_an_app_has_tests_or_an_activity_and_those_without_tests_keep_their_digest(expand: Expand) -> None:
    tests = expand({**MODEL, "app": {"package": "org.p.Benchmark", "tests": "Tests.xctest"}}, TEST)[0]
    assert tests.app == App(package="org.p.Benchmark", tests="Tests.xctest")
    activity = expand({**MODEL, "app": {"package": "org.p", "activity": ".Main"}}, TEST)[0]
    assert activity.app is not None
    assert activity.app.model_dump() == {"package": "org.p", "activity": ".Main", "result": ""}
    result = expand({**MODEL, "app": {"package": "org.p", "result": "Documents/r.json"}}, TEST)[0]
    assert result.app == App(package="org.p", result="Documents/r.json")
