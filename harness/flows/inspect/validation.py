"""`harness validate --json`: specifications as a document. Its classes take longer to import than a check takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import Problem, SpecificationError, UsageError
from harness.flows.inspect.checks import find_remarks
from harness.flows.inspect.folders import find_specifications
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.workload import load_benchmarks
from harness.presentation.documents import ListedBenchmark, ListedProblem, ValidationDocument


def describe_files(paths: Sequence[Path], settings: Settings) -> ValidationDocument:
    """Return the benchmarks and the problems of every specification that is named or lies below a folder.

    Files that are named stand together; those below a folder are checked each on its own.

    Raises:
        UsageError: There is none.
    """
    named = [path for path in paths if not path.is_dir()]
    below = [(file,) for file in find_specifications([path for path in paths if path.is_dir()])]
    groups = ([tuple(named)] if named else []) + below
    if not groups:
        raise UsageError(f"no specification in {', '.join(map(str, paths))}", hint="harness validate FILE... or FOLDER")
    documents = [_describe(files, settings) for files in groups]
    return ValidationDocument(
        benchmarks=tuple(benchmark for document in documents for benchmark in document.benchmarks),
        problems=tuple(problem for document in documents for problem in document.problems),
        remarks=tuple(remark for document in documents for remark in document.remarks),
    )


def _describe(files: tuple[Path, ...], settings: Settings) -> ValidationDocument:
    settings = replace(settings, benchmark_file=files)
    try:
        return _describe_benchmarks(load_benchmarks(settings), settings)
    except SpecificationError as error:
        return ValidationDocument(benchmarks=(), problems=tuple(map(_list_problem, error.problems)))


def _describe_benchmarks(benchmarks: Sequence[Benchmark], settings: Settings) -> ValidationDocument:
    return ValidationDocument(
        benchmarks=tuple(map(_listed, benchmarks)),
        problems=tuple(map(_list_problem, find_problems(benchmarks, settings))),
        remarks=tuple(map(_list_problem, find_remarks(benchmarks, settings))),
    )


def _list_problem(problem: Problem) -> ListedProblem:
    return ListedProblem(**{**dataclasses.asdict(problem), "file": str(problem.file)})


def _listed(benchmark: Benchmark) -> ListedBenchmark:
    return ListedBenchmark(
        file=str(benchmark.origin.file),
        line=benchmark.origin.line,
        id=benchmark.id,
        model=benchmark.model.name,
        identifier=benchmark.identifier,
        metric=benchmark.metric,
        framework=benchmark.framework,
        axes=benchmark.axes,
        inputs={tensor.name: tensor.shape for tensor in benchmark.inputs},
        digest=benchmark.digest,
        obstacle=benchmark.obstacle,
    )
