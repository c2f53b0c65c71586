"""References of a plan: the examples of each benchmark, and the outputs of its model before it was lowered."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, Input
from harness.core.cached_files import CachedFile
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.core.examples import DTYPES, DataRequest, Split, Stage
from harness.core.measurement import References
from harness.core.protocols import Exporter, Framework, Progress
from harness.core.result import Outcome
from harness.flows.measure.compared import ACCURACY, LAYERS, executes_examples, is_compared, is_evaluated
from harness.flows.measure.example_sets import CalibrationExamples, prepare_examples
from harness.flows.measure.plan import Failure, Files, Plan, PreparedReferences, file_key
from harness.models.references import ReferenceCache

_RANDOM: Final = DataRequest(provider="random", count=8)
"""Examples that prove the same work, where the specification names none: eight tell wrong kernels and weights."""


def prepare_references(
    plan: Plan, files: Files, settings: Settings, progress: Progress, kept_outputs: Path | None = None
) -> PreparedReferences:
    """Make the examples of every benchmark whose outputs are compared, and what they are compared with.

    They are made once and kept in the cache. A failure concerns the benchmarks that need it, and no other; one that was
    only to prove that it does the same work is measured, and not compared.

    Args:
        plan: What to measure where.
        files: Its files; an exported one tells the inputs of a benchmark that names none.
        settings: Where the cache is.
        progress: Shows what happens.
        kept_outputs: Folder to keep the outputs of the only evaluated benchmark in; None keeps none.
    """
    prepared: dict[str, References | Failure] = {}
    for benchmark in plan.benchmarks:
        if is_compared(benchmark) and benchmark.digest not in prepared:
            framework = plan.frameworks[benchmark.framework]
            try:
                references = _prepare(_with_inputs(benchmark, files), framework, settings, progress)
                prepared[benchmark.digest] = replace(references, kept_outputs=kept_outputs)
            except (BenchmarkFailed, EnvironmentProblem) as error:
                mark = "✗" if is_evaluated(benchmark) else "! not compared:"
                progress.warn(f"{mark} {benchmark.title}: {error.message}")
                is_environment = isinstance(error, EnvironmentProblem)
                prepared[benchmark.digest] = Failure(
                    Outcome.FAILED, error.message, error.hint, is_environment_problem=is_environment
                )
    return prepared


def _prepare(benchmark: Benchmark, framework: Framework, settings: Settings, progress: Progress) -> References:
    """Return the references of one benchmark.

    Raises:
        BenchmarkFailed: Its outputs cannot be evaluated.
        EnvironmentProblem: A package is missing, or the cache cannot be written.
    """
    if benchmark.same_work is not None and not is_evaluated(benchmark):
        if not executes_examples(benchmark):
            raise BenchmarkFailed(
                "it has commands of its own, which execute no examples",
                hint="leave out `commands`: the framework knows its runner",
            )
        benchmark = benchmark.model_copy(update={"data": benchmark.data or _RANDOM})
    if benchmark.data is None:
        raise BenchmarkFailed(
            f"it asks for `{ACCURACY}`, and has no `data` to evaluate with",
            hint='name a data set in the test, such as "data": "random", or leave out the kind',
        )
    export = _find_export(benchmark)
    if export is None or not isinstance(framework, Exporter):
        raise BenchmarkFailed(
            "its outputs cannot be evaluated, because its model is not exported here",
            hint="give its file an `export`: the outputs of the model before lowering are computed from its definition",
        )
    from harness.files.examples import read_manifest  # noqa: PLC0415 - NumPy, which only evaluations need

    examples = prepare_examples(benchmark.data, benchmark.inputs, Split.EVALUATION, settings, progress)
    calibration = None
    if export.calibration_data is not None:
        calibration = CalibrationExamples(settings).prepare(export, progress)
    cache, digest = ReferenceCache(settings.model_cache), read_manifest(examples).digest
    stages = cache.fetch(
        export,
        framework,
        examples=examples,
        examples_digest=digest,
        calibration=calibration,
        progress=progress,
        only=tuple(Stage) if is_evaluated(benchmark) else (Stage.EAGER,),
    )
    gaps = None
    if LAYERS in benchmark.kinds:
        gaps = cache.fetch_layers(
            export, framework, examples=examples, examples_digest=digest, calibration=calibration, progress=progress
        )
    return References(examples, stages, gaps)


def _with_inputs(benchmark: Benchmark, files: Files) -> Benchmark:
    """Return a benchmark with inputs: those of its exported program, where its test names none."""
    if benchmark.inputs:
        return benchmark
    exported = (files.get(file_key(file, benchmark)) for file in benchmark.files if file.export is not None)
    reports = (file.report for file in exported if isinstance(file, CachedFile) and file.report is not None)
    tensors = next((report.inputs for report in reports if report.inputs), ())
    names = {dtype: name for name, dtype in DTYPES.items()}
    inputs = (Input(name=item.name, shape=item.shape, dtype=names.get(item.dtype, item.dtype)) for item in tensors)
    return benchmark.model_copy(update={"inputs": tuple(inputs)})


def _find_export(benchmark: Benchmark) -> Export | None:
    return next((file.export for file in benchmark.files if file.export is not None), None)
