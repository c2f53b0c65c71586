"""Examining devices and packages before anything that takes long: what a person must do first is told at once."""

from __future__ import annotations

from msgspec.structs import replace

from harness.core.benchmark import FRAMEWORK_AXIS, Benchmark
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem, ExitCode
from harness.core.outcome import Outcome
from harness.core.protocols import Exporter, Framework, PackageChecking, Platform, Preflighting, Progress
from harness.flows.measure.plan import Assignment, Failure, Plan
from harness.models.cache import ModelCache


def examine_packages(plan: Plan, cache: ModelCache, progress: Progress, *, needs_runner: bool) -> Plan:
    """Return the plan with the failures for want of packages, each told once.

    A benchmark whose framework is an axis is skipped: its specification is for every framework, installed or not.

    Args:
        plan: What to measure where.
        cache: Where exported models are, which need no package any more.
        progress: Told what is missing.
        needs_runner: Whether the frameworks' installed runners are used.

    Raises:
        EnvironmentProblem: Without packages that are missing nothing can be measured: there is nothing to store either.
    """

    def examined(assignment: Assignment) -> Assignment:
        benchmark = assignment.benchmark
        if not assignment.is_possible:
            return assignment
        problem = find_package_problem(
            benchmark, plan.frameworks[benchmark.framework], cache, needs_runner=needs_runner
        )
        if problem is None:
            return assignment
        is_skipped = FRAMEWORK_AXIS in benchmark.axes
        outcome = Outcome.SKIPPED if is_skipped else Outcome.FAILED
        failure = Failure(outcome, problem.message, problem.hint, is_environment_problem=not is_skipped)
        return replace(assignment, failure=failure)

    assignments = tuple(map(examined, plan.assignments))
    found = {
        assignment.failure.reason: assignment.failure
        for before, assignment in zip(plan.assignments, assignments, strict=True)
        if before.is_possible and assignment.failure is not None
    }
    lacking = [failure for failure in found.values() if failure.is_environment_problem]
    if lacking and not any(assignment.is_possible for assignment in assignments):
        reasons = "; ".join(failure.reason for failure in lacking)
        hints = dict.fromkeys(failure.hint for failure in lacking if failure.hint is not None)
        raise EnvironmentProblem(f"nothing can be measured: {reasons}", hint=" and ".join(hints) or None)
    for failure in found.values():
        progress.say(f"{'✗' if failure.is_environment_problem else '-'} {failure.reason}")
    return replace(plan, assignments=assignments)


def find_package_problem(
    benchmark: Benchmark, framework: Framework, cache: ModelCache, *, needs_runner: bool
) -> EnvironmentProblem | None:
    """Return which packages a benchmark lacks: for its runner, or for an export that is not in the cache yet."""
    if not isinstance(framework, PackageChecking):
        return None
    if needs_runner and benchmark.app is None and (problem := framework.find_runner_problem()) is not None:
        return problem
    exporter = framework if isinstance(framework, Exporter) else None
    for file in benchmark.required_files():
        try:
            problem = None if file.export is None else framework.find_export_problem(file.export)
            if problem is not None and cache.peek(file, model=benchmark.model, exporter=exporter) is None:
                return problem
        except BenchmarkFailed:
            continue  # the specification is wrong, which is told where the file is fetched
    return None


def examine(plan: Plan, progress: Progress, *, apps: bool = False) -> Plan:
    """Return the plan with the failures that its devices show already, each told once.

    A device that cannot be asked now keeps its assignments: it is waited for when it is opened.

    Args:
        plan: What to measure where.
        progress: Told what stands in the way.
        apps: Whether apps are started that must be installed.
    """
    if not isinstance(plan.platform, Preflighting):
        return plan
    failures: dict[tuple[str, str | None], Failure | None] = {}

    def find(device: Device, package: str | None) -> Failure | None:
        key = (device.identity, package)
        if key not in failures:
            failures[key] = _examine(plan.platform, device, package)
            if (failure := failures[key]) is not None:
                progress.warn(f"✗ {failure.reason}")
        return failures[key]

    def examined(assignment: Assignment) -> Assignment:
        if not assignment.is_possible:
            return assignment
        failure, app = find(assignment.device, None), assignment.benchmark.app
        if failure is None and apps and app is not None:
            failure = find(assignment.device, app.package)
        return replace(assignment, failure=failure)

    return replace(plan, assignments=tuple(map(examined, plan.assignments)))


def plan_exit_code(plan: Plan) -> ExitCode:
    """Return `ENVIRONMENT` if a device of an examined plan cannot be used, or a package is missing."""
    failures = [assignment.failure for assignment in plan.assignments if assignment.failure is not None]
    return ExitCode.ENVIRONMENT if any(failure.is_environment_problem for failure in failures) else ExitCode.OK


def _examine(platform: Platform, device: Device, package: str | None) -> Failure | None:
    if not isinstance(platform, Preflighting):
        return None
    try:
        platform.preflight(device, package)
    except BenchmarkUnsupported as error:
        return Failure(Outcome.UNSUPPORTED, error.message, error.hint)
    except DeviceLost:
        return None
    except EnvironmentProblem as error:
        return Failure(Outcome.FAILED, error.message, error.hint, is_environment_problem=True)
    return None
