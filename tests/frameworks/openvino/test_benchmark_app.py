"""What `benchmark_app` prints: recorded outputs, hostile ones, and the real tool."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks import openvino
from frameworks.openvino import archive
from frameworks.openvino.benchmark_app import read_output
from harness import shell
from harness.config.settings import Settings
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.testing.frameworks import benchmark_of

RECORDED = Path(__file__).parent / "recorded"
SYNC = (RECORDED / "benchmark_app_sync.txt").read_text()
COUNTED = (RECORDED / "benchmark_app_pc.txt").read_text()
CPP = """[Step 10/11] Measuring performance (Start inference synchronously, limits: 10 iterations)
[ INFO ] First inference took 8.01 ms
[Step 11/11] Dumping statistics report
[ INFO ] Execution Devices: [ CPU ]
[ INFO ] Count:               10 iterations
[ INFO ] Duration:            33.13 ms
[ INFO ] Latency:
[ INFO ]    Median:           3.31 ms
[ INFO ]    Average:          3.30 ms
[ INFO ]    Min:              3.20 ms
[ INFO ]    Max:              3.44 ms
[ INFO ] Throughput:          301.87 FPS
"""
"""Of `samples/cpp/benchmark_app`, composed from its source."""


def read(text: str, exit_code: int = 0) -> tuple[dict[str, Observation], tuple[Note, ...]]:
    observations, notes = read_output(
        [Completed(Command(("benchmark_app",)), exit_code, stdout=text)], benchmark_of("openvino")
    )
    return {observation.name: observation for observation in observations}, tuple(notes)


def test_statistics_settings_and_phases_are_read() -> None:
    metrics, notes = read(SYNC)

    summary = metrics["NET latency"].summary or {}
    assert summary == pytest.approx({"p50": 0.02451, "mean": 0.02571, "p0": 0.02429, "p100": 0.07565, "n": 200})
    assert metrics["NET latency"].unit == "ms"
    assert metrics["RUN compile_time"].samples == (22.79,)
    assert (metrics["RUN first_iteration"].samples, metrics["RUN first_iteration"].unit) == ((4.55,), "ms")
    assert (metrics["RUN precision"].info, metrics["RUN threads"].samples) == ("f32", (1.0,))
    assert metrics["NET throughput"].samples == (30928.18,)
    assert notes == ()


def test_operators_have_a_sample_for_each_request_and_waiting_requests_are_not_trusted() -> None:
    metrics, notes = read(COUNTED)

    operators = {name: metric.samples for name, metric in metrics.items() if "#" in name}
    assert operators == {
        "Reorder #1 latency": (0.001, 0.002),
        "Convolution #1 latency": (0.011, 0.013),
        "ReduceMean #1 latency": (0.007, 0.008),
        "FullyConnected #1 latency": (0.002, 0.002),
    }
    assert (metrics["NET latency"].summary or {})["p90"] == pytest.approx(0.13399)
    assert [(note.trust, note.message.split()[0]) for note in notes] == [(False, "2"), (True, "benchmark_app")]


def test_the_tool_in_cpp_prints_alike() -> None:
    metrics, notes = read(CPP)
    assert (metrics["NET latency"].summary or {})["p50"] == 3.31
    assert notes == ()


@pytest.mark.parametrize(
    ("text", "exit_code"),
    [((RECORDED / "benchmark_app_failed.txt").read_text(), 1), (SYNC, 1), (SYNC[:2000], 0), ("", 0)],
)
def test_failed_and_unfinished_runs_give_no_numbers(text: str, exit_code: int) -> None:
    assert read(text, exit_code) == ({}, ())


def test_nodes_of_unequal_requests_are_left_out_and_said_to_be() -> None:
    begin = COUNTED.rindex("Convolution")
    metrics, notes = read(COUNTED[:begin] + "Another" + COUNTED[begin + len("Convolution") :])
    assert not [name for name in metrics if "#" in name]
    assert "benchmark_app_nodes" in {note.code for note in notes}


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read(SYNC + text)


def test_long_outputs_take_linear_time() -> None:
    text = "[ INFO ] " + " " * 500_000 + "\n" + "node  Status.EXECUTED " * 50_000 + "\n" + "[ INFO ] x\n" * 50_000
    assert "NET latency" in read(text + SYNC)[0]


@pytest.mark.slow
@pytest.mark.xdist_group("openvino")
def test_the_real_tool_is_read(exported: tuple[Path, ExportReport], tmp_path: Path) -> None:
    unpacked = shell.run(Command((sys.executable, "-m", archive.__name__, str(exported[0]), str(tmp_path))))
    assert unpacked.ok, unpacked.stderr
    model = next(tmp_path.rglob("*.xml"))
    words = ["-hint", "none", "-api", "sync", "-nthreads", "1", "-niter", "50", "-infer_precision", "f32"]
    tool = (sys.executable, "-c", "from openvino.tools.benchmark.main import main; main()")
    completed = shell.run(Command((*tool, "-m", str(model), *words), timeout_s=300))
    framework = openvino.create(Settings(cache_dir=tmp_path))
    observations, notes = framework.parse([completed], benchmark_of("openvino", commands=("benchmark_app",)))

    metrics = {observation.name: observation for observation in observations}
    assert completed.ok, completed.stdout
    assert (metrics["NET latency"].summary or {})["n"] == 50
    assert metrics["RUN threads"].samples == (1.0,)
    assert [note for note in notes if not note.trust] == []
