"""Ranking as stages: gather, prove the same work, launch in rounds, report every program with its rank."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from harness.analysis.results import build_result
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, ExitCode
from harness.core.measurement import Job
from harness.core.protocols import Display, ReferenceMaking
from harness.core.ranking import Rank, RankingParameters
from harness.core.reproduction import Reproduction
from harness.core.result import Outcome, Report, Result
from harness.core.same_work import SameWorkRequest, WorkVerdict
from harness.files.drafts import open_scratch_folder
from harness.flows.compare.reports import trust_paired_noise
from harness.flows.measure.compared import executes_examples
from harness.flows.measure.fetching import files_exit_code
from harness.flows.measure.jobs import make_job, mark_regressed, report_failure, report_meta
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan
from harness.flows.measure.preflight import plan_exit_code
from harness.flows.measure.references import prepare_references
from harness.flows.measure.reporting import CollectingReporter, Reporting, prepare_reporters
from harness.flows.measure.reproduction import reproduce_run
from harness.flows.measure.run import builds_exit_code, gather
from harness.flows.measure.runners import installed_runner
from harness.flows.measure.workload import load_workload
from harness.flows.rank.groups import RankingGroup, group_benchmarks
from harness.flows.rank.ranking_run import RankedMeasurement, RankingRun


def rank(settings: Settings, parameters: RankingParameters, display: Display) -> tuple[ExitCode, tuple[Result, ...]]:
    """Rank the benchmarks of specifications, those of each model and device among themselves.

    Args:
        settings: What to measure, and how.
        parameters: How to decide.
        display: Shows what happens.

    Returns:
        The exit code, and the results: by ranking those that have a rank, in its order, and then the others.

    Raises:
        UsageError: There is nothing to rank, or specifications are wrong.
    """
    workload = load_workload(settings)
    request = SameWorkRequest(tolerance=parameters.tolerance)
    asked = [
        benchmark.model_copy(update={"same_work": benchmark.same_work or request}) for benchmark in workload.benchmarks
    ]
    groups = group_benchmarks(asked)
    plan = replace(workload, benchmarks=tuple(asked)).plan(display)
    collector = CollectingReporter()
    command = ("harness", "rank", *_parameter_words(parameters))
    reproducing = _Reproducing(
        partial(reproduce_run, settings=settings, side=installed_runner, platform=plan.platform, command=command)
    )
    reporting = Reporting(prepare_reporters(settings), display, [collector], reproducing.reproduce)
    try:
        plan, builds, files = gather(plan, settings, display, installed_runner)
        jobs = _Jobs(plan, builds, files, settings, display)
        for device in plan.devices:
            for reports in _rank_device(device, groups, jobs, parameters):
                reproducing.ranked = [report.result for report in reports]
                for report in reports:
                    reporting.report(report)
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept())
        raise
    finally:
        reporting.close()
    display.say(reporting.summary(settings.local_reporter))
    codes = (plan_exit_code(plan), builds_exit_code(builds), files_exit_code(files))
    undecided = [ExitCode.UNDECIDED] if any(map(_is_undecided, collector.results)) else []
    if others := [result.benchmark.title for result in collector.results if result.ok and _is_other_work(result)]:
        display.say(f"? a person has to decide about {', '.join(others)}: not the same work, or not shown to be")
    return reporting.exit_code(*codes, *undecided), tuple(collector.results)


def _parameter_words(parameters: RankingParameters) -> Iterator[str]:
    """Yield the flags of the seed, and of the parameters that are not at their defaults."""
    values = {
        "--margin": parameters.margin,
        "--alpha": parameters.alpha,
        "--tolerance": parameters.tolerance,
        "--rounds": parameters.max_rounds,
        "--seconds": parameters.max_seconds,
    }
    default = RankingParameters(seed=parameters.seed)
    usual = (default.margin, default.alpha, default.tolerance, default.max_rounds, default.max_seconds)
    for (flag, value), unchanged in zip(values.items(), usual, strict=True):
        if value is not None and value != unchanged:
            yield from (flag, str(value))
    yield from ("--seed", str(parameters.seed))


class _Reproducing:
    """Commands that rank again: a program is not ranked without the others of its ranking.

    Args:
        reproduce: Returns the command that would rank one result, were it alone.

    Attributes:
        ranked: Results of the ranking that is reported.
    """

    def __init__(self, reproduce: Callable[[Result], Reproduction | None]) -> None:
        self._reproduce = reproduce
        self.ranked: Sequence[Result] = ()

    def reproduce(self, result: Result) -> Reproduction | None:
        """Return the command that repeats the ranking of a result; None where one of its programs has none."""
        own = self._reproduce(result)
        others = [self._reproduce(each) for each in self.ranked if each.uid != result.uid]
        known = tuple(other for other in others if other is not None)
        if own is None or len(known) < len(others):
            return None
        command = max((each.command for each in (own, *known)), key=len)  # also with programs that only others start
        return own.model_copy(update={"command": command, "beside": known})


class _Jobs:
    """Jobs of a plan, made when they are wanted.

    Args:
        plan: What to measure where.
        builds: The runners.
        files: The files.
        settings: How to measure.
        display: Shows what happens.
    """

    def __init__(self, plan: Plan, builds: Builds, files: Files, settings: Settings, display: Display) -> None:
        self.plan = plan
        self.settings = settings
        self.display = display
        self._builds = builds
        self._files = files

    def make(self, group: RankingGroup, device: Device) -> Iterator[tuple[Benchmark, Job | Failure]]:
        """Yield the job of each benchmark of a group on a device, or why there is none."""
        wanted = {id(benchmark) for benchmark in group.benchmarks}
        for assignment in self.plan.assignments:
            if assignment.device.identity == device.identity and id(assignment.benchmark) in wanted:
                yield assignment.benchmark, make_job(assignment, self._builds, self._files, self.plan.frameworks)

    def add_references(self, jobs: Sequence[Job], device: Device) -> list[Job]:
        """Return the jobs, of which the first has what the outputs of all are compared with, or why there is nothing.

        That is what the eager model of the first program computes that can be given examples.
        """
        able = [job.benchmark for job in jobs if executes_examples(job.benchmark)] or [jobs[0].benchmark]
        alike = [benchmark for benchmark in able if _weights(benchmark) == _weights(able[0])]
        frameworks = self.plan.frameworks
        makers = (benchmark for benchmark in alike if isinstance(frameworks[benchmark.framework], ReferenceMaking))
        chosen = next(makers, alike[0])
        plan = replace(self.plan, assignments=(Assignment(chosen, device),))
        prepared = prepare_references(plan, self._files, self.settings, self.display)[chosen.digest]
        found = {"unreferenced": prepared.reason} if isinstance(prepared, Failure) else {"references": prepared}
        return [replace(jobs[0], **found), *jobs[1:]]


def _weights(benchmark: Benchmark) -> Hashable:
    """Return what determines the weights of an exported program."""
    exports = (file.export for file in benchmark.files if file.export is not None)
    return tuple((export.definition, tuple(sorted(export.options.items())), export.seed) for export in exports)


def _rank_device(
    device: Device, groups: Sequence[RankingGroup], jobs: _Jobs, parameters: RankingParameters
) -> Iterator[Sequence[Report]]:
    """Yield the reports of each ranking on a device: first those of benchmarks that could be launched."""
    plan, settings, display = jobs.plan, jobs.settings, jobs.display
    with contextlib.ExitStack() as stack:
        session = None
        for group in groups:
            made = dict(enumerate(jobs.make(group, device)))
            reports: list[Report] = []
            possible = [job for _, job in made.values() if isinstance(job, Job)]
            lost: EnvironmentProblem | None = None
            if possible:
                try:
                    session = session or stack.enter_context(plan.platform.open(device, display))
                    run = RankingRun(
                        group.title,
                        jobs.add_references(possible, device),
                        session,
                        plan.frameworks,
                        parameters=parameters,
                        make_scratch=lambda: Path(stack.enter_context(open_scratch_folder())),
                        progress=display,
                    )
                    reports += [_report(ranked, session.device, settings) for ranked in run.rank()]
                except EnvironmentProblem as error:
                    display.warn(f"✗ {device.name}: {error.message}")
                    lost = error
            for benchmark, job in made.values():
                if isinstance(job, Failure) or lost is not None:
                    failure = job if isinstance(job, Failure) else _as_failure(lost)
                    rank = Rank(ranking=group.title, reason=failure.reason, parameters=parameters)
                    report = report_failure(benchmark, device, failure, settings)
                    result = report.result.model_copy(update={"rank": rank})
                    reports.append(report.model_copy(update={"result": result}))
            yield reports


def _as_failure(error: EnvironmentProblem | None) -> Failure:
    message, hint = (error.message, error.hint) if error is not None else ("the device was lost", None)
    return Failure(Outcome.DEVICE_LOST, message, hint, is_environment_problem=True)


def _report(ranked: RankedMeasurement, device: Device, settings: Settings) -> Report:
    meta = report_meta(settings)
    result = build_result(ranked.job, device, ranked.measurement, run_type=settings.run_type, meta=meta)
    notes = trust_paired_noise(result.notes, result.launches) if ranked.rank.best is not None else result.notes
    result = result.model_copy(update={"rank": ranked.rank, "notes": notes})
    return Report(result=mark_regressed(result, settings), logs=ranked.measurement.logs)


def _is_undecided(result: Result) -> bool:
    """Return whether only a person, or more rounds, can decide about it."""
    if result.rank is None or not result.ok:
        return False
    return bool(result.rank.undecided) or _is_other_work(result)


def _is_other_work(result: Result) -> bool:
    return result.same_work is not None and result.same_work.verdict is not WorkVerdict.SAME
