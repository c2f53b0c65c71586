"""LiteRT keeps the contract of frameworks, whichever of its programs printed the output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from frameworks import tflite
from frameworks.python_framework import PythonFramework
from frameworks.tflite.options import TfliteOptions
from harness import shell
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, Input, OutputFile
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem, ExportFailed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of
from tests.frameworks.observed_threads import launch_on_threads

RECORDED = Path(__file__).parent / "recorded"
MODEL = {"files.model": "/d/net.tflite"}


def make() -> PythonFramework:
    return tflite.create(Settings(cache_dir=Path(os.devnull) / "cache"))


def typed(**changes: object) -> Benchmark:
    return benchmark_of("tflite", MODEL, threads=1, warmup=2, iterations=5, **changes)


RUNNER = FrameworkCase(
    create=make,
    benchmark=typed(),
    output=(RECORDED / "runner.txt").read_text(),
    observed={"NET latency": 5, "NET cpu_time": 5, "RUN load_time": 1, "RUN peak_memory": 1},
    refused=(
        benchmark_of("tflite"),
        typed(output_files=(OutputFile(key="output_files.o", filename="o", location="/d/o"),)),
        typed(backend_options={"delegat": "xnnpack"}),
    ),
    builds=False,
    export=Export(definition="add", recipe="fp32"),
)
CASES = {
    "runner": RUNNER,
    "benchmark_model": replace(
        RUNNER,
        output=(RECORDED / "benchmark_model_profile.txt").read_text(),
        observed={"RUN load_time": 1, "RUN first_iteration": 1, "NET latency": 0},
    ),
    "litert-benchmark": replace(
        RUNNER,
        output=(RECORDED / "litert_benchmark.txt").read_text(),
        observed={"RUN load_time": 1, "RUN threads": 1, "NET latency": 0},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_litert_keeps_the_contract(check: Check, name: str) -> None:
    check(CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_litert_keeps_the_contract_with_its_real_runner(check: Check, litert: None, tmp_path: Path) -> None:
    settings = Settings(cache_dir=tmp_path)
    model = {"files.model": str(RECORDED / "conv.tflite")}
    benchmark = benchmark_of("tflite", model, threads=1, warmup=2, iterations=5)
    check(replace(RUNNER, create=lambda: tflite.create(settings), benchmark=benchmark, builds=True, runs=True))


@pytest.mark.slow
@pytest.mark.parametrize(("threads", "api"), [(1, "interpreter"), (2, "interpreter"), (2, "compiled_model")])
def test_threads_are_observed_and_more_than_asked_for_are_noted(
    litert: None, tmp_path: Path, threads: int, api: str
) -> None:
    framework = tflite.create(Settings(cache_dir=tmp_path))
    program = framework._python_build().programs["program"]
    # Warmed up until what a second pool of idle threads spins at the beginning is over.
    words = ("--threads", str(threads), "--warmup", "50000", "--iter", "20000", "--time-limit", "4")
    argv = (str(program), "--model", str(RECORDED / "conv.tflite"), *words, "--option", f"api={api}")
    completed = launch_on_threads(lambda: shell.run(Command(argv, timeout_s=300)), threads)
    for asked in (threads, 1):
        observations, notes = framework.parse([completed], benchmark_of("tflite", MODEL, threads=asked))
        metrics = {observation.name: observation for observation in observations}
        assert "RUN threads" not in metrics  # LiteRT does not tell
        assert list(metrics["RUN threads_observed"].samples) == [threads]
        assert ("threads_observed" in {note.code for note in notes if not note.trust}) == (threads > asked)


def parse(
    name: str, benchmark: Benchmark, *, files: dict[str, Path] | None = None
) -> tuple[dict[str, Observation], Sequence[Note]]:
    text = (RECORDED / f"{name}.txt").read_text() if name else ""
    completed = Completed(Command(("program",)), 0, stderr=text, files=files or {})
    observations, notes = make().parse([completed], benchmark)
    return {observation.name: observation for observation in observations}, notes


def test_delegate_that_took_nothing_is_noted() -> None:
    _, notes = parse("runner", typed())
    assert "delegate" not in {note.code for note in notes}
    _, notes = parse("runner", typed(backend_options={"delegate": "none"}))
    (note,) = (note for note in notes if note.code == "delegate")
    assert not note.trust


def test_threads_in_the_log_of_a_command_are_checked() -> None:
    commands = ("{program} --graph={files.model} --num_threads=1",)
    _, notes = parse("benchmark_model_profile", typed(commands=commands).model_copy(update={"threads": 4}))
    assert "threads" in {note.code for note in notes}


def test_result_file_of_litert_benchmark_counts_where_nothing_was_printed() -> None:
    file = OutputFile(key="output_files.result", filename="r.json", location="{TGTDIR}/r.json")
    benchmark = typed(commands=("litert-benchmark",), output_files=(file,))
    observations, notes = parse("", benchmark, files={file.key: RECORDED / "litert_benchmark.json"})
    assert "NET latency" in observations
    assert not notes
    observations, notes = parse("", benchmark, files={file.key: RECORDED / "missing.json"})
    assert not observations
    assert [note.code for note in notes] == ["output_file"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delegat": "none"}, "no option `delegat`"),
        ({"precision": "bf16"}, "none of f32, f16"),
        ({"layout": 3}, "none of nchw, nhwc"),
        ({"delegate": "none\n--threads 9"}, "none of xnnpack, none, reference"),
    ],
)
def test_options_that_litert_does_not_have_are_refused(options: dict[str, str | int], words: str) -> None:
    with pytest.raises(BenchmarkUnsupported, match=words):
        make().check_backend_options(typed(backend_options=options))


def test_options_are_words_of_the_command_line() -> None:
    benchmark = typed(backend_options={"delegate": "none", "layout": "nhwc"})
    argv = make().command(benchmark, Build(source="installed", commit="1"), {**MODEL, "program": "/d/runner"}).argv
    assert [argv[index + 1] for index, word in enumerate(argv) if word == "--option"] == [
        "delegate=none",
        "layout=nhwc",
    ]


def test_converter_is_part_of_the_fingerprint() -> None:
    fingerprint = make().fingerprint(Export(definition="add", recipe="fp32"))
    assert fingerprint["converter litert-torch"] == "0.10.0"
    assert len(fingerprint["converter"]) == 64
    assert make().fingerprint(Export(definition="add", recipe="q8"))["recipe"] != fingerprint["recipe"]


def test_unknown_recipes_are_refused_with_those_that_there_are() -> None:
    with pytest.raises(ExportFailed) as failure:
        make().fingerprint(Export(definition="add", recipe="fp23"))
    assert "fp32" in str(failure.value.hint)
    assert "q8_dynamic" in str(failure.value.hint)


@pytest.mark.parametrize(("python", "reason"), [("/bin/true", "no litert-torch"), ("/bin/false", "exit status 1")])
def test_interpreter_without_the_converter_is_refused(python: str, reason: str) -> None:
    settings = Settings(plug_ins=(TfliteOptions(tflite_converter=Path(python)),))
    with pytest.raises(EnvironmentProblem, match=reason) as problem:
        tflite.create(settings).fingerprint(Export(definition="add", recipe="fp32"))
    assert "--tflite-converter" in str(problem.value.hint)


@pytest.fixture
def tool(tmp_path: Path) -> Build:
    """Build of a program with the flags of `benchmark_model`."""
    program = tmp_path / "benchmark_model"
    program.write_bytes(b"\x7fELF\0warmup_runs\0input_layer_shape\0")
    return Build(source="prebuilt", commit="1", programs={"program": program})


FILES = {**MODEL, "program": "/d/benchmark_model"}


def test_benchmark_model_is_started_with_its_own_flags(tool: Build) -> None:
    inputs = (Input(name="a", shape=(1, 224, 224, 3)), Input(name="b", shape=(2,)))
    benchmark = typed(inputs=inputs, operators=True, backend_options={"delegate": "none", "precision": "f32"})
    assert make().command(benchmark, tool, FILES).argv == (
        "/d/benchmark_model",
        "--graph=/d/net.tflite",
        "--warmup_runs=2",
        "--num_runs=5",
        "--input_layer=a,b",
        "--input_layer_shape=1,224,224,3:2",
        "--num_threads=1",
        "--enable_op_profiling=true",
        "--use_xnnpack=false",
    )


@pytest.mark.parametrize("change", [{"cold": True}, {"phases": True}, {"backend_options": {"layout": "nhwc"}}])
def test_what_benchmark_model_cannot_do_is_refused(tool: Build, change: dict[str, object]) -> None:
    with pytest.raises(BenchmarkUnsupported, match="benchmark_model has no"):
        make().command(typed(**change), tool, FILES)
