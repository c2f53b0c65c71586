"""Programs that the user gives, and whether benchmarks start them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.errors import UsageError
from harness.core.placeholders import find_placeholders
from harness.core.protocols import Platform, is_local
from harness.files.libraries import is_library
from harness.files.programs import RUNNER
from harness.flows.measure.plan import Assignment, Builds, Plan

_WORD: Final = re.compile(r"[\w.+/-]+")
"""A word of a command line that may be a file."""

_MODELS: Final = frozenset({".gguf", ".onnx", ".pt", ".pte", ".ptl", ".tflite", ".xml"})
"""Suffixes of model files of our frameworks."""

_FOLDER: Final = "TGTDIR"
"""Placeholder of the folder on the device where all programs are."""


def starts_any(benchmark: Benchmark, programs: Mapping[str, Path]) -> bool:
    """Return whether the commands of a benchmark can start one of the programs; the framework's own do.

    Args:
        benchmark: The benchmark.
        programs: Path of each by placeholder.
    """
    files = {path.resolve() for path in programs.values()}
    absolute = (word for word in _words(benchmark) if word.startswith("/"))
    return depends_on(benchmark, programs) or any(Path(word).resolve() in files for word in absolute)


def depends_on(benchmark: Benchmark, programs: Mapping[str, Path]) -> bool:
    """Return whether other programs in the place of these would be started: not where a command names a file.

    Arguments as for `starts_any`.
    """
    if not benchmark.commands or benchmark.app is not None:
        return True
    placeholders = {name for text in _texts(benchmark) for name in find_placeholders(text)}
    further = {name: path for name, path in programs.items() if name != RUNNER}  # libraries, found by their names
    names = {*further, *(path.name for path in further.values())}
    parts = {part for word in _words(benchmark) if not word.startswith("/") for part in word.split("/")}
    return not {*programs, _FOLDER}.isdisjoint(placeholders) or not names.isdisjoint(parts)


def _texts(benchmark: Benchmark) -> Sequence[str]:
    """Return everything of a benchmark that may name a program."""
    values = (*benchmark.env.values(), *benchmark.variables.values())
    return (*benchmark.command_lines, benchmark.arguments, *values)


def _words(benchmark: Benchmark) -> Iterator[str]:
    return (word for text in _texts(benchmark) for word in _WORD.findall(text))


def names_placeholder(benchmark: Benchmark, name: str) -> bool:
    """Return whether a command names a placeholder, directly or through other values, that nothing defines."""
    waiting = list(benchmark.command_lines)
    used: set[str] = set()
    while waiting:
        new = set(find_placeholders(waiting.pop())) - used
        used |= new
        waiting.extend(benchmark.variables[placeholder] for placeholder in new if placeholder in benchmark.variables)
    return name in used and name not in benchmark.variables


def reject_unexecutable(programs: Mapping[str, Path], platform: Platform) -> None:
    """Reject programs for this machine that cannot be executed and are no libraries; devices get executable copies.

    Raises:
        UsageError: There is one.
    """
    for path in programs.values() if is_local(platform) else ():
        if not is_library(path) and not os.access(path, os.X_OK):
            raise UsageError(f"the program {path} cannot be executed", hint=hint_at_executing(path))


def hint_at_executing(path: Path) -> str:
    """Return what to do about a file that was given as a program and cannot be executed."""
    if path.suffix.lower() in _MODELS:
        return "a model is no program: `files` of a specification names it, and the framework starts it"
    return f"chmod +x {shlex.quote(str(path))}"


def require_program(plan: Plan, builds: Builds) -> None:
    """Reject a run in which nothing can start, because every benchmark starts a program that nobody gave.

    Raises:
        UsageError: That is so.
    """
    if plan.assignments and all(_lacks_program(assignment, builds) for assignment in plan.assignments):
        raise UsageError(
            "no program is given, and every benchmark starts {program}", hint="name it with --program PATH"
        )


def _lacks_program(assignment: Assignment, builds: Builds) -> bool:
    if not assignment.is_possible:
        return False
    benchmark = assignment.benchmark
    build = builds.get((benchmark.framework, assignment.device.identity))
    return isinstance(build, Build) and RUNNER not in build.programs and names_placeholder(benchmark, RUNNER)


def describe_unused(benchmarks: Sequence[Benchmark], programs: Mapping[str, Path]) -> tuple[str, ...]:
    """Return a sentence for each program that no benchmark starts."""
    return tuple(
        f"--program {path if name == RUNNER else f'{name}={path}'} is not used: no command starts it; "
        f"write {{{name}}} where one should"
        for name, path in programs.items()
        if not any(starts_any(benchmark, {name: path}) for benchmark in benchmarks)
    )
