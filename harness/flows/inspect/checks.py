"""`harness validate` and `--dry-run`: checks that measure nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import stat
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from rich.console import Console
from rich.text import Text

from harness.config.settings import Settings
from harness.core.benchmark import ENERGY_TESTS, KINDS, Benchmark, ModelFile
from harness.core.errors import (
    BenchmarkFailed,
    HarnessError,
    Problem,
    SpecificationError,
)
from harness.core.examples import DataRequest
from harness.core.protocols import Exporter
from harness.core.shell_words import HINT, find_shell_words
from harness.display.tables import draw_rows, fit_table, print_output, widen
from harness.files.digests import md5_of_file
from harness.files.programs import RUNNER
from harness.flows.measure.example_sets import open_model_cache
from harness.flows.measure.given_programs import describe_unused, names_placeholder
from harness.flows.measure.named_parts import find_problems, load_framework, make_problem, raise_for_problems
from harness.flows.measure.plan import Assignment, Plan
from harness.flows.measure.preflight import find_package_problem
from harness.flows.measure.workload import load_benchmarks
from harness.models.cache import ModelCache
from harness.models.locations import DIRECTORY, LocalPath, parse_location
from harness.presentation.tables import KEEP, Column, make_cells

_PLAN = ("id", "benchmark", "framework", "device", "threads", "launches × iterations", "limit", "files")
_LAUNCHES = _PLAN.index("launches × iterations")
_OFTEN_EQUAL = range(2, 7)
"""Columns in which the benchmarks of a plan are often equal."""

_SIMILAR = 0.75
"""Similarity from which a word is taken for a misspelt one: `dely` for `delay`, but not `load` for `load_time`."""

_HASHED_BYTES = 64 << 20
"""Size of a file up to which a check that measures nothing computes its MD5."""


def validate(benchmarks: Sequence[Benchmark], settings: Settings, console: Console) -> None:
    """Show the benchmarks of valid specifications, and check that everything that they name exists.

    Raises:
        SpecificationError: Something that they name does not exist.
    """
    show_benchmarks(tuple(benchmarks), console)
    raise_for_problems(benchmarks, settings)
    remarks = find_remarks(benchmarks, settings)
    _show(remarks, console)
    _say_ok(len(benchmarks), settings, remarks, console)


def validate_each(settings: Settings, console: Console) -> None:
    """Check each specification on its own, as a hook before commits needs it: equal names in two files are no problem.

    Raises:
        SpecificationError: With the problems of all.
    """
    problems: list[Problem] = []
    remarks: list[Problem] = []
    number = 0
    for file in settings.benchmark_file:
        alone = dataclasses.replace(settings, benchmark_file=(file,))
        try:
            benchmarks = load_benchmarks(alone)
        except SpecificationError as error:
            problems += error.problems
        else:
            number += len(benchmarks)
            problems += find_problems(benchmarks, alone)
            remarks += find_remarks(benchmarks, alone)
    if problems:
        raise SpecificationError(problems)
    _show(remarks, console)
    _say_ok(number, settings, remarks, console)


def _say_ok(benchmarks: int, settings: Settings, remarks: Sequence[Problem], console: Console) -> None:
    counts = f"{count(benchmarks, 'benchmark')} in {count(len(settings.benchmark_file), 'file')}"
    found = f"with {count(len(remarks), 'remark')}" if remarks else "no problems found"
    print_output(Text(f"{counts}: OK, {found}"), console)


def find_remarks(
    benchmarks: Sequence[Benchmark], settings: Settings, *, builds_runner: bool = False
) -> tuple[Problem, ...]:
    """Find likely mistakes: programs that are not given or used, words for a shell, misspelt metrics, missing parts.

    Args:
        benchmarks: What to check.
        settings: The programs that are given.
        builds_runner: Whether the command gets `{program}` from a commit, or is given one for each side.
    """
    programs: dict[Path, Problem] = {}
    for benchmark in benchmarks:
        if not builds_runner and RUNNER not in settings.program and names_placeholder(benchmark, RUNNER):
            hint = f"give it with --program PATH, unless framework `{benchmark.framework}` has a runner of its own"
            problem = make_problem(benchmark.origin, "{program} is not given", hint)
            programs.setdefault(problem.file, problem)
    first = benchmarks[0].origin.file if benchmarks else Path()
    cache = open_model_cache(settings)
    sentences = () if builds_runner else describe_unused(benchmarks, settings.program)
    unused = (Problem(first, None, "", sentence) for sentence in sentences)
    suspicious = {
        (problem.file, problem.pointer, problem.message): problem
        for benchmark in benchmarks
        for problem in (
            *_find_shell_words(benchmark),
            *_find_misspelt_metric(benchmark),
            *_find_missing_files(benchmark, cache),
        )
    }
    skipped = (make_problem(each.origin, f"skipped: {each.obstacle}", None) for each in benchmarks if each.obstacle)
    packages = _find_missing_packages(benchmarks, settings, cache, needs_runner=not builds_runner)
    return (*programs.values(), *unused, *suspicious.values(), *dict.fromkeys(skipped), *dict.fromkeys(packages))


def _find_missing_packages(
    benchmarks: Sequence[Benchmark], settings: Settings, cache: ModelCache, *, needs_runner: bool
) -> Iterator[Problem]:
    """Yield a problem for each benchmark that this installation lacks packages for, at the head of its file."""
    frameworks = {name: load_framework(name, settings) for name in {benchmark.framework for benchmark in benchmarks}}
    for benchmark in benchmarks:
        framework = frameworks[benchmark.framework]
        if not isinstance(framework, HarnessError):
            problem = find_package_problem(benchmark, framework, cache, needs_runner=needs_runner)
            if problem is not None:
                yield Problem(benchmark.origin.file, None, "", problem.message, problem.hint)


def _find_shell_words(benchmark: Benchmark) -> Iterator[Problem]:
    for word, command in find_shell_words(benchmark):
        yield make_problem(benchmark.origin, f"`{word}` in `{command}` means nothing", HINT)


def _find_misspelt_metric(benchmark: Benchmark) -> Iterator[Problem]:
    known = (*KINDS, *ENERGY_TESTS)
    similar = get_close_matches(benchmark.metric, known, 1, _SIMILAR) if benchmark.metric not in known else []
    if similar:
        message = f"the metric `{benchmark.metric}` is a word of your own, which only names the test"
        yield make_problem(benchmark.origin, message, f"did you mean `{similar[0]}`?")


def _find_missing_files(benchmark: Benchmark, cache: ModelCache) -> Iterator[Problem]:
    """Yield a problem for each local file that is not there, or is another one than promised: a run would fail."""
    for file in benchmark.required_files():
        location = None if file.export is not None else parse_location(file)
        problem = _find_file_problem(location.path, file.md5) if isinstance(location, LocalPath) else None
        if problem is not None and not _is_cached(file, benchmark, cache):
            message, hint = problem
            yield make_problem(file.origin, f"a run would fail: {message}", hint)


def _find_file_problem(path: Path, md5: str | None) -> tuple[str, str] | None:
    """Return what is wrong with a local file, and what helps; None where nothing is known to be."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode) and md5 != DIRECTORY:
            return f"{path} is a directory", f'write `"md5": "{DIRECTORY}"` to use it in place'
        if md5 in {None, DIRECTORY} or status.st_size > _HASHED_BYTES or not stat.S_ISREG(status.st_mode):
            return None
        actual = md5_of_file(path)
    except OSError as error:
        return f"{path}: {(error.strerror or str(error)).lower()}", "put the file there, or correct `location`"
    hint = f'if it was meant to change, promise `"md5": "{actual}"`; otherwise find out who changed it'
    return None if actual == md5 else (f"{path} has MD5 {actual}, not {md5}", hint)


