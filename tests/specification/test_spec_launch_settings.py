"""Limits, environment, CPUs: who wins."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.specification.load_options import LoadOptions, parse_cpu_list, parse_cpu_mask

Expand = Callable[..., Sequence[Benchmark]]
Members = dict[str, JsonValue]


@pytest.mark.parametrize(
    ("model", "test", "option", "expected"),
    [
        ({}, {}, None, 300.0),
        ({}, {}, 7.0, 7.0),
        ({"platform_args": {"timeout": 6}}, {}, 7.0, 6.0),
        ({"timeout": 5, "platform_args": {"timeout": 6}}, {}, 7.0, 5.0),
        ({"timeout": 5}, {"platform_args": {"timeout": 4}}, 7.0, 4.0),
        ({"timeout": 5}, {"timeout": 3, "platform_args": {"timeout": 4}}, 7.0, 3.0),
    ],
)
def test_the_innermost_timeout_applies(
    expand: Expand, model: Members, test: Members, option: float | None, expected: float
) -> None:
    assert expand(model, test, options=LoadOptions(timeout_s=option))[0].timeout_s == expected


@pytest.mark.parametrize(
    ("model", "option", "expected"), [({}, None, 0.0), ({}, 2.0, 2.0), ({"cooldown": 3}, 0.0, 3.0)]
)
def test_the_cooldown_of_the_model_applies(
    expand: Expand, model: Members, option: float | None, expected: float
) -> None:
    assert expand(model, options=LoadOptions(cooldown_s=option))[0].cooldown_s == expected


def test_environments_are_layered(expand: Expand) -> None:
    names = ("A", "B", "C", "D", "E")
    (benchmark,) = expand(
        {"platform_args": {"env": dict.fromkeys(names[1:], "model")}},
        {
            "platform_args": {"env": dict.fromkeys(names[2:], "args")},
            "env": dict.fromkeys(names[3:], "test"),
            "OMP_NUM_THREADS": 4,
            "MKL_NUM_THREADS": 0,
        },
        options=LoadOptions(env=dict.fromkeys(names, "option")),
    )
    assert benchmark.env == {"A": "option", "B": "model", "C": "args", "D": "test", "E": "test", "OMP_NUM_THREADS": "4"}


def test_environment_values_are_text_with_known_placeholders_filled_in(expand: Expand) -> None:
    env = {"N": 5, "T": True, "F": 0.5, "P": "{threads}:{TGTDIR}:{{x}}", "Q": "{threads}"}
    (benchmark,) = expand({}, {"threads": 2, "env": env})
    assert benchmark.env == {"N": "5", "T": "true", "F": "0.5", "P": "2:{TGTDIR}:{{x}}", "Q": "2"}


def test_no_thread_count_is_forced_on_a_program(expand: Expand) -> None:
    assert expand()[0].env == {}
    assert expand()[0].threads is None


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({}, None),
        ({"cpu-list": 2}, (2,)),
        ({"cpu-list": 0}, ()),
        ({"cpu-list": -1}, ()),
        ({"cpu-list": "-1"}, ()),
        ({"cpu-list": "0"}, (0,)),
        ({"cpu-list": "0,3"}, (0, 3)),
        ({"cpu-list": "4-6, 1"}, (1, 4, 5, 6)),
        ({"platform_args": {"taskset": "c"}}, (2, 3)),
        ({"platform_args": {"taskset": "0x80"}}, (7,)),
        ({"platform_args": {"taskset": 80}}, (7,)),
    ],
)
def test_cpus_are_read_from_lists_and_masks(expand: Expand, test: Members, expected: tuple[int, ...] | None) -> None:
    assert expand({}, test)[0].cpus == expected


def test_the_cpu_list_of_a_test_overrides_the_mask_of_the_model(expand: Expand) -> None:
    model = {"platform_args": {"taskset": "f0"}}
    first, second = expand(model, {"cpu-list": 1}, {})
    assert (first.cpus, second.cpus) == ((1,), (4, 5, 6, 7))


@given(st.sets(st.integers(0, 100), min_size=1))
def test_a_mask_and_a_list_of_the_same_cpus_agree(cpus: set[int]) -> None:
    mask = sum(1 << cpu for cpu in cpus)
    assert parse_cpu_mask(f"{mask:x}") == tuple(sorted(cpus)) == parse_cpu_list(",".join(map(str, cpus)))


@given(st.text(alphabet="0123456789-, x", max_size=8))
def test_any_text_is_a_list_of_cpus_or_an_error(given_text: str) -> None:
    try:
        cpus = parse_cpu_list(given_text)
    except ValueError:
        return
    assert list(cpus) == sorted(set(cpus))


def test_statistics_of_every_known_kind_are_accepted(expand: Expand) -> None:
    names = ["mean", "stdev", "MAD", "cv", "min", "max", "n", "p0", "p99.9", "p100"]
    assert expand({}, {"statistics": names})[0].statistics == tuple(names)


def test_log_output_of_a_test_overrides_that_of_the_model(expand: Expand) -> None:
    first, second = expand({"log_output": "true"}, {"log_output": False}, {})
    assert (first.log_output, second.log_output) == (False, True)


def test_arguments_of_the_caller_follow_those_of_the_model(expand: Expand) -> None:
    options = LoadOptions(command_args="--c {c}", string_map={"pep_extra_args": "--extra", "c": 1})
    (benchmark,) = expand({"command_args": "--a"}, {}, options=options)
    assert benchmark.arguments == "--a --c {c} --extra"
    (two,) = expand({}, {"command": None, "commands": ["x", "y"]}, options=options)
    assert two.arguments == "--c {c}"


def test_host_steps_have_commands_files_and_a_limit(expand: Expand) -> None:
    step = {
        "files": {"program": {"filename": "prepare.py", "location": "prepare.py"}},
        "command": "{preprocess.files.program} {iter}",
        "platform_args": {"timeout": 9},
    }
    before = expand({}, {"preprocess": step})[0].before
    assert before.commands == ("{preprocess.files.program} {iter}",)
    assert before.timeout_s == 9.0
    assert [file.key for file in before.files] == ["preprocess.files.program"]


def test_the_models_converter_and_those_of_output_files_are_kept(expand: Expand) -> None:
    outputs = {
        "log": {
            "filename": "log",
            "location": "{TGTDIR}/{identifier}.log",
            "converter": {"name": "c", "args": {"a": 1}},
        }
    }
    (benchmark,) = expand({"converter": {"name": "json_converter"}}, {"output_files": outputs})
    assert (benchmark.converter, benchmark.converter_args) == ("json_converter", {})
    (output,) = benchmark.output_files
    assert (output.key, output.location) == ("output_files.log", "{TGTDIR}/t0.log")
    assert (output.converter, output.converter_args) == ("c", {"a": 1})


@pytest.mark.parametrize(
    ("model", "test", "option", "expected"),
    [
        ({"repeat": 5}, {}, None, (5, None, None)),
        ({"repeat": 5}, {"time_limit_s": 20}, None, (5, 30, 0.02)),
        ({}, {"time_limit_s": 20}, None, (1, 30, 0.02)),
        ({"repeat": 5}, {"time_limit_s": 20, "max_repeat": 5}, None, (5, None, None)),
        ({"repeat": 5, "max_repeat": 9}, {}, None, (5, 9, 0.02)),
        ({"repeat": 5, "max_repeat": 9, "repeat_precision": 0.1}, {"max_repeat": 7}, None, (5, 7, 0.1)),
        ({"repeat": 5}, {"repeat_precision": 0.005}, None, (5, 30, 0.005)),
        ({"repeat": 5}, {"repeat_precision": 0.005}, 0.1, (5, 30, 0.1)),
        ({"repeat": 5}, {}, 0.1, (5, 30, 0.1)),
        ({"repeat": 5}, {"time_limit_s": 20}, math.inf, (5, None, None)),
        ({"repeat": 40}, {"time_limit_s": 20}, None, (40, None, None)),
    ],
)
def test_launches_are_added_under_a_time_limit_or_where_somebody_asks(
    expand: Expand,
    model: Members,
    test: Members,
    option: float | None,
    expected: tuple[int, int | None, float | None],
) -> None:
    (benchmark,) = expand(model, test, options=LoadOptions(precision=option))
    assert (benchmark.launches, benchmark.max_launches, benchmark.precision) == expected


def test_a_largest_number_of_launches_below_the_smallest_is_a_mistake(expand: Expand) -> None:
    with pytest.raises(SpecificationError, match="max_repeat 3 is less than repeat 5"):
        expand({"repeat": 5}, {"max_repeat": 3})


def test_added_launches_make_no_other_benchmark(expand: Expand) -> None:
    (plain,) = expand({"repeat": 5}, {})
    (added,) = expand({"repeat": 5}, {"max_repeat": 9, "repeat_precision": 0.1})
    assert added.digest == plain.digest
