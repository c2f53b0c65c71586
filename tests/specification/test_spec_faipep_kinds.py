"""The kinds of specifications that FAI-PEP has: each means here what it meant there, or is refused by name."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.core.placeholders import find_placeholders, substitute
from harness.core.power import PowerMethod, PowerRequest
from harness.specification.load import LoadOptions, load

EXAMPLES = Path(__file__).parent / "examples" / "faipep"
REFUSED = {"by_framework", "profiled"}
OPTIONS = LoadOptions(
    string_map={"MODEL_DIR": "/models", "IMAGENET_DIR": "/imagenet"},
    root_model_dir=Path("/zoo"),
    programs=frozenset({"convert_image_to_tensor"}),
)


def loaded(name: str) -> tuple[Benchmark, ...]:
    return load([EXAMPLES / f"{name}.json"], OPTIONS).benchmarks


def words(template: str, benchmark: Benchmark, folder: str = "/t/") -> Sequence[str]:
    """A command line with `KEY` of each file as its path, as FAI-PEP would start it from a folder."""
    files = (*benchmark.files, *benchmark.input_files)
    paths = {file.key: folder + file.filename for file in files}
    paths |= {file.key: folder + file.filename for file in benchmark.output_files}
    steps = {file.key: folder + file.filename for file in (*benchmark.before.files, *benchmark.after.files)}
    late = {"program": "/t/program", "TGTDIR": "/t/", "HOSTDIR": "/h", "INDEX": "3", "convert_image_to_tensor": "/c"}
    return shlex.split(substitute(template, {**benchmark.variables, **paths, **steps, **late}))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.stem)
def test_a_specification_loads_or_is_rejected(file: Path) -> None:
    if file.stem in REFUSED:
        with pytest.raises(SpecificationError):
            loaded(file.stem)
        return
    for benchmark in loaded(file.stem):
        for command in benchmark.commands:
            assert not any(find_placeholders(word) for word in words(command, benchmark)), command


def test_a_caffe2_delay_test_starts_its_program() -> None:
    first, second = loaded("caffe2_delay")
    assert (first.framework, first.identifier, second.identifier) == ("caffe2", "0", "1")
    assert words(first.commands[0], first) == shlex.split(
        "/t/program --net /t/predict_net.pb --init_net /t/init_net.pb --warmup 1 --iter 50 --input data "
        "--input_dims 1,3,224,224 --input_type float"
    )
    assert words(second.commands[0], second)[-2:] == ["--run_individual", "true"]


def test_an_app_of_android_is_started_in_place_of_a_program() -> None:
    (benchmark,) = loaded("android_app")
    assert benchmark.app == App(package="org.example.speed", activity=".MainActivity")
    assert benchmark.platform in {None, "android"}
    assert words(benchmark.commands[0], benchmark) == ["--model", "/t/net.pt", "--iter", "5"]


def test_a_pytorch_test_reads_its_model_from_the_root_and_is_pinned() -> None:
    (benchmark,) = loaded("pytorch")
    assert benchmark.files[0].location == "/zoo/models/pytorch/resnet.pt"
    assert (benchmark.cpus, benchmark.sleep_before_run_s) == ((4, 5, 6, 7), 20.0)
    assert words(benchmark.commands[0], benchmark)[1:3] == ["--model=/t/resnet.pt", "--input_dims=1,3,224,224"]
    assert benchmark.inputs[0].shape == (1, 3, 224, 224)
    assert benchmark.statistics == ("mean", "stdev", "p10", "p90")


def test_tflite_arguments_follow_the_program() -> None:
    (benchmark,) = loaded("tflite")
    assert words(benchmark.commands[0], benchmark)[:2] == ["/t/program", "--graph=/t/mobile_1.0_224.tflite"]
    assert words(benchmark.commands[0], benchmark)[-1] == "--num_threads=1"
    assert benchmark.launches == 3


def test_a_generic_test_may_omit_its_name_and_read_a_report_file() -> None:
    first, second = loaded("generic")
    assert (first.framework, first.identifier, second.identifier) == ("generic", "kernels-0", "1")
    assert first.output_files[0].converter_args == {"identifier": "KernelObserver "}
    assert words(first.commands[0], first)[-3:] == ["--report", "/t/report.txt", "/t/libkernel.so"]
    assert first.env == {"KERNEL_PATH": "{TGTDIR}", "LEVEL": "2"}
    assert (first.timeout_s, second.timeout_s) == (900, 300)


def test_accuracy_prepares_runs_and_compares() -> None:
    (benchmark,) = loaded("accuracy")
    (convert,), (compare,) = benchmark.before.commands, benchmark.after.commands
    assert words(convert, benchmark, "/h/") == shlex.split(
        "/c --input_image_file /h/labels_3.txt --output_tensor /h/images_tensor.pb /h/info_tensor.pb --batch_size 50"
    )
    assert words(compare, benchmark, "/o/") == shlex.split(
        "/o/compare.py --name classifier --benchmark-output /o/softmax.txt "
        "--labels /o/label_0.txt /o/label_1.txt --top 1"
    )
    assert words(benchmark.commands[0], benchmark)[11:14] == [
        "--input_file",
        "/t/images_tensor.pb",
        "/t/info_tensor.pb",
    ]
    assert [file.key for file in benchmark.output_files] == [
        "output_files.softmax.0", "output_files.labels.0", "output_files.labels.1",
    ]  # fmt: skip
    assert all(file.is_generated for file in (*benchmark.input_files, *benchmark.after.files))
    assert len(benchmark.model_before.commands) == len(benchmark.model_after.commands) == 1


def test_a_test_with_an_external_power_meter_asks_for_it() -> None:
    (benchmark,) = loaded("power")
    assert benchmark.power == PowerRequest(method=PowerMethod.MONSOON, collection_time_s=180, voltage_v=4.0)
    assert benchmark.energy
    assert benchmark.obstacle is None


def test_meta_of_a_list_applies_to_every_model() -> None:
    benchmarks = loaded("list_with_meta")
    assert [benchmark.title for benchmark in benchmarks] == ["squeezed/0", "squeezed/1", "mobile_1.0_224/mobile-0"]
    assert {(benchmark.model.group, benchmark.timeout_s, benchmark.arguments) for benchmark in benchmarks} == {
        ("Vision", 1200.0, "--backend builtin")
    }


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        (
            "profiled",
            {
                "/tests/0/platform_args/enable_profiling", "/tests/0/platform_args/profiler_args",
                "/tests/0/platform_args/retry", "/tests/0/platform_args/shell",
            },
        ),
    ],
)  # fmt: skip
def test_unsupported_features_are_rejected_by_name(name: str, keys: set[str]) -> None:
    with pytest.raises(SpecificationError) as caught:
        loaded(name)
    problems = caught.value.problems
    assert {problem.pointer for problem in problems} == keys
    assert all("not supported yet" in problem.message for problem in problems)
    assert all(problem.line for problem in problems)


def test_the_oldest_form_of_commands_is_rejected_with_an_explanation() -> None:
    with pytest.raises(SpecificationError) as caught:
        loaded("by_framework")
    (problem,) = caught.value.problems
    assert problem.pointer == "/tests/0/commands"
    assert "by framework, is not supported" in (problem.hint or "")
