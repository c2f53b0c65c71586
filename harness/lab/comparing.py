"""`harness compare --lab`: pairs of each benchmark from all devices of a class, in batches that any of them takes."""

from __future__ import annotations

import os
import secrets
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.analysis.compare.discovery import proven_change, proven_changes, select_unfinished
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.comparison import Parameters
from harness.core.errors import ExitCode, HarnessError, UsageError, most_severe
from harness.core.protocols import Board, Display, Reporter
from harness.core.result import Outcome, Report
from harness.files.programs import is_library
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.compare.progress_rows import HEADER, ProgressTable
from harness.flows.compare.requests import (
    CompareRequest,
    SameCommit,
    name_programs,
    resolve_commits,
    validate_parameters,
)
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.plan import Failure
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.runners import Programs
from harness.flows.measure.workload import load_benchmarks, select
from harness.lab.batch_files import BatchFile
from harness.lab.jobs import Job, JobReport, LabFile, PairsRequest, SideOfPairs, own_versions
from harness.lab.measuring import choose_settings, refuse_options_of_machines
from harness.lab.merging import comparison_of
from harness.lab.pooling import PooledBatch, PooledComparison
from harness.lab.submitting import JobFiles, Submission, Submitter
from harness.lab.targets import Target
from harness.running.compared_metric import ComparedMetric, find_further_metrics
from harness.shell import Interrupted

FLEET_FDR: Final = 0.01
"""Largest expected share of false ones among the changes of all classes and benchmarks, unless another is asked for."""