def _is_cached(file: ModelFile, benchmark: Benchmark, cache: ModelCache) -> bool:
    """Return whether the cache has a file, which a run then takes from there."""
    with contextlib.suppress(BenchmarkFailed):  # without a promised MD5, a file is known by its place alone
        return cache.peek(file, model=benchmark.model, exporter=None) is not None
    return False


def show_plan(
    plan: Plan, settings: Settings, console: Console, *, builds_runner: bool = False, pairs: int | None = None
) -> None:
    """Show every benchmark with its device and files; what all have in common stands above the table.

    Args:
        plan: What to show.
        settings: How it would be measured.
        console: Where to show it.
        builds_runner: Whether the command gets `{program}` from a commit, or is given one for each side.
        pairs: Largest number of pairs of launches of each benchmark, of a command that compares.
    """
    cache = open_model_cache(settings)
    columns = _plan_columns([_row(assignment, plan, cache, pairs) for assignment in plan.assignments], pairs)
    equal = (column for column in columns if not column.is_informative and column.cells[0].text)
    shared = [f"{column.name} {column.cells[0].text}" for column in equal]
    print_output(Text(f"Plan: {', '.join(shared)}".rstrip(": ")), console)
    print_output(fit_table(columns, widen(console)), console)
    _show_remarks(plan.benchmarks, settings, console, builds_runner=builds_runner)


