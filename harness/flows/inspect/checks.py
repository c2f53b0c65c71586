"""`validate` and `--dry-run`: what looks and touches nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, ModelFile, Origin
from harness.core.errors import (
    BenchmarkFailed,
    EnvironmentProblem,
    ExportFailed,
    HarnessError,
    Problem,
    SpecificationError,
    UsageError,
)
from harness.core.placeholders import find_placeholders
from harness.core.protocols import Exporter, Framework
from harness.display.tables import fit_table, widen
from harness.flows.inspect.showing import cell, show
from harness.flows.measure.plan import Assignment, Plan
from harness.models.cache import ModelCache
from harness.presentation.tables import KEEP, Column, make_cells

_PLAN = ("id", "benchmark", "framework", "device", "threads", "launches × iterations", "limit", "files")
_ALIKE = frozenset(_PLAN[2:7])
"""What benchmarks of a plan often have in common."""

_OPERATORS = frozenset(("|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"))
"""Words that only a shell understands."""


def validate(benchmarks: Sequence[Benchmark], settings: Settings, console: Console) -> None:
    """Show what specifications that could be loaded expand to, and look at what they name.

    Raises:
        SpecificationError: Something they name does not exist.
    """
    show_benchmarks(tuple(benchmarks), console)
    refuse(benchmarks, settings)
    _remark(benchmarks, settings, console)
    read = f"{_counted(len(benchmarks), 'benchmark')} in {_counted(len(settings.benchmark_file), 'file')}"
    show(Text(f"{read}: nothing to complain about"), console)


def refuse(benchmarks: Sequence[Benchmark], settings: Settings) -> None:
    """End when something that the benchmarks name does not exist.

    Raises:
        SpecificationError: With every problem.
    """
    found = problems(benchmarks, settings)
    if found:
        raise SpecificationError(found)


def problems(benchmarks: Sequence[Benchmark], settings: Settings) -> tuple[Problem, ...]:
    """What benchmarks name and what does not exist: frameworks, models to export, recipes.

    Nothing is built, fetched or exported. Each problem is told once, at the first place that has it.

    Args:
        benchmarks: The benchmarks as they were loaded.
        settings: The settings that a run would have.
    """
    frameworks = {name: _framework(name, settings) for name in {benchmark.framework for benchmark in benchmarks}}
    found: dict[tuple[Path, str], Problem] = {}
    for benchmark in benchmarks:
        framework = frameworks[benchmark.framework]
        if isinstance(framework, HarnessError):
            told = [_problem(benchmark.origin, framework.message, framework.hint)]
        else:
            told = [problem for file in benchmark.required_files() for problem in _export_problems(file, framework)]
        for problem in told:
            found.setdefault((problem.file, problem.message), problem)
    return tuple(found.values())


def remarks(benchmarks: Sequence[Benchmark], settings: Settings) -> tuple[Problem, ...]:
    """What is odd: programs that are used and that nobody has given, and command lines that are meant for a shell."""
    found: dict[Path, Problem] = {}
    for benchmark in benchmarks:
        if "program" not in settings.program and _uses(benchmark, "program"):
            hint = f"give it with --program PATH, unless framework `{benchmark.framework}` has a runner of its own"
            problem = _problem(benchmark.origin, "{program} is not given", hint)
            found.setdefault(problem.file, problem)
    told = {(one.file, one.pointer, one.message): one for benchmark in benchmarks for one in _for_a_shell(benchmark)}
    return (*found.values(), *told.values())


def _for_a_shell(benchmark: Benchmark) -> Iterator[Problem]:
    for command in _commands(benchmark):
        words = [word for word in shlex.split(command) if word in _OPERATORS or word.startswith(("$(", "`"))]
        if words:
            hint = "the words are given to the program as they are: no shell runs; use `sh -c '...'`"
            yield _problem(benchmark.origin, f"`{words[0]}` in `{command}` means nothing", hint)


def show_plan(plan: Plan, settings: Settings, console: Console) -> None:
    """Show every benchmark with its device and files; what all have in common stands above the table.

    Raises:
        SpecificationError: Something that a benchmark names does not exist.
    """
    cache = ModelCache(settings.model_cache)
    columns = _plan_columns([_row(one, plan, cache) for one in plan.assignments])
    shared = [f"{one.name} {one.cells[0].text}" for one in columns if not one.is_informative and one.cells[0].text]
    show(Text(f"Plan: {', '.join(shared)}".rstrip(": ")), console)
    show(fit_table(columns, widen(console)), console)
    refuse(plan.benchmarks, settings)
    _remark(plan.benchmarks, settings, console)


def show_benchmarks(benchmarks: Sequence[Benchmark], console: Console) -> None:
    """What a valid specification expands to."""
    rows = []
    for one in benchmarks:
        axes = ", ".join(f"{name}={value}" for name, value in one.axes.items())
        inputs = ", ".join(f"{tensor.name} {'x'.join(map(str, tensor.shape))}" for tensor in one.inputs)
        rows.append((str(one.id), one.title, one.metric, one.framework, axes, inputs))
    show(_table(("id", "benchmark", "metric", "framework", "matrix", "inputs"), rows), console)


def _framework(name: str, settings: Settings) -> Framework | HarnessError:
    """The framework, or why there is none."""
    try:
        return plugins.framework(name, settings)
    except (UsageError, EnvironmentProblem) as error:
        return error


def _export_problems(file: ModelFile, framework: Framework) -> Iterator[Problem]:
    if file.export is None:
        return
    if not isinstance(framework, Exporter):
        message = f"framework `{framework.name}` exports no models"
        yield _problem(file.origin, message, "give a `location` instead of an `export`")
        return
    try:
        framework.fingerprint(file.export)
    except ExportFailed as error:
        yield _problem(file.origin, error.message, error.hint)


def _uses(benchmark: Benchmark, name: str) -> bool:
    """Whether a command names a placeholder, directly or through other values, that nothing defines."""
    waiting = _commands(benchmark)
    used: set[str] = set()
    while waiting:
        new = set(find_placeholders(waiting.pop())) - used
        used |= new
        waiting.extend(benchmark.variables[one] for one in new if one in benchmark.variables)
    return name in used and name not in benchmark.variables


def _commands(benchmark: Benchmark) -> list[str]:
    """Every command line: on the device, then on the host."""
    steps = (benchmark.model_before, benchmark.model_after, benchmark.before, benchmark.after)
    return [*benchmark.commands, *(command for step in steps for command in step.commands)]


def _problem(place: Origin, message: str, hint: str | None) -> Problem:
    return Problem(place.file, place.line, place.pointer, message, hint)


def _remark(benchmarks: Sequence[Benchmark], settings: Settings, console: Console) -> None:
    for remark in remarks(benchmarks, settings):
        show(Text(f"remark: {remark}"), console)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in header:
        table.add_column(name)
    for row in rows:
        table.add_row(*map(cell, row))
    return table


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _plan_columns(rows: Sequence[Sequence[str]]) -> list[Column]:
    """Of a narrow screen the number goes first: names tell benchmarks apart, too."""
    cells = [make_cells(column) for column in zip(*rows, strict=True)]
    return [
        Column(name, cells[number], weight=10 if name == "id" else KEEP, distinguishing=name in _ALIKE)
        for number, name in enumerate(_PLAN)
    ]


def _row(one: Assignment, plan: Plan, cache: ModelCache) -> tuple[str, ...]:
    benchmark = one.benchmark
    files = [f"{file.filename} ({_state(file, benchmark, plan, cache)})" for file in benchmark.required_files()]
    iterations = "" if benchmark.iterations < 0 else f" × {benchmark.iterations}"
    return (
        str(benchmark.id),
        benchmark.title,
        benchmark.framework,
        one.device.name,
        "" if benchmark.threads is None else str(benchmark.threads),
        f"{benchmark.launches}{iterations}",
        "" if benchmark.time_limit_s is None else f"{benchmark.time_limit_s:g} s",
        f"skipped: {one.obstacle}" if one.obstacle else ", ".join(files),
    )


def _state(file: ModelFile, benchmark: Benchmark, plan: Plan, cache: ModelCache) -> str:
    framework = plan.frameworks[benchmark.framework]
    exporter = framework if isinstance(framework, Exporter) else None
    try:
        cached = cache.peek(file, model=benchmark.model, exporter=exporter)
    except BenchmarkFailed as error:
        return f"cannot be had: {error.message}"
    if cached is not None:
        return "cached"
    return "to export" if file.export else "to fetch"
