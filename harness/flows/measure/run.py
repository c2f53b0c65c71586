"""Measuring as stages: examine, fetch, build, export, measure, report. Each takes values and returns values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.errors import ExitCode, most_severe
from harness.core.protocols import Progress, Reporter, app_suffix, is_local
from harness.core.reproduction import Reproduction
from harness.core.result import Result
from harness.flows.measure.compared import is_compared
from harness.flows.measure.example_sets import open_model_cache
from harness.flows.measure.fetching import export, fetch_given, files_exit_code
from harness.flows.measure.given_programs import describe_unused, require_program
from harness.flows.measure.jobs import JobsAndFailures, make_jobs, report_failure
from harness.flows.measure.plan import Builds, Failure, Files, Plan, PreparedReferences
from harness.flows.measure.preflight import examine, examine_packages, plan_exit_code
from harness.flows.measure.queues import DedicatedQueue, SharedQueue
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.reproduction import reproduce_run
from harness.flows.measure.runners import Side, build_side, installed_runner
from harness.flows.measure.worker import Worker
from harness.shell.threads import wait_for_all


def run(
    plan: Plan,
    settings: Settings,
    progress: Progress,
    side: Side = installed_runner,
    *,
    reporters: Sequence[Reporter] | None = None,
    listeners: Sequence[Reporter] = (),
    reproduce: Callable[[Result], Reproduction | None] | None = None,
    kept_outputs: Path | None = None,
    counted: str = "",
    judge: Callable[[Result], Result] = lambda result: result,
) -> ExitCode:
    """Measure every benchmark of the plan once, and report.

    Args:
        plan: What to measure where.
        settings: How to measure, and which reporters get the results.
        progress: Shows what happens.
        side: Source of the runner.
        reporters: Get the results instead of those of the settings.
        listeners: Receive each result, beside the reporters.
        reproduce: Returns the command that measures a result once more (default: that of `harness run`).
        kept_outputs: Folder to keep the outputs of the only evaluated benchmark in; None keeps none.
        counted: Sentence of the summary about what it counts; empty where that is the benchmarks.
        judge: Returns a result as what it is in this command, which may ask for more than its benchmark.
    """
    reproduce = reproduce or partial(reproduce_run, settings=settings, side=side, platform=plan.platform)
    reporters = prepare_reporters(settings) if reporters is None else reporters
    reporting = Reporting(reporters, progress, listeners, reproduce, judge=judge)
    try:
        if side is installed_runner:
            for sentence in describe_unused(plan.benchmarks, settings.program):
                progress.warn(f"! {sentence}")
        plan, builds, files = gather(plan, settings, progress, side)
        require_program(plan, builds)
        references = _prepare_references(plan.keep_possible(files), files, settings, progress, kept_outputs)
        jobs = make_jobs(plan, builds, files, references)
        if references and not is_local(plan.platform):
            from harness.flows.measure.host_outputs import add_host_outputs  # noqa: PLC0415 - only evaluations need it

            jobs = add_host_outputs(jobs, plan, settings, progress)
        devices = measure_all(plan, jobs, settings=settings, reporting=reporting, progress=progress)
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept())
        raise
    finally:
        reporting.close()
    progress.say(reporting.summary(settings.local_reporter, counted))
    return reporting.exit_code(plan_exit_code(plan), builds_exit_code(builds), files_exit_code(files), devices)


def gather(plan: Plan, settings: Settings, progress: Progress, side: Side) -> tuple[Plan, Builds, Files]:
    """Gather everything that jobs are made of: examine devices and packages, fetch, build, export.

    Returns:
        The plan with what stands in the way of its assignments, the runners, and the files.
    """
    needs_runner = side is installed_runner
    plan = examine_packages(plan, open_model_cache(settings), progress, needs_runner=needs_runner)
    plan = examine(plan, progress, apps=not _is_app_given(plan, settings))
    given = fetch_given(plan, settings, progress)
    builds = build(plan.keep_possible(given), settings, progress, side)
    return plan, builds, export(plan, given, [builds], settings, progress)


def _prepare_references(
    plan: Plan, files: Files, settings: Settings, progress: Progress, kept_outputs: Path | None
) -> PreparedReferences:
    if not any(map(is_compared, plan.benchmarks)):
        return {}
    from harness.flows.measure.references import prepare_references  # noqa: PLC0415 - only evaluations need it

    return prepare_references(plan, files, settings, progress, kept_outputs)


def build(plan: Plan, settings: Settings, progress: Progress, side: Side) -> Builds:
    """Get the runner of every framework for every device."""
    builds = build_side(plan, side, progress, app_given=_is_app_given(plan, settings), digests=settings.build_digest)
    return {key: result if isinstance(result, Failure) else _rename(result, settings) for key, result in builds.items()}


def _is_app_given(plan: Plan, settings: Settings) -> bool:
    suffix = app_suffix(plan.platform)
    return bool(suffix) and any(path.name.endswith(suffix) for path in settings.program.values())


def _rename(build: Build, settings: Settings) -> Build:
    """Return the build under the commit that the user gave the program, if any."""
    if settings.commit is None:
        return build
    return build.model_copy(update={"commit": settings.commit, "commit_time": settings.commit_time, "commit_name": ""})


def measure_all(
    plan: Plan, made: JobsAndFailures, *, settings: Settings, reporting: Reporting, progress: Progress
) -> ExitCode:
    """Measure on every device at once, on each of them one benchmark after the other.

    Args:
        plan: The platform, the frameworks and the devices.
        made: The jobs, and the assignments that cannot be measured (`make_jobs`).
        settings: How to measure.
        reporting: Receives each result.
        progress: Shows what happens.

    Returns:
        `ENVIRONMENT` if a benchmark was not measured because its device could not be used.
    """
    jobs, impossible = made
    for assignment, failure in impossible:
        reporting.report(report_failure(assignment.benchmark, assignment.device, failure, settings))
    shared = SharedQueue(jobs) if plan.spread else None
    workers = [
        Worker(
            device,
            shared.for_device(device.identity) if shared else DedicatedQueue(jobs[device.identity].values()),
            plan,
            settings=settings,
            reporting=reporting,
            progress=progress,
        )
        for device in plan.devices
    ]
    with ThreadPoolExecutor(len(workers)) as pool:
        codes = [pool.submit(worker.run) for worker in workers]
        wait_for_all(codes)
        return most_severe(code.result() for code in codes)


def builds_exit_code(builds: Builds) -> ExitCode:
    """Return `ENVIRONMENT` if a runner could not be had because of this machine."""
    failed = any(isinstance(result, Failure) and result.is_environment_problem for result in builds.values())
    return ExitCode.ENVIRONMENT if failed else ExitCode.OK
