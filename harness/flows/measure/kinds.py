"""Figures of a benchmark that come from files: errors against golden outputs, and the size of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.core.benchmark import ERROR, Benchmark
from harness.core.cached_files import CachedFile
from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction, Metric
from harness.core.result import Outcome
from harness.running.placeholder_values import output_path

LOAD_TIME: Final = "load_time"
SIZE: Final = "size"
GOLDEN: Final = "files.golden_output"
"""Key of the golden output of a model, or beginning of the keys of a list of them."""


def compute_figures(job: Job, measurement: Measurement, scratch: Path) -> Measurement:
    """Return the measurement with the figures of files that the benchmark asks for.

    A figure that cannot be computed makes a failure; what was measured stays.

    Args:
        job: What was measured.
        measurement: The record of its launches.
        scratch: Folder with the output files of the last launch that wrote some.
    """
    if measurement.outcome is not Outcome.OK:
        return measurement
    try:
        computed = (*_errors(job.benchmark, {**job.files, **measurement.made}, scratch), *_sizes(job))
        _require_load_time(job.benchmark, measurement)
    except BenchmarkFailed as error:
        return replace(measurement, outcome=Outcome.FAILED, reason=error.message, hint=error.hint)
    return replace(measurement, computed=(*measurement.computed, *computed))


def _errors(benchmark: Benchmark, files: Mapping[str, CachedFile], scratch: Path) -> Sequence[Metric]:
    """Return the errors of all outputs against golden ones, where the benchmark asks for them.

    A test whose only metric is `error` may have been written for FAI-PEP, and compute its errors in a step.

    Raises:
        BenchmarkFailed: Outputs cannot be compared.
    """
    golden = [file for key, file in files.items() if key == GOLDEN or key.startswith(f"{GOLDEN}.")]
    if ERROR not in (benchmark.metric, *benchmark.kinds) or not (golden or ERROR in benchmark.kinds):
        return ()
    from harness.analysis.accuracy.golden import GoldenMismatch, compare_with_golden  # noqa: PLC0415 - NumPy

    outputs = [output for output in benchmark.output_files if output.is_compared]
    if not golden or len(golden) != len(outputs):
        raise BenchmarkFailed(
            f"errors need a golden output for each output file: there are {len(golden)} golden outputs and "
            f"{len(outputs)} output files without a converter",
            hint="name it `golden_output` in the model's `files`, several as a list in the order of `output_files`",
        )
    metrics: list[Metric] = []
    for output, file in zip(outputs, golden, strict=True):
        name = output.key.removeprefix("output_files.")
        path = output_path(scratch, output.filename)
        try:
            metrics += compare_with_golden(name, path, file.path, output.dtype, benchmark.statistics)
        except GoldenMismatch as error:
            raise BenchmarkFailed(str(error)) from error
    return metrics


def _sizes(job: Job) -> Sequence[Metric]:
    """Return the size of the model's files, where the benchmark asks for it."""
    if SIZE not in job.benchmark.kinds:
        return ()
    keys = {file.key for file in job.benchmark.files if not file.key.startswith(GOLDEN)}
    files = [file for key, file in job.files.items() if key in keys]
    if not files:
        raise BenchmarkFailed("it asks for the size of the model, and has no `files`", hint="leave out the kind `size`")
    size = float(sum(file.size_bytes for file in files))
    summary = {"p50": size, "mean": size, "min": size, "max": size, "n": 1.0}
    return [
        Metric(
            name=f"NET {SIZE}",
            type="NET",
            metric=SIZE,
            unit="bytes",
            direction=Direction.LOWER,
            samples=(size,),
            launches=(0,),
            summary=summary,
        )
    ]


def _require_load_time(benchmark: Benchmark, measurement: Measurement) -> None:
    if LOAD_TIME not in benchmark.kinds:
        return
    observations = (observation for launch in measurement.observations for observation in launch)
    if not any(observation.metric.endswith(LOAD_TIME) for observation in observations):
        raise BenchmarkFailed(
            f"it asks for `{LOAD_TIME}`, and no launch reported any",
            hint="measure with a runner that reports it, or leave out the kind",
        )
