"""`harness validate --json`: specifications as a document. Its classes take longer to import than a check takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import Problem, SpecificationError
from harness.flows.inspect.checks import find_remarks
from harness.flows.inspect.folders import check_files
from harness.flows.measure.named_parts import find_problems
from harness.flows.measure.workload import load_benchmarks
from harness.presentation.documents import ListedBenchmark, ListedProblem, ListedSummary, ValidationDocument


def describe_files(paths: Sequence[Path], settings: Settings) -> ValidationDocument:
    """Return the benchmarks and the problems of every specification that is named or lies below a folder.

    Files that are named stand together. Where a folder is named, too, each is checked on its own, and summarised.

    Raises:
        UsageError: There is none.
    """
    if any(path.is_dir() for path in paths):
        return _describe_folders(paths, settings)
    settings = dataclasses.replace(settings, benchmark_file=tuple(paths))
    try:
        return _describe_benchmarks(load_benchmarks(settings), settings)
    except SpecificationError as error:
        return ValidationDocument(benchmarks=(), problems=tuple(map(_list_problem, error.problems)))


def _describe_folders(paths: Sequence[Path], settings: Settings) -> ValidationDocument:
    checked, summary = check_files(paths, settings)
    remarks = (
        remark
        for file in checked
        if file.benchmarks
        for remark in find_remarks(file.benchmarks, dataclasses.replace(settings, benchmark_file=(file.file,)))
    )
    return ValidationDocument(
        benchmarks=tuple(_listed(benchmark) for file in checked for benchmark in file.benchmarks),
        problems=tuple(_list_problem(problem) for file in checked for problem in file.problems),
        remarks=tuple(map(_list_problem, remarks)),
        summary=ListedSummary.model_validate(msgspec.to_builtins(summary)),
    )


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
