"""The medians that `harness` reports are those of the frameworks' own tools and of bare loops: the same model file,
one thread, the same CPU, 32-bit floating-point numbers.

ExecuTorch's is `test_fidelity.py`. `onnxruntime_perf_test` is in no package, so ONNX Runtime has a bare loop only. Bare
loops take turns with our runner's loop in one process, so that a machine that is slow for seconds is so for both. A
claim holds where the interval of the ratio lies within 1 %, is broken where it lies outside, and else cannot be told
here, which is no pass: such a test is skipped, with its interval.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.config.settings import default_cache
from harness.core.metric import convert
from tests.benchmarks.figures import FEWEST_PAIRS, RatioOfPairs, in_random_order
from tests.cli.project import Project

LIMIT = 0.01
SECONDS = float(os.environ.get("FIDELITY_SECONDS", "42"))
"""Time for the pairs of one row: with fourteen rows, ten minutes."""
CPU = max(os.sched_getaffinity(0))
LOOPS = Path(__file__).with_name("reference_loops.py")
RUNS = {"mv2": (20, 100), "mv3_small": (50, 300)}
"""Warm-up and timed iterations."""
pytestmark = pytest.mark.benchmark


def run_pinned(*line: str | Path) -> subprocess.CompletedProcess[str]:
    command = ("taskset", "-c", str(CPU), *map(str, line))
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done


def read_median_ms(done: subprocess.CompletedProcess[str], pattern: str) -> float:
    output = done.stdout + done.stderr
    match = re.search(pattern, output)
    assert match is not None, output[-2000:]
    return float(match[1])


def torch_timer(model: Path, name: str) -> float:
    return float(run_pinned(sys.executable, LOOPS, "timer", model).stdout) / 1e6


def benchmark_app(model: Path, name: str) -> float:
    # Importing OpenVINO starts a process that reports its use.
    start = "from frameworks.telemetry import block_telemetry; block_telemetry(); "
    start += "from openvino.tools.benchmark.main import main; main()"
    flags = ("-hint", "none", "-api", "sync", "-nthreads", "1", "-infer_precision", "f32", "-niter", sum(RUNS[name]))
    done = run_pinned(sys.executable, "-c", start, "-m", model, *map(str, flags))
    return read_median_ms(done, r"Median: +([\d.]+) ms")


def litert_benchmark(model: Path, name: str) -> float:
    start = "from ai_edge_litert.tools.benchmark_litert_model import main; main()"
    warmup, runs = RUNS[name]
    flags = ("--model", model, "--num_threads", 1, "--warmup_runs", warmup, "--num_runs", runs)
    done = run_pinned(sys.executable, "-c", start, *map(str, flags))
    return read_median_ms(done, r"Inference \(median\): +([\d.]+) ms")


@dataclass(frozen=True)
class Row:
    """What is compared: a framework as the harness runs it, and a reference."""

    framework: str
    package: str
    recipe: str
    suffix: str
    tool: str
    reference: Callable[[Path, str], float]
    options: dict[str, str] = field(default_factory=dict)


ONNX = ("onnxruntime", "onnxruntime", "fp32", "onnx")
OPENVINO = ("openvino", "openvino", "fp32", "ov")
LITERT = ("tflite", "ai-edge-litert", "fp32", "tflite")
PYTORCH = ("pytorch", "torch", "eager", "pt2")
ROWS = (
    Row(*OPENVINO, "benchmark_app -hint none -api sync", benchmark_app, {"hint": "none"}),
    Row(*LITERT, "litert-benchmark", litert_benchmark, {"api": "compiled_model"}),
    Row(*PYTORCH, "torch.utils.benchmark.Timer", torch_timer),
)
LOOPED = {
    "bare loop, run_with_iobinding": ONNX,
    "bare loop, InferRequest.infer": OPENVINO,
    "bare loop, Interpreter.invoke": LITERT,
    "bare loop, eager": PYTORCH,
}


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    lines: list[str] = []
    yield lines
    head = "| framework | model | tool | tool, ms | ours, ms | ours / tool | 95 % interval | pairs | within 1 % |"
    print("\n", head, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |", *lines, sep="\n")
    print(f"\nPython {platform.python_version()}, {platform.system()} {platform.machine()}, one thread on CPU {CPU}")
    print("onnxruntime_perf_test is in no package and was not measured")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, Path(os.environ.get("HARNESS_CACHE_DIR", default_cache())))


def prepare(model: Path, folder: Path) -> Path:
    """Return the model as other programs read it: OpenVINO's archive is unpacked."""
    if model.suffix != ".ov":
        return model
    line = (sys.executable, "-m", "frameworks.openvino.archive", str(model), str(folder))
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
    return next(folder.rglob("*.xml"))


