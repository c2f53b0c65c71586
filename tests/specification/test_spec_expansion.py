"""Tests x matrix x shapes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.benchmark import Benchmark, Input
from harness.core.metric import Direction
from harness.core.scalars import Scalar
from harness.specification.load import LoadOptions, load

Expand = Callable[..., Sequence[Benchmark]]


def test_the_last_axis_varies_fastest_and_shapes_faster_still(expand: Expand) -> None:
    test = {
        "identifier": "{backend}-{threads}-{inputs.x.shape}",
        "matrix": {"backend": ["a", "b"], "threads": [1, 2]},
        "inputs": {"x": {"shapes": [[1, 2], [3]]}},
    }
    assert [benchmark.identifier for benchmark in expand({}, test)] == [
        "a-1-1,2", "a-1-3", "a-2-1,2", "a-2-3", "b-1-1,2", "b-1-3", "b-2-1,2", "b-2-3",
    ]  # fmt: skip


def test_numbers_run_over_all_tests_of_a_specification(expand: Expand) -> None:
    benchmarks = expand({}, {"matrix": {"a": [1, 2]}}, {}, {"metric": "generic", "identifier": None})
    assert [benchmark.id for benchmark in benchmarks] == [0, 1, 2, 3]
    assert [benchmark.identifier for benchmark in benchmarks] == ["t0", "t1", "t2", "3"]


def test_exclusions_remove_matching_combinations(expand: Expand) -> None:
    matrix = {"a": [1, 2, 3], "b": ["x", "y"], "exclude": [{"a": 1, "b": "x"}, {"a": 3}]}
    benchmarks = expand({}, {"matrix": matrix})
    assert [benchmark.axes for benchmark in benchmarks] == [{"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]


def test_entries_of_include_are_combined_with_all_other_axes(expand: Expand) -> None:
    include = [{"framework": "f", "suffix": "x"}, {"framework": "g", "suffix": "y"}]
    matrix = {"threads": [1, 2], "include": include, "exclude": [{"framework": "g", "threads": 2}]}
    test = {"identifier": "{framework}.{suffix}-{threads}", "matrix": matrix}

    benchmarks = expand({"framework": "{framework}"}, test)

    assert [benchmark.identifier for benchmark in benchmarks] == ["f.x-1", "f.x-2", "g.y-1"]
    assert [benchmark.framework for benchmark in benchmarks] == ["f", "f", "g"]
    assert benchmarks[0].axes == {"framework": "f", "suffix": "x", "threads": 1}


def test_include_alone_lists_combinations(expand: Expand) -> None:
    benchmarks = expand({}, {"matrix": {"include": [{"a": 1, "b": 2}, {"a": 1, "b": 3}]}})

    assert [benchmark.axes for benchmark in benchmarks] == [{"a": 1, "b": 2}, {"a": 1, "b": 3}]


def test_true_and_one_are_different_axis_values(expand: Expand) -> None:
    benchmarks = expand({}, {"matrix": {"a": [True, 1], "exclude": [{"a": 1}]}})
    assert [benchmark.axes for benchmark in benchmarks] == [{"a": True}]


def test_an_axis_with_the_name_of_a_field_sets_the_field(expand: Expand) -> None:
    axes = {
        "threads": [3], "warmup": [4], "iter": [5], "min_iter": [6], "time_limit_s": [7.5], "repeat": [8],
        "timeout": [9], "cpu-list": ["0-1"], "OMP_NUM_THREADS": [2],
    }  # fmt: skip
    (benchmark,) = expand({"repeat": 99}, {"matrix": axes})
    assert (benchmark.threads, benchmark.warmup, benchmark.iterations, benchmark.min_iterations) == (3, 4, 5, 6)
    assert (benchmark.time_limit_s, benchmark.launches, benchmark.timeout_s, benchmark.cpus) == (7.5, 8, 9.0, (0, 1))
    assert benchmark.env == {"OMP_NUM_THREADS": "2"}
    assert (benchmark.variables["iter"], benchmark.variables["time_limit_s"], benchmark.variables["repeat"]) == (
        "5",
        "7.5",
        "8",
    )


def test_every_input_takes_the_shape_with_the_same_number(expand: Expand) -> None:
    inputs = {"x": {"shapes": [[1], [2]], "type": "uint8_t"}, "y": {"shapes": [[3], [4]]}}
    first, second = expand({}, {"inputs": inputs})
    assert first.inputs == (Input(name="x", shape=(1,), dtype="uint8"), Input(name="y", shape=(3,), dtype="float"))
    assert [model_input.shape for model_input in second.inputs] == [(2,), (4,)]


def test_a_single_shape_needs_no_second_brackets(expand: Expand) -> None:
    (benchmark,) = expand({}, {"inputs": {"x": {"shape": [1, 3]}}})
    assert benchmark.inputs[0].shape == (1, 3)


def test_an_export_takes_the_inputs_of_the_test(expand: Expand) -> None:
    model = {
        "framework": "executorch",
        "files": {"model": {"filename": "m_{r}_{ID}.pte", "export": {"definition": "mv2", "recipe": "{r}"}}},
    }
    test = {"command": None, "matrix": {"r": ["p", "q"]}, "inputs": {"x": {"shapes": [[1], [2]]}}}
    exports = [benchmark.files[0].export for benchmark in expand(model, test)]
    assert [(export.recipe, export.inputs[0].shape) for export in exports if export] == [
        ("p", (1,)), ("p", (2,)), ("q", (1,)), ("q", (2,)),
    ]  # fmt: skip


def test_an_export_with_inputs_keeps_them(expand: Expand) -> None:
    export = {
        "definition": "mv2",
        "recipe": "p",
        "inputs": {"z": {"shape": [7], "type": "long"}},
        "options": {"width": 0.5, "name": "{r}"},
        "calibration": 2,
        "seed": 3,
    }
    model = {"framework": "executorch", "files": {"model": {"filename": "m.pte", "export": export}}}
    (benchmark,) = expand(model, {"command": None, "matrix": {"r": ["p"]}, "inputs": {"x": {"shape": [1]}}})
    made = benchmark.files[0].export
    assert made is not None
    assert made.inputs == (Input(name="z", shape=(7,), dtype="int64"),)
    assert (made.options, made.calibration, made.seed) == ({"width": 0.5, "name": "p"}, 2, 3)


def test_an_export_without_any_inputs_leaves_them_to_the_definition(expand: Expand) -> None:
    model = {
        "framework": "executorch",
        "files": {"model": {"filename": "m.pte", "export": {"definition": "add", "recipe": "portable"}}},
    }
    (benchmark,) = expand(model, {"command": None})
    assert benchmark.files[0].export is not None
    assert benchmark.files[0].export.inputs == ()
    assert benchmark.commands == ()


def test_repeat_of_a_test_overrides_that_of_the_model(expand: Expand) -> None:
    assert [benchmark.launches for benchmark in expand({"repeat": 3}, {}, {"repeat": 5})] == [3, 5]
    assert expand()[0].launches == 1


def test_the_requested_framework_may_equal_that_of_the_specification(expand: Expand) -> None:
    options = LoadOptions(framework="executorch")
    assert expand({"framework": "executorch"}, {}, options=options)[0].framework == "executorch"
    assert expand({}, {}, options=options)[0].framework == "executorch"


def test_origin_names_the_test(expand: Expand, tmp_path: Path) -> None:
    origin = expand({}, {}, {})[1].origin
    assert (origin.file, origin.pointer) == (tmp_path / "spec.json", "/tests/1")
    assert (tmp_path / "spec.json").read_text().splitlines()[(origin.line or 0) - 1].strip() == "{"


@st.composite
def matrices(draw: st.DrawFn) -> tuple[dict[str, list[int]], list[dict[str, int]]]:
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1))
    axes = {name: list(range(draw(st.integers(1, 4)))) for name in names}
    partial = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in axes.items()})
    return axes, draw(st.lists(partial.filter(bool), max_size=3))


@pytest.mark.slow
@given(matrices(), st.integers(1, 3))
def test_the_number_of_benchmarks_is_remaining_combinations_times_shapes(
    matrix: tuple[dict[str, list[int]], list[dict[str, int]]], shapes: int
) -> None:
    axes, exclude = matrix
    left = math.prod(len(values) for values in axes.values())
    combinations: list[dict[str, Scalar]] = [{}]
    for name, values in axes.items():
        combinations = [{**entry, name: value} for entry in combinations for value in values]
    left -= sum(any(all(entry[k] == v for k, v in partial.items()) for partial in exclude) for entry in combinations)
    if left == 0:
        return
    document = {
        "model": {"name": "m", "format": "f"},
        "tests": [
            {
                "metric": "delay",
                "identifier": "{ID}",
                "command": "true",
                "matrix": {**axes, "exclude": exclude},
                "inputs": {"x": {"shapes": [[size + 1] for size in range(shapes)]}},
            }
        ],
    }
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        file.write_text(json.dumps(document))
        benchmarks = load([file]).benchmarks
    assert len(benchmarks) == left * shapes
    assert len({(tuple(benchmark.axes.items()), benchmark.inputs) for benchmark in benchmarks}) == left * shapes


def test_a_single_shape_applies_to_every_shape_of_another_input(expand: Expand) -> None:
    benchmarks = expand({}, {"inputs": {"x": {"shapes": [[1], [2]]}, "y": {"shape": [7]}, "z": {"shapes": [[3], [4]]}}})
    assert [[model_input.shape for model_input in benchmark.inputs] for benchmark in benchmarks] == [
        [(1,), (7,), (3,)],
        [(2,), (7,), (4,)],
    ]


def test_the_direction_of_a_metric_is_kept_and_does_not_change_the_digest(expand: Expand) -> None:
    (stated,), (silent,) = expand({}, {"direction": {"NET quality": "higher"}}), expand()
    assert stated.direction == {"NET quality": Direction.HIGHER}
    assert stated.digest == silent.digest


def test_an_axis_named_similar_to_a_field_is_allowed_when_a_command_uses_it(expand: Expand) -> None:
    assert len(expand({}, {"matrix": {"thread": [1, 2]}, "command": "{program} {thread}"})) == 2