def show_benchmarks(benchmarks: Sequence[Benchmark], console: Console) -> None:
    """Show the benchmarks that specifications expand to."""
    rows = []
    for benchmark in benchmarks:
        axes = ", ".join(f"{name}={value}" for name, value in benchmark.axes.items())
        inputs = ", ".join(f"{tensor.name} {'x'.join(map(str, tensor.shape))}" for tensor in benchmark.inputs)
        data = "" if benchmark.data is None else describe_request(benchmark.data)
        rows.append((str(benchmark.id), benchmark.title, benchmark.metric, benchmark.framework, axes, inputs, data))
    columns = ["id", "benchmark", "metric", "framework", "matrix", "inputs", "data"]
    if not any(row[-1] for row in rows):
        columns.pop()
    print_output(draw_rows(columns, [row[: len(columns)] for row in rows]), console)


def describe_request(request: DataRequest) -> str:
    """Return a request for examples in a few words: `images 100`."""
    return request.provider if request.count is None else f"{request.provider} {request.count}"


def _show_remarks(
    benchmarks: Sequence[Benchmark], settings: Settings, console: Console, *, builds_runner: bool = False
) -> None:
    _show(find_remarks(benchmarks, settings, builds_runner=builds_runner), console)


def _show(remarks: Iterable[Problem], console: Console) -> None:
    for remark in remarks:
        print_output(Text(f"remark: {remark}"), console)


def count(number: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plan_columns(rows: Sequence[Sequence[str]], pairs: int | None) -> list[Column]:
    """Return the columns; on a narrow screen the number goes first, because names tell benchmarks apart, too."""
    cells = [make_cells(column) for column in zip(*rows, strict=True)]
    names = [*_PLAN]
    if pairs is not None:
        names[_LAUNCHES] = "pairs × iterations"
    return [
        Column(name, cells[number], weight=10 if name == "id" else KEEP, distinguishing=number in _OFTEN_EQUAL)
        for number, name in enumerate(names)
    ]


def _row(assignment: Assignment, plan: Plan, cache: ModelCache, pairs: int | None) -> tuple[str, ...]:
    benchmark = assignment.benchmark
    files = [f"{file.filename} ({_state(file, benchmark, plan, cache)})" for file in benchmark.required_files()]
    iterations = "" if benchmark.iterations < 0 else f" × {benchmark.iterations}"
    return (
        str(benchmark.id),
        benchmark.title,
        benchmark.framework,
        assignment.device.name,
        "" if benchmark.threads is None else str(benchmark.threads),
        f"{_count_launches(benchmark) if pairs is None else f'up to {pairs}'}{iterations}",
        "" if benchmark.time_limit_s is None else f"{benchmark.time_limit_s:g} s",
        f"skipped: {assignment.obstacle}" if assignment.obstacle else ", ".join(files),
    )


def _count_launches(benchmark: Benchmark) -> str:
    """Return the number of launches: two numbers where launches are added until the median is precise."""
    most = benchmark.looks[-1]
    return f"{benchmark.launches}" if most == benchmark.launches else f"{benchmark.launches}-{most}"


def _state(file: ModelFile, benchmark: Benchmark, plan: Plan, cache: ModelCache) -> str:
    framework = plan.frameworks[benchmark.framework]
    exporter = framework if isinstance(framework, Exporter) else None
    try:
        cached = cache.peek(file, model=benchmark.model, exporter=exporter)
    except BenchmarkFailed as error:
        return f"unavailable: {error.message}"
    if cached is not None:
        return "cached"
    return "to export" if file.export else "to fetch"
