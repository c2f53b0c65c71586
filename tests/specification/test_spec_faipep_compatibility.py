"""Specifications in FAI-PEP's style load as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.core.placeholders import substitute
from harness.specification.load import LoadOptions, load

EXAMPLE = Path(__file__).parent / "examples" / "faipep_style.json"
OPTIONS = LoadOptions(
    string_map={"MODEL_DIR": "/models", "IMAGENET_DIR": "/data/imagenet"},
    programs=frozenset({"convert_image_to_tensor"}),
)


@pytest.fixture
def benchmarks() -> tuple[Benchmark, ...]:
    return load([EXAMPLE], OPTIONS).benchmarks


def test_every_test_becomes_a_numbered_benchmark(benchmarks: tuple[Benchmark, ...]) -> None:
    assert [benchmark.id for benchmark in benchmarks] == [0, 1, 2]
    assert [benchmark.identifier for benchmark in benchmarks] == ["0", "delay-1", "2"]


def test_tests_with_commands_are_generic_unless_a_framework_is_requested(benchmarks: tuple[Benchmark, ...]) -> None:
    assert {benchmark.framework for benchmark in benchmarks} == {"generic"}
    specification = load([EXAMPLE], LoadOptions(OPTIONS.string_map, framework="caffe2", programs=OPTIONS.programs))
    assert {benchmark.framework for benchmark in specification.benchmarks} == {"caffe2"}


def test_model_keys_apply_to_every_benchmark(benchmarks: tuple[Benchmark, ...]) -> None:
    for benchmark in benchmarks:
        assert (benchmark.launches, benchmark.cooldown_s, benchmark.log_output) == (20, 30.0, True)
        assert benchmark.model.name == "classifier"
        assert len(benchmark.model_before.commands) == 2
        assert len(benchmark.model_after.commands) == 1


def test_files_keep_their_md5_in_lower_case_and_an_empty_md5_is_none(benchmarks: tuple[Benchmark, ...]) -> None:
    init, predict = benchmarks[0].files
    assert (init.key, init.md5) == ("files.init", "a589d31d93c44d353ae2cd92af4d5a3f")
    assert (predict.location, predict.md5) == ("/models/predict_net.pb", None)


def test_a_file_that_a_host_command_makes_keeps_its_template(benchmarks: tuple[Benchmark, ...]) -> None:
    assert benchmarks[0].input_files[0].location == "{HOSTDIR}/images_tensor.pb"
    assert benchmarks[0].output_files[0].location == "{TGTDIR}/softmax.txt"


def test_commands_can_be_completed_when_the_paths_are_known(benchmarks: tuple[Benchmark, ...]) -> None:
    first = benchmarks[0]
    later = {
        "program": "/t/caffe2_benchmark",
        "files.predict": "/t/predict_net.pb",
        "files.init": "/t/init_net.pb",
        "input_files.images_tensor": "/t/images_tensor.pb",
        "TGTDIR": "/t",
        "HOSTDIR": "/h",
        "INDEX": "3",
    }
    command = substitute(first.commands[0], {**first.variables, **later})
    assert command.startswith(
        "/t/caffe2_benchmark --net /t/predict_net.pb --init_net /t/init_net.pb --warmup 1 --iter 50"
    )
    awk = substitute(first.before.commands[0], {**first.variables, **later})
    assert awk.startswith("awk '(NR>3*1000/20)&&(NR<=3*1000/20+1000/20) {print > \"/h/labels_3.txt\"}'")


def test_arguments_follow_the_program(benchmarks: tuple[Benchmark, ...]) -> None:
    assert benchmarks[1].commands[0].startswith('{program} --net {files.predict} --input_dims "1,3,224,224"')


def test_platform_args_pin_and_pause(benchmarks: tuple[Benchmark, ...]) -> None:
    assert benchmarks[1].cpus == (4, 5, 6, 7)
    assert benchmarks[1].sleep_before_run_s == 20.0
    assert benchmarks[0].cpus is None


def test_files_of_a_step_are_relative_to_the_specification(benchmarks: tuple[Benchmark, ...]) -> None:
    (program,) = benchmarks[0].after.files
    assert program.key == "postprocess.files.program"
    assert program.location == str(EXAMPLE.parent / "compare.py")


def test_a_missing_program_is_a_problem_with_a_remedy() -> None:
    with pytest.raises(SpecificationError) as caught:
        load([EXAMPLE], LoadOptions(OPTIONS.string_map))
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.line) == ("/tests/0/preprocess/commands/1", 68)
    assert problem.message == "unknown placeholder {convert_image_to_tensor}"
    assert "--program convert_image_to_tensor=PATH" in (problem.hint or "")


def test_defaults_match_fai_pep(benchmarks: tuple[Benchmark, ...]) -> None:
    assert (benchmarks[1].iterations, benchmarks[1].warmup, benchmarks[1].timeout_s) == (-1, -1, 300.0)


def test_commands_run_without_the_framework_that_is_named_where_the_user_asks_for_it(tmp_path: Path) -> None:
    test = {"metric": "delay", "identifier": "a", "command": "{program}"}
    model = {"name": "m", "format": "caffe2", "framework": "caffe2"}
    file = tmp_path / "spec.json"
    file.write_text(json.dumps({"model": model, "tests": [test]}))
    (benchmark,) = load([file], LoadOptions(framework="generic")).benchmarks
    assert benchmark.framework == "generic"
    with pytest.raises(SpecificationError, match="is for framework `caffe2`"):
        load([file], LoadOptions(framework="tflite"))
    del test["command"]
    file.write_text(json.dumps({"model": model, "tests": [test]}))
    with pytest.raises(SpecificationError, match="is for framework `caffe2`"):
        load([file], LoadOptions(framework="generic"))