def export(project: Project, row: Row, name: str) -> tuple[Path, Path]:
    """Return a specification of one benchmark, and its model file, which a run has made."""
    warmup, iterations = RUNS[name]
    identifier = f"fidelity_{name}_{row.framework}"
    test = {"identifier": identifier, "metric": "delay", "threads": 1, "warmup": warmup, "iter": iterations}
    files = {"model": {"filename": f"{identifier}.{row.suffix}", "export": {"definition": name, "recipe": row.recipe}}}
    model = {"name": identifier, "format": row.framework, "framework": row.framework, "files": files}
    tests = [{**test, "cpu-list": CPU, "backend_options": row.options}]
    spec = project.write("spec.json", {"model": model, "tests": tests})
    run_harness(project, spec)
    exports = (project.cache / "models").rglob(f"{identifier}.{row.suffix}")
    return spec, max(exports, key=lambda path: path.stat().st_mtime)


def run_harness(project: Project, spec: Path) -> float:
    """Return the median that the harness reports, in milliseconds."""
    done = project.harness("-b", spec, timeout_s=1200)
    assert done.code == 0, done.stdout + done.stderr
    latency = next(metric for metric in done.read()[-1]["metrics"] if metric["name"] == "NET latency")
    median = convert(latency["summary"]["p50"], latency["unit"], "ms")
    assert median is not None
    return median


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("tool", LOOPED, ids=lambda tool: LOOPED[tool][0])
def test_the_loop_of_the_runner_is_a_bare_loop(project: Project, table: list[str], tool: str, name: str) -> None:
    row = Row(*LOOPED[tool], tool, torch_timer, {"hint": "none"} if LOOPED[tool] == OPENVINO else {})
    pytest.importorskip({"ai-edge-litert": "ai_edge_litert"}.get(row.package, row.package))
    _, model = export(project, row, name)
    pairs: list[tuple[float, float]] = []
    end = time.monotonic() + SECONDS
    while len(pairs) < FEWEST_PAIRS or time.monotonic() < end:
        done = run_pinned(sys.executable, LOOPS, row.framework, model, str(RUNS[name][1]))
        ours, bare = done.stdout.split()
        pairs.append((float(ours) / 1e6, float(bare) / 1e6))
    judge(table, row, name, pairs)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.framework}-{row.tool.split(' ')[0]}")
def test_the_reported_median_is_that_of_the_reference(
    project: Project, tmp_path: Path, table: list[str], row: Row, name: str
) -> None:
    pytest.importorskip({"ai-edge-litert": "ai_edge_litert"}.get(row.package, row.package))
    spec, model = export(project, row, name)
    program = prepare(model, tmp_path / "unpacked")
    row.reference(program, name)
    pairs: list[tuple[float, float]] = []
    end = time.monotonic() + SECONDS
    while len(pairs) < FEWEST_PAIRS or time.monotonic() < end:
        pairs.append(in_random_order(lambda: run_harness(project, spec), lambda: row.reference(program, name)))
    judge(table, row, name, pairs)


def judge(table: list[str], row: Row, name: str, pairs: list[tuple[float, float]]) -> None:
    """Print what pairs of ours and the reference's say, in milliseconds, and fail where the claim is broken."""
    ratio = RatioOfPairs.of(pairs)
    our_ms, tool_ms = (statistics.median(figures) for figures in zip(*pairs, strict=True))
    holds = ratio.holds(LIMIT)
    word = {True: "holds", False: "BROKEN", None: "cannot be told here"}[holds]
    figures = f"{tool_ms:.3f} | {our_ms:.3f} | {ratio.median:.4f} | {ratio.low:.4f} .. {ratio.high:.4f} | {ratio.pairs}"
    table.append(f"| {row.package} {version(row.package)} | {name} | {row.tool} | {figures} | {word} |")
    text = f"{row.framework} against {row.tool}, {name}: {ratio} (limit {LIMIT:g})"
    print(f"\n{word}: {text}")
    if holds is None:
        pytest.skip(f"cannot be told here, which is no pass: {text}")
    assert holds, text
