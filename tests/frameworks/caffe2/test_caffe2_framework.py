"""Caffe2 as a framework: its contract, its figures, and FAI-PEP's command line for tests without commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks import caffe2
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Input, ModelFile, OutputFile
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.testing.frameworks import CHECKS, HERE, Check, FrameworkCase, benchmark_of

RECORDED = Path(__file__).parent / "recorded"
FILES = {"files.init": "/d/init_net.pb", "files.predict": "/d/predict_net.pb"}
DATA = Input(name="data", shape=(1, 3, 224, 224))
CASE = FrameworkCase(
    create=lambda: caffe2.create(Settings()),
    benchmark=benchmark_of("caffe2", FILES, inputs=(DATA,), warmup=1, iterations=50),
    output=(RECORDED / "observer.txt").read_text(),
    observed={"NET latency": 3, "ID_0_Conv_data_conv1 latency": 1, "ID_0_Conv_data_conv1 flops": 1},
    refused=(
        benchmark_of("caffe2", FILES),
        benchmark_of("caffe2", {"files.graph": "/d/x.tflite"}, inputs=(DATA,)),
        benchmark_of("caffe2", FILES, inputs=(DATA,), operators=True),
    ),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_caffe2_keeps_the_contract(check: Check) -> None:
    check(CASE)


def _argv(benchmark: Benchmark) -> str:
    places = {file.key: file.location or "" for file in (*benchmark.files, *benchmark.input_files)}
    command = caffe2.create(Settings()).command(
        benchmark, Build(source="x", commit="1"), {"program": "/d/caffe2_benchmark", **places}
    )
    return " ".join(command.argv)


def test_a_test_without_commands_has_the_command_line_of_fai_pep() -> None:
    assert _argv(CASE.benchmark) == (
        "/d/caffe2_benchmark --net /d/predict_net.pb --init_net /d/init_net.pb --warmup 1 --iter 50"
        " --input_dims 1,3,224,224 --input data --input_type float"
    )


def test_several_inputs_and_arguments_are_composed_as_fai_pep_did() -> None:
    inputs = (Input(name="data", shape=(1, 3, 8, 8), dtype="uint8"), Input(name="im_info", shape=(1, 3)))
    benchmark = benchmark_of(
        "caffe2", {"files.predict": "/d/p.pb"}, inputs=inputs, arguments="--backend mkl --run_individual true"
    )
    assert _argv(benchmark) == (
        "/d/caffe2_benchmark --net /d/p.pb --input_dims 1,3,8,8;1,3 --input data,im_info --input_type uint8"
        " --backend mkl --run_individual true"
    )


def _with_files(location: str) -> Benchmark:
    images = ModelFile(key="input_files.images", filename="images.pb", location="/d/images.pb", origin=HERE)
    output = OutputFile(key="output_files.softmaxout", filename="softmaxout.txt", location=location)
    return benchmark_of("caffe2", FILES, input_files=(images,), output_files=(output,))


def test_files_take_the_place_of_shapes() -> None:
    assert _argv(_with_files("/d/out/softmaxout.txt")).endswith(
        "--input_file /d/images.pb --input images --input_type float"
        " --output softmaxout --text_output true --output_folder /d/out"
    )


def test_an_output_that_the_program_cannot_write_there_is_refused() -> None:
    with pytest.raises(BenchmarkFailed, match="cannot write output `softmaxout`") as caught:
        _argv(_with_files("/d/out/other.txt"))
    assert "/d/out/softmaxout.txt" in (caught.value.hint or "")


def test_operations_that_were_not_counted_are_no_figure() -> None:
    completed = Completed(Command(("x",)), 0, stdout=CASE.output)
    observations, notes = CASE.create().parse((completed,), CASE.benchmark)
    assert [observation.name for observation in observations if observation.metric == "flops"] == [
        "ID_0_Conv_data_conv1 flops",
        "ID_1_Relu_conv1_conv1 flops",
    ]
    assert not notes
