"""Examining devices before anything that takes long: what a person must do first is told in the first second."""

from __future__ import annotations

from dataclasses import replace

from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem, ExitCode
from harness.core.protocols import Platform, Preflighting, Progress
from harness.core.result import Outcome
from harness.flows.measure.plan import Assignment, Failure, Plan


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
    """Return `ENVIRONMENT` if a device of an examined plan cannot be used."""
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
