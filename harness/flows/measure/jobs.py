"""Jobs: assignments with everything that they need, or the results of those that cannot be measured."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace
from pydantic import JsonValue

from harness.analysis.results import without_numbers
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import NO_PROGRAM, PREBUILT, Build
from harness.core.cached_files import CachedFile
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from harness.core.generation import PROMPT
from harness.core.measurement import Job
from harness.core.protocols import Framework, Generating, InputDescribing, RunnerSubstituting
from harness.core.result import Outcome, Report, Result
from harness.files.digests import md5_of_file
from harness.files.programs import RUNNER
from harness.flows.measure.compared import is_evaluated
from harness.flows.measure.given_programs import starts_any
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan, PreparedReferences, file_key

JobsAndFailures = tuple[Mapping[str, Mapping[int, Job]], Sequence[tuple[Assignment, Failure]]]
"""Jobs by device and by number of the benchmark, and the assignments that cannot be measured."""


def make_jobs(
    plan: Plan, builds: Builds, files: Files, references: PreparedReferences = MappingProxyType({})
) -> JobsAndFailures:
    """Make the jobs of a plan.

    Args:
        plan: What to measure where.
        builds: The runners.
        files: The files.
        references: What outputs are compared with, by digest of the benchmark.

    Returns:
        The jobs by device and by number of the benchmark; and the assignments that cannot be measured.
        Of a benchmark that is measured once, on whichever device is free, there is one only if no device can.
    """
    jobs: dict[str, dict[int, Job]] = {device.identity: {} for device in plan.devices}
    numbers = {id(benchmark): number for number, benchmark in enumerate(plan.benchmarks)}
    impossible: list[tuple[Assignment, Failure]] = []
    for assignment in plan.assignments:
        job = _with_references(make_job(assignment, builds, files, plan.frameworks), references)
        if isinstance(job, Job):
            jobs[assignment.device.identity][numbers[id(assignment.benchmark)]] = job
        else:
            impossible.append((assignment, job))
    if plan.spread:
        possible = {number for by_number in jobs.values() for number in by_number}
        last = {numbers[id(assignment.benchmark)]: (assignment, failure) for assignment, failure in impossible}
        impossible = [entry for number, entry in last.items() if number not in possible]
    return jobs, impossible


def _with_references(job: Job | Failure, references: PreparedReferences) -> Job | Failure:
    """Return the job with what its outputs are compared with, or why that is missing."""
    if isinstance(job, Failure):
        return job
    prepared = references.get(job.benchmark.digest)
    if isinstance(prepared, Failure):
        return prepared if is_evaluated(job.benchmark) else replace(job, unreferenced=prepared.reason)
    return replace(job, references=prepared)


def make_job(
    assignment: Assignment, builds: Builds, files: Files, frameworks: Mapping[str, Framework] = MappingProxyType({})
) -> Job | Failure:
    """Make the job of one assignment, or return why its runner or one of its files is missing."""
    if assignment.obstacle is not None:
        return Failure(Outcome.SKIPPED, assignment.obstacle)
    if assignment.failure is not None:
        return assignment.failure
    build = _find_build(assignment, builds)
    if isinstance(build, Failure):
        return build
    keys = {file.key: file_key(file, assignment.benchmark) for file in assignment.benchmark.required_files()}
    failures = (file for key in keys.values() if isinstance(file := files.get(key), Failure))
    if (failure := next(failures, None)) is not None:
        return failure  # then others may not have been fetched
    needed: dict[str, CachedFile] = {}
    for name, key in keys.items():
        file = files[key]
        if isinstance(file, CachedFile):
            needed[name] = file.model_copy(update={"key": name})
    job = Job(
        assignment.benchmark,
        build,
        needed,
        meter=assignment.meter,
        unmetered=assignment.unmetered,
        probes=assignment.probes,
    )
    return _adapt(job, frameworks.get(assignment.benchmark.framework))


def _adapt(job: Job, framework: Framework | None) -> Job | Failure:
    """Return the job with the runner that its program needs, and with the tokens of its prompt."""
    if framework is None:
        return job
    try:
        _check_inputs(job, framework)
        build = substitute_runner(framework, job.build, job.benchmark, job.files)
        return replace(job, build=build, files={**job.files, **_make_prompt(framework, job.benchmark, job.files)})
    except BenchmarkFailed as error:
        unsupported = isinstance(error, BenchmarkUnsupported)
        return Failure(Outcome.UNSUPPORTED if unsupported else Outcome.FAILED, error.message, error.hint)
    except EnvironmentProblem as error:
        return Failure(Outcome.FAILED, error.message, error.hint, is_environment_problem=True)


def _check_inputs(job: Job, framework: Framework) -> None:
    """Check that the inputs that a test names are those that its program is executed with.

    Raises:
        BenchmarkFailed: Their shapes differ, so that the numbers would be those of another amount of work.
    """
    benchmark = job.benchmark
    if not benchmark.inputs or benchmark.commands or benchmark.app is not None or benchmark.generation is not None:
        return
    if not isinstance(framework, InputDescribing):
        return
    try:
        executed = [tensor.shape for tensor in framework.describe_inputs(job)]
    except BenchmarkFailed:
        return  # its runner says what is wrong with the program
    named = [tensor.shape for tensor in benchmark.inputs]
    if executed != named:
        raise BenchmarkFailed(
            f"the test names inputs {_list_shapes(named)}, and its program is executed with {_list_shapes(executed)}",
            hint="give a program for each shape, or correct `inputs`; of a size that varies the largest is executed",
        )


def _list_shapes(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(str(list(shape)) for shape in shapes) or "none"


def substitute_runner(
    framework: Framework, build: Build, benchmark: Benchmark, files: Mapping[str, CachedFile]
) -> Build:
    """Return the runner of a benchmark: that of the device, or another one that its program needs.

    Raises:
        BuildFailed: The other one cannot be made.
    """
    if not isinstance(framework, RunnerSubstituting):
        return build
    return framework.substitute_runner(build, benchmark, files)


def _make_prompt(
    framework: Framework, benchmark: Benchmark, files: Mapping[str, CachedFile]
) -> Mapping[str, CachedFile]:
    """Return the file with the tokens of a prompt that is a text by its key, where the framework starts the program."""
    if benchmark.generation is None or benchmark.commands or not isinstance(framework, Generating):
        return {}
    path = framework.make_prompt(benchmark, files)
    if path is None:
        return {}
    size_bytes = path.stat().st_size
    return {
        PROMPT: CachedFile(
            key=PROMPT, filename=PROMPT, path=path, md5=md5_of_file(path), size_bytes=size_bytes, source=str(path)
        )
    }


def _find_build(assignment: Assignment, builds: Builds) -> Build | Failure:
    """Return the runner; an app that was not built is installed on the device already."""
    build = builds.get((assignment.benchmark.framework, assignment.device.identity))
    if isinstance(build, Build):
        return _leave_out_unused(build, assignment.benchmark)
    if build is not None:
        return build
    app = assignment.benchmark.app
    return Build(source="app", commit="installed" if app is None else app.package)


def _leave_out_unused(build: Build, benchmark: Benchmark) -> Build:
    """Return a build without the given programs where the benchmark starts none: they have no part in its numbers."""
    if build.source != PREBUILT or starts_any(benchmark, build.programs):
        return build
    is_named = build.commit != build.flags.get(RUNNER, build.digest)[:12]
    commit = build.commit if is_named else NO_PROGRAM
    return Build(source=NO_PROGRAM, commit=commit, commit_time=build.commit_time, variables=build.variables)


def report_meta(settings: Settings) -> dict[str, JsonValue]:
    """Return the free values of every result, with the user and what an earlier run called regressed."""
    values: dict[str, JsonValue] = {
        "user": settings.user,
        "user_identifier": settings.user_identifier,
        "regressed_types": list(settings.regressed_types) or None,
    }
    return {**settings.meta, **{key: value for key, value in values.items() if value is not None}}


def mark_regressed(result: Result, settings: Settings) -> Result:
    """Mark the metrics that an earlier run called regressed, as FAI-PEP does.

    FAI-PEP compared types such as `NET` with names such as `NET latency`, and never found one. Here both are found.
    """
    names = frozenset(settings.regressed_types)
    if not names:
        return result
    metrics = (
        metric.model_copy(update={"regressed": bool(names & {metric.type, metric.name})}) for metric in result.metrics
    )
    return result.model_copy(update={"metrics": tuple(metrics)})


def report_failure(
    benchmark: Benchmark, device: Device | None, failure: Failure, settings: Settings, *, build: Build | None = None
) -> Report:
    """Return the report of a benchmark that could not be measured."""
    result = without_numbers(
        benchmark,
        device,
        build,
        outcome=failure.outcome,
        reason=failure.reason,
        hint=failure.hint,
        now=time.time(),
        run_type=settings.run_type,
        meta=report_meta(settings),
    )
    return Report(result=result)
