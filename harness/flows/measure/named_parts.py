"""What benchmarks name and installed plug-ins must have: frameworks, model definitions and recipes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Export, ModelFile, SpecificationPlace
from harness.core.errors import (
    BenchmarkUnsupported,
    EnvironmentProblem,
    ExportFailed,
    HarnessError,
    Problem,
    SpecificationError,
    UsageError,
)
from harness.core.examples import DataRequest
from harness.core.placeholders import suggest
from harness.core.protocols import BackendOptionChecking, ExportChecking, Exporter, Framework, Generating
from harness.specification.fai_pep import COMMANDS_FRAMEWORK


def raise_for_problems(benchmarks: Sequence[Benchmark], settings: Settings) -> None:
    """Raise every problem that there is.

    Raises:
        SpecificationError: Something that the benchmarks name does not exist.
    """
    problems = find_problems(benchmarks, settings)
    if problems:
        raise SpecificationError(problems)


def find_problems(benchmarks: Sequence[Benchmark], settings: Settings) -> tuple[Problem, ...]:
    """Find frameworks, models to export and recipes that benchmarks name and that do not exist.

    Nothing is built, fetched or exported. Each problem is listed once, at the first place that has it. The exports of a
    framework that does not exist are checked with the one of a similar name: a misspelt name hides nothing else.

    Args:
        benchmarks: The benchmarks as they were loaded.
        settings: The settings that a run would have.
    """
    frameworks = {name: load_framework(name, settings) for name in {benchmark.framework for benchmark in benchmarks}}
    distinct: dict[tuple[Path, str], Problem] = {}
    for benchmark in benchmarks:
        for problem in _find_problems(benchmark, frameworks[benchmark.framework], settings):
            distinct.setdefault((problem.file, problem.message), problem)
    return tuple(distinct.values())


def load_frameworks(benchmarks: Sequence[Benchmark], settings: Settings) -> Mapping[str, Framework]:
    """Load the frameworks of benchmarks, by name.

    Raises:
        SpecificationError: One is not installed; with everything else that the benchmarks name in vain.
        UsageError: That of `--framework` is not installed.
        EnvironmentProblem: One cannot be loaded.
    """
    loaded: dict[str, Framework] = {}
    for name in {benchmark.framework for benchmark in benchmarks}:
        try:
            loaded[name] = plugins.framework(name, settings)
        except UsageError:
            if name == settings.framework:
                raise
            raise_for_problems(benchmarks, settings)
            raise
    return loaded


def load_framework(name: str, settings: Settings) -> Framework | HarnessError:
    """Return the framework, or why there is none."""
    try:
        return plugins.framework(name, settings)
    except UsageError as error:
        instead = f"--framework {COMMANDS_FRAMEWORK} runs commands whose programs print observer lines"
        return UsageError(error.message, hint=f"{instead}; {error.hint}")
    except EnvironmentProblem as error:
        return error


def check_export(export: Export, exporter: Exporter) -> None:
    """Check that definition and recipe exist.

    Raises:
        ExportFailed: One does not, or cannot be loaded.
    """
    if isinstance(exporter, ExportChecking):
        exporter.check_export(export)
    else:
        exporter.fingerprint(export)


def make_problem(place: SpecificationPlace, message: str, hint: str | None) -> Problem:
    """Return a problem at a place."""
    return Problem(place.file, place.line, place.pointer, message, hint)


def _find_problems(benchmark: Benchmark, framework: Framework | HarnessError, settings: Settings) -> Iterator[Problem]:
    if isinstance(framework, HarnessError):
        place = benchmark.origin if benchmark.framework == settings.framework else benchmark.framework_origin
        yield make_problem(place or benchmark.origin, framework.message, framework.hint)
        similar = difflib.get_close_matches(benchmark.framework, plugins.installed_names("framework"), n=1)
        substitute = load_framework(similar[0], settings) if similar else framework
        if isinstance(substitute, HarnessError):
            return
        framework = substitute
    yield from _find_option_problems(benchmark, framework)
    yield from _find_generation_problems(benchmark, framework)
    yield from _find_probe_problems(benchmark)
    if benchmark.data is not None:
        yield from _find_data_problems(benchmark.data, benchmark.origin)
    for file in benchmark.required_files():
        yield from _find_export_problems(file, framework)
        if file.export is not None and file.export.calibration_data is not None:
            yield from _find_data_problems(file.export.calibration_data, file.origin)


def _find_option_problems(benchmark: Benchmark, framework: Framework) -> Iterator[Problem]:
    if not benchmark.backend_options:
        return
    if not isinstance(framework, BackendOptionChecking):
        names = ", ".join(f"`{name}`" for name in benchmark.backend_options)
        message = f"`backend_options`: framework `{framework.name}` has none, and {names} would be ignored"
        yield make_problem(benchmark.origin, message, "leave them out, or give them to the program as arguments")
        return
    try:
        framework.check_backend_options(benchmark)
    except BenchmarkUnsupported as error:
        yield make_problem(benchmark.origin, error.message, error.hint)


def _find_generation_problems(benchmark: Benchmark, framework: Framework) -> Iterator[Problem]:
    if benchmark.generation is None or benchmark.commands:
        return
    if not isinstance(framework, Generating):
        message = f"`generation`: framework `{framework.name}` cannot generate tokens"
        yield make_problem(benchmark.origin, message, "leave it out, or start a program that does in `commands`")
        return
    try:
        framework.check_generation(benchmark)
    except BenchmarkUnsupported as error:
        yield make_problem(benchmark.origin, error.message, error.hint)


def _find_probe_problems(benchmark: Benchmark) -> Iterator[Problem]:
    for request in benchmark.probes:
        if request.name:  # the default of a device is chosen when that is known
            try:
                plugins.probe(request)
            except UsageError as error:
                yield make_problem(benchmark.origin, error.message, error.hint)
            except EnvironmentProblem:  # the pass will be skipped with this reason
                continue


def _find_data_problems(request: DataRequest, place: SpecificationPlace) -> Iterator[Problem]:
    known = plugins.installed_names("data provider")
    if request.provider not in known:
        hint = suggest(request.provider, known) or f"installed: {', '.join(known) or 'none'}"
        yield make_problem(place, f"no data set `{request.provider}`", hint)


def _find_export_problems(file: ModelFile, framework: Framework) -> Iterator[Problem]:
    if file.export is None:
        return
    if not isinstance(framework, Exporter):
        message = f"framework `{framework.name}` exports no models"
        yield make_problem(file.origin, message, "give a `location` instead of an `export`")
        return
    try:
        check_export(file.export, framework)
    except ExportFailed as error:
        for part in error.parts or (error,):
            yield make_problem(file.origin, part.message, part.hint)