_Hypothesis = tuple[PooledComparison, MetricDecision]


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared, as every host understands it.

    Attributes:
        control: The control.
        treatment: The treatment.
        source: Source of commits; empty where there are none.
        files: The files of their programs, by their locations on this machine.
    """

    control: SideOfPairs | None
    treatment: SideOfPairs | None
    source: str
    files: Mapping[str, LabFile]

    @property
    def names(self) -> tuple[str, str]:
        """Names of control and treatment for people."""
        return (
            "" if self.control is None else self.control.name,
            "" if self.treatment is None else self.treatment.name,
        )


def compare(
    settings: Settings, requests: Sequence[CompareRequest], display: Display, *, listeners: Sequence[Reporter] = ()
) -> ExitCode:
    """Compare every benchmark on each class of devices, by pairs of all its devices, and report as each is decided.

    Args:
        settings: What to measure in which lab, on devices of which classes or names, and which reporters get the
            results.
        requests: What to compare, one after the other.
        display: Shows what happens.
        listeners: Receive each result, beside the reporters of the settings.

    Raises:
        UsageError: A flag has no effect in a lab, there is nothing to compare, or there is no such class or device.
        EnvironmentProblem: The lab does not answer.
    """
    refuse_options_of_machines(settings)
    for request in requests:
        _refuse(request)
    benchmarks = select(load_benchmarks(settings), settings.only, settings.skip, settings.benchmark_digest)
    codes = []
    for request in requests:
        try:
            codes.append(_compare(request, benchmarks, settings, display, listeners))
        except Interrupted:
            raise
        except SameCommit as same:
            if len(requests) == 1:
                raise
            display.say(f"{request.treatment}: skipped, because {same.message}")
        except HarnessError as error:
            if len(requests) == 1:
                raise
            display.warn(f"✗ {request.treatment}: {error}")
            codes.append(error.exit_code)
    if not codes:
        raise UsageError("every commit of the list is the control", hint="name another --control")
    return most_severe(codes)


def _compare(
    request: CompareRequest,
    benchmarks: Sequence[Benchmark],
    settings: Settings,
    display: Display,
    listeners: Sequence[Reporter],
) -> ExitCode:
    given = {"seed": secrets.randbits(31), "fdr": FLEET_FDR, **request.parameters, "interleave": request.interleave}
    parameters, files = validate_parameters(given), JobFiles()
    sides = _find_sides(request, settings, display, files)
    reporting = Reporting(prepare_reporters(settings), display, listeners, lambda _: None)
    comparing = _Comparing(benchmarks, request, parameters, sides, settings, reporting=reporting, files=files)
    try:
        with display.board("comparing in the lab", HEADER) as board:
            comparing.board = board
            Submitter(settings, display, comparing, files).run()
            comparing.close()
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept(comparing.count_kept_pairs()))
        raise
    finally:
        reporting.close()
    display.say(reporting.summary(settings.local_reporter))
    return reporting.exit_code()


class _Comparing:
    """Comparisons of one command: each benchmark on each class of devices (`harness.lab.submitting.Jobs`)."""

    board: Board

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        request: CompareRequest,
        parameters: Parameters,
        sides: _Sides,
        settings: Settings,
        *,
        reporting: Reporting,
        files: JobFiles,
    ) -> None:
        self._benchmarks = benchmarks
        self._request = request
        self._parameters = parameters
        self._sides = sides
        self._settings = settings
        self._reporting = reporting
        self._files = files
        self._batches: dict[str, tuple[PooledComparison, int]] = {}
        self._live: list[PooledComparison] = []
        self._journals: dict[PooledComparison, BatchFile] = {}

    def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
        """Return the first batches: as many as there are devices, of every benchmark in turn."""
        for benchmark in self._benchmarks:
            self._files.add_of(benchmark)
        self._live = [self._open(benchmark, target) for benchmark in self._benchmarks for target in targets]
        hypotheses = sum(len(pooled.decisions) for pooled in self._live)
        self._discoveries: FalseDiscoveryFilter[_Hypothesis] = FalseDiscoveryFilter(
            hypotheses, self._parameters.fdr, self._report_change
        )
        self._table = ProgressTable(self._live, self.board, self._discoveries)
        return self._continue()

    def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:
        """Take a batch, and ask for more where they are wanted."""
        pooled, number = self._batches.pop(submission.job.id)
        reports = (*([answer.report] if answer.report is not None else []), *answer.further)
        result = reports[0].result
        if result.comparison is not None and result.comparison.identical:
            self._end_identical(pooled, reports[0])
        elif result.ok and result.comparison is not None:
            batch = PooledBatch(number, reports)
            self._journals[pooled].append(batch)
            pooled.add(batch)
        else:
            pooled.add_failure(number, Failure(result.outcome, result.reason or "nothing was reported", result.hint))
        return self._continue()

    def fail(self, submission: Submission, failure: Failure) -> Sequence[Submission]:
        """Take notice of a batch that no device measures."""
        pooled, number = self._batches.pop(submission.job.id)
        pooled.add_failure(number, failure)
        if failure.outcome is Outcome.DEVICE_LOST:
            pooled.fail(failure)
        return self._continue()

    def close(self) -> None:
        """Report the changes that do not survive among all, and forget what there is nothing to resume of."""
        self._discoveries.close()
        if self._reporting.complete:
            for journal in self._journals.values():
                journal.delete()

    def count_kept_pairs(self) -> int:
        """Count the pairs of comparisons that have no result yet, which `resume` finds."""
        return sum(pooled.pairs for pooled in self._live)

    def _open(self, benchmark: Benchmark, target: Target) -> PooledComparison:
        """Return the comparison of a benchmark on a class, with the batches that an interruption left."""
        journal = BatchFile(
            self._settings.cache_dir / "lab" / "comparisons",
            (benchmark.digest, target.resource, *self._identities(), *self._request.metrics),
            self._parameters.interleave,
        )
        earlier = journal.read() if self._request.resume else None
        parameters = self._parameters
        if earlier is not None:
            parameters = parameters.model_copy(update={"seed": earlier.seed})
        else:
            journal.start(parameters.seed)
        metrics = (
            ComparedMetric(
                self._request.metrics[0] if self._request.metrics else None,
                directions=benchmark.direction,
                is_energy=benchmark.is_about_energy,
            ),
            *find_further_metrics(benchmark, self._request.metrics, with_first_token=True),
        )
        pooled = PooledComparison(benchmark, target, parameters, metrics)
        for batch in earlier.batches if earlier is not None else ():
            pooled.add(batch)
        self._journals[pooled] = journal
        return pooled

    def _identities(self) -> Iterator[str]:
        """Yield what identifies the two sides."""
        for side in (self._sides.control, self._sides.treatment):
            programs = (
                {} if side is None else {name: self._sides.files[at].sha256 for name, at in side.programs.items()}
            )
            yield f"{self._sides.source} {side and side.commit} {sorted(programs.items())}"

    def _continue(self) -> Sequence[Submission]:
        """End what wants no more pairs, and return the next batches."""
        tests = {
            (pooled, decision): decision.test
            for pooled in self._live
            if pooled.failure is None
            for decision in pooled.decisions
        }
        wanting = {
            pooled for pooled, _ in select_unfinished(tests, self._discoveries.final_with(proven_changes(tests)))
        }
        wanting = {pooled for pooled in wanting if pooled.may_ask()}
        for pooled in list(self._live):
            self._table.update(pooled)
            if pooled not in wanting and not pooled.is_waiting:
                self._live.remove(pooled)
                self._end(pooled)
        self._table.update_discoveries()
        return list(self._ask([pooled for pooled in self._live if pooled in wanting]))

    def _ask(self, wanting: Sequence[PooledComparison]) -> Iterator[Submission]:
        """Yield batches for idle devices, of the comparison that has fewest pairs first."""
        busy = Counter(pooled.target.resource for pooled, _ in self._batches.values())
        while candidates := [
            pooled
            for pooled in wanting
            if pooled.may_ask() and busy[pooled.target.resource] < len(pooled.target.places)
        ]:
            pooled = min(candidates, key=lambda candidate: candidate.asked_pairs)
            busy[pooled.target.resource] += 1
            number, parameters = pooled.ask()
            job = self._job(pooled, parameters, with_outputs=number == 0)
            self._batches[job.id] = pooled, number
            yield Submission(job, pooled.target)

    def _job(self, pooled: PooledComparison, parameters: Parameters, *, with_outputs: bool) -> Job:
        pairs = PairsRequest(
            control=self._sides.control,
            treatment=self._sides.treatment,
            source=self._sides.source,
            metrics=self._request.metrics,
            parameters=parameters,
            unequal_options=self._request.unequal_options,
            with_outputs=with_outputs,
        )
        return Job(
            id=str(uuid.uuid4()),
            benchmark=pooled.benchmark,
            files={**self._files.add_of(pooled.benchmark), **self._sides.files},
            pairs=pairs,
            settings=choose_settings(self._settings),
            versions=own_versions(),
        )

    def _end(self, pooled: PooledComparison) -> None:
        """Report a comparison at once; but a change only when it is known whether it survives."""
        if pooled.failure is not None:
            report = report_failure(pooled.benchmark, pooled.device(), pooled.failure, self._settings)
            self._reporting.report(report)
            return
        for decision, report in pooled.report(self._sides.names):
            comparison = comparison_of(report)
            change = proven_change(comparison.verdict, comparison.evidence)
            if change is None:
                self._reporting.report(report)
            else:
                self._discoveries.add((pooled, decision), change, report)

    def _end_identical(self, pooled: PooledComparison, report: Report) -> None:
        """Report that both sides are the same bytes: there is nothing to measure."""
        if pooled in self._live:
            self._live.remove(pooled)
            result = report.result.model_copy(update={"device": pooled.device()})
            self._reporting.report(report.model_copy(update={"result": result}))

    def _report_change(self, hypothesis: _Hypothesis, report: Report) -> None:  # noqa: ARG002 - of the filter
        self._reporting.report(report)


def _find_sides(request: CompareRequest, settings: Settings, display: Display, files: JobFiles) -> _Sides:
    """Return both sides by names that mean the same on every host.

    Raises:
        UsageError: There is nothing to compare, or the source of the commits is on this machine only.
        EnvironmentProblem: The source, or a program, is out of reach.
    """
    if request.self_check:
        return _Sides(None, None, "", {})
    if isinstance(request.control, Programs) and isinstance(request.treatment, Programs):
        sent: dict[str, LabFile] = {}
        sides = [_send_programs(side, files, sent) for side in name_programs(request.control, request.treatment)]
        return _Sides(sides[0], sides[1], "", sent)
    commits = resolve_commits(request, settings, SourceFetcher(display))
    source = request.source or ""
    if source.partition(":")[0] != "releases":
        raise UsageError(
            f"--source {source}: hosts of a lab do not have this repository",
            hint="compare released versions (--source releases:PACKAGE), or programs that were built before",
        )
    control, treatment = (
        SideOfPairs(commit=commit.id, name=name)
        for commit, name in (
            (commits.control, commits.control_name),
            (commits.treatment, commits.treatment_name),
        )
    )
    return _Sides(control, treatment, source, {})


def _send_programs(side: Programs, files: JobFiles, sent: dict[str, LabFile]) -> SideOfPairs:
    for path in side.programs.values():
        if not path.is_file():
            raise UsageError(f"{path} is no program", hint="give the path of a file")
        if not (os.access(path, os.X_OK) or is_library(path) or path.suffix in _APPS):
            raise UsageError(f"{path} cannot be executed", hint=f"chmod +x {path}")
        sent[str(path)] = files.add(path, path.name)
    return SideOfPairs(
        programs={name: str(path) for name, path in side.programs.items()},
        variables=dict(side.variables),
        name=side.name,
        reported_commit=side.commit,
        commit_time=side.commit_time,
    )


_APPS: Final = frozenset({".apk", ".ipa", ".app"})


def _refuse(request: CompareRequest) -> None:
    """Refuse what only the machine that measures can have.

    Raises:
        UsageError: There is something.
    """
    for flag, is_given in (
        ("--layouts", bool(request.layouts)),
        ("--frameworks-dir", bool(request.recipes)),
        ("--exec-dir", request.builds is not None),
    ):
        if is_given:
            raise UsageError(f"{flag}: hosts of a lab have no such option yet", hint="leave it out, or leave out --lab")
