"""OpenVINO keeps the contract of frameworks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frameworks import openvino
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, OutputFile
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkUnsupported
from harness.testing.frameworks import CHECKS, Check, FrameworkCase, benchmark_of

RECORDED = Path(__file__).parent / "recorded"
MODEL = {"files.model": "/d/net.zip"}


def typed(**changes: object) -> Benchmark:
    return benchmark_of("openvino", MODEL, threads=1, warmup=2, iterations=5, **changes)


CASE = FrameworkCase(
    create=lambda: openvino.create(Settings(cache_dir=Path(os.devnull) / "cache")),
    benchmark=typed(),
    output=(RECORDED / "runner.txt").read_text(),
    observed={"NET latency": 5, "NET cpu_time": 5, "RUN load_time": 1, "RUN threads_observed": 1},
    refused=(
        benchmark_of("openvino"),
        benchmark_of("openvino", {"files.a": "/d/a.zip", "files.b": "/d/b.zip"}),
        typed(output_files=(OutputFile(key="output_files.o", filename="o", location="/d/o"),)),
    ),
    builds=False,
    export=Export(definition="add", recipe="fp32"),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_openvino_keeps_the_contract(check: Check) -> None:
    check(CASE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precison": "f32"}, "no option `precison`"),
        ({"precision": "f17"}, "none of f32, bf16, f16, auto"),
        ({"streams": 0}, "not a whole number"),
        ({"hint": "fast\n--threads 9"}, "none of latency, throughput, none"),
    ],
)
def test_options_that_openvino_does_not_have_are_refused(options: dict[str, str | int], words: str) -> None:
    framework = openvino.create(Settings())
    with pytest.raises(BenchmarkUnsupported, match=words):
        framework.check_backend_options(typed(backend_options=options))


def test_options_are_words_of_the_command_line() -> None:
    framework = openvino.create(Settings())
    benchmark = typed(backend_options={"precision": "bf16", "streams": 2, "cpu_pinning": False})
    files = {**MODEL, "program": "/d/runner"}
    argv = framework.command(benchmark, Build(source="installed", commit="1"), files).argv
    assert [argv[index + 1] for index, word in enumerate(argv) if word == "--option"] == [
        "precision=bf16",
        "streams=2",
        "cpu_pinning=false",
    ]


def test_the_precision_that_openvino_would_have_taken_is_noted() -> None:
    framework = openvino.create(Settings())
    completed = Completed(Command(("runner",)), 0, stdout=(RECORDED / "runner.txt").read_text())
    _, notes = framework.parse([completed], typed())
    assert [note.code for note in notes if note.code == "openvino_precision"] == ["openvino_precision"]
    _, notes = framework.parse([completed], typed(backend_options={"precision": "f32"}))
    assert "openvino_precision" not in {note.code for note in notes}
