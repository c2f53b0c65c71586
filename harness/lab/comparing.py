"""`harness compare --lab`: pairs of each benchmark from all devices of a class, in batches that any of them takes."""

from __future__ import annotations

import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from harness.analysis.compare.discovery import proven_change, proven_changes, select_unfinished
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.comparison import Parameters
from harness.core.errors import BuildFailed, ExitCode, HarnessError, UsageError
from harness.core.protocols import Board, Display, Reporter
from harness.core.reproduction import Reproduction
from harness.core.result import Outcome, Report, Result
from harness.flows.compare.batch import combine_codes
from harness.flows.compare.commits import ControlFailed
from harness.flows.compare.compare import ComparisonOutcome
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.compare.progress_rows import HEADER, ProgressTable
from harness.flows.compare.reproduction import ComparedSides, reproduce_comparison
from harness.flows.compare.requests import CompareRequest, SameCommit, open_cache, validate_parameters
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.plan import Failure
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.run import builds_exit_code
from harness.flows.measure.workload import load_benchmarks, select_requested
from harness.lab.batch_files import BatchFile
from harness.lab.durations import expect_durations, longest_first
from harness.lab.jobs import JobReport, LabJob, PairsRequest, choose_settings, own_versions
from harness.lab.measuring import refuse_options_of_machines, report_no_build, with_uid
from harness.lab.merging import comparison_of
from harness.lab.platform import LabPlatform, settings_to_repeat
from harness.lab.pooling import PooledBatch, PooledComparison
from harness.lab.sides import ProvideSides, Sides, find_sides
from harness.lab.submitting import JobFiles, Submission, Submitter
from harness.lab.targets import Target
from harness.running.compared_metric import ComparedMetric, find_further_metrics
from harness.running.interleaving import choose_interleave
from harness.shell import Interrupted, defer_signals

FLEET_FDR: Final = 0.01
"""Largest expected share of false ones among the changes of all classes and benchmarks, unless another is asked for."""

_Hypothesis = tuple[PooledComparison, MetricDecision]


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
    for request in requests:
        refuse(request, settings)
    benchmarks = select_requested(load_benchmarks(settings), settings)
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
    return combine_codes(codes)


def _compare(
    request: CompareRequest,
    benchmarks: Sequence[Benchmark],
    settings: Settings,
    display: Display,
    listeners: Sequence[Reporter],
) -> ExitCode:
    files = JobFiles()
    with open_cache(request, settings) as cache:
        found, parameters = find_sides(request, settings, display, files, cache), choose_parameters(request)
        task = LabComparison(
            benchmarks,
            found.provide,
            ComparedSides(
                found.control,
                found.treatment,
                parameters,
                request.metrics,
                request.unequal_options,
                request.recipes,
            ),
            resume=request.resume,
        )
        outcome = run_comparison(task, files, settings, display, listeners)
    for sentence in outcome.summary:
        display.say(sentence)
    return outcome.code


def choose_parameters(request: CompareRequest, **values: object) -> Parameters:
    """Return how a request decides in a lab, with a new coin.

    Raises:
        UsageError: A value is out of range; the message names its flag.
    """
    given = {"seed": secrets.randbits(31), "fdr": FLEET_FDR, **request.parameters, **values}
    return validate_parameters({**given, "interleave": request.interleave})


class LabComparison(Struct, frozen=True):
    """Two sides to compare in a lab, and how to decide.

    Attributes:
        benchmarks: The benchmarks.
        provide_sides: Provides both sides for a framework on devices.
        sides: The sides as a command names them, how to decide, and what to compare.
        resume: Whether to continue an interrupted comparison.
        with_outputs: Whether to compare the outputs of both sides too.
        check: Called every few seconds; a `HarnessError` that it raises ends the comparison, whose batches stay for
            `resume`.
        key: What else identifies the comparison, so that `resume` finds no batches of others; empty for nothing.
        make_uid: Returns the uid of the result of a benchmark and a further metric, which is empty for the one that it
            is about; None gives each result a new one. There has to be a single class of devices.
        run: Identifier of the run that it is a part of; empty where it is a run of its own.
    """

    benchmarks: Sequence[Benchmark]
    provide_sides: ProvideSides
    sides: ComparedSides
    resume: bool = False
    with_outputs: bool = True
    check: Callable[[], None] = lambda: None
    key: tuple[str, ...] = ()
    make_uid: Callable[[Benchmark, str], str] | None = None
    run: str = ""


def run_comparison(
    task: LabComparison, files: JobFiles, settings: Settings, display: Display, listeners: Sequence[Reporter] = ()
) -> ComparisonOutcome:
    """Compare every benchmark on each class of devices, on behalf of a command that uses the results.

    Args:
        task: What to compare.
        files: The files that its sides have to send.
        settings: Which lab, which of its devices, and which reporters get the results.
        display: Shows the progress.
        listeners: Receive each result, beside the reporters of the settings.

    Raises:
        HarnessError: The lab, a device or a side cannot be had.
    """
    reproduce = partial(_reproduce, sides=task.sides, settings=settings)
    reporting = Reporting(prepare_reporters(settings), display, listeners, reproduce, task.run)
    return report_comparison(task, files, settings, display, reporting)


def report_comparison(
    task: LabComparison, files: JobFiles, settings: Settings, display: Display, reporting: Reporting
) -> ComparisonOutcome:
    """Do as `run_comparison` does, with reporters of the caller's.

    Args:
        task: What to compare.
        files: The files that its sides have to send.
        settings: Which lab, and which of its devices.
        display: Shows the progress.
        reporting: Is given each result, and closed.

    Raises:
        HarnessError: The lab, a device or a side cannot be had.
    """
    comparing = _Comparing(task, settings, reporting=reporting, files=files)
    try:
        with display.board("comparing in the lab", HEADER) as board:
            comparing.board = board
            Submitter(settings, display, comparing, files, task.check, keep_doubts=reporting.keep_doubts).run()
            comparing.close()
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept(comparing.count_kept_pairs()))
        raise
    finally:
        reporting.close()
    failed = comparing.failed_controls, comparing.failed_treatments
    code = reporting.exit_code(*map(builds_exit_code, failed))
    control, treatment = ({}, {}) if comparing.has_begun else failed
    summary = (reporting.summary(settings.local_reporter),)
    return ComparisonOutcome(code, control, treatment, stored=reporting.stored, summary=summary)


def _reproduce(result: Result, sides: ComparedSides, settings: Settings) -> Reproduction | None:
    platform = LabPlatform(result.device.platform if result.device is not None else settings.platform, ())
    return reproduce_comparison(result, sides, settings_to_repeat(settings), platform)


class _Comparing:
    """Comparisons of one command: each benchmark on each class of devices (`harness.lab.submitting.Jobs`)."""

    board: Board

    def __init__(self, task: LabComparison, settings: Settings, *, reporting: Reporting, files: JobFiles) -> None:
        self._task = task
        self._parameters = task.sides.parameters
        self._settings = settings
        self._reporting = reporting
        self._files = files
        self._batches: dict[str, tuple[PooledComparison, int]] = {}
        self._live: list[PooledComparison] = []
        self._sides: dict[PooledComparison, Sides] = {}
        self._journals: dict[PooledComparison, BatchFile] = {}
        self.failed_controls: dict[tuple[str, str], Build | Failure] = {}
        self.failed_treatments: dict[tuple[str, str], Build | Failure] = {}

    @property
    def has_begun(self) -> bool:
        """True if the runners of a benchmark could be had."""
        return bool(self._sides)

    def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
        """Return the first batches: as many as there are devices, of every benchmark in turn."""
        for benchmark in self._task.benchmarks:
            self._files.add_of(benchmark)
        expected = {
            target.resource: expect_durations(self._task.benchmarks, target, self._settings, pairs=True)
            for target in targets
        }
        for benchmark in self._task.benchmarks:
            for target in targets:
                self._open(benchmark, target, expected[target.resource].get(benchmark.digest))
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
            with defer_signals():  # what is kept is counted
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

    def _open(self, benchmark: Benchmark, target: Target, expected_s: float | None) -> None:
        """Begin the comparison of a benchmark on a class, with the batches that an interruption left.

        One whose runners cannot be built is reported at once.
        """
        try:
            sides = self._task.provide_sides(benchmark.framework, target)
        except BuildFailed as error:
            reason = error.message.partition("\n")[0]
            failure = Failure(Outcome.FAILED, reason, error.hint, is_environment_problem=True)
            failed = self.failed_controls if isinstance(error, ControlFailed) else self.failed_treatments
            failed[benchmark.framework, target.label] = failure
            self._report(report_no_build(benchmark, target, error, self._settings), benchmark)
            return
        interleave = choose_interleave(self._parameters.interleave, benchmark, target.places[0].device.platform)
        parameters = self._parameters.model_copy(update={"interleave": interleave})
        journal = BatchFile(
            self._settings.cache_dir / "lab" / "comparisons",
            (benchmark.digest, target.resource, *sides.identity, *self._task.sides.metrics, *self._task.key),
            interleave,
        )
        earlier = journal.read() if self._task.resume else None
        if earlier is not None:
            parameters = parameters.model_copy(update={"seed": earlier.seed})
        else:
            journal.start(parameters.seed)
        metrics = (
            ComparedMetric(
                self._task.sides.metrics[0] if self._task.sides.metrics else None,
                directions=benchmark.direction,
                is_energy=benchmark.is_about_energy,
            ),
            *find_further_metrics(benchmark, self._task.sides.metrics, with_first_token=True),
        )
        pooled = PooledComparison(benchmark, target, parameters, metrics, expected_s)
        for batch in earlier.batches if earlier is not None else ():
            pooled.add(batch)
        self._journals[pooled], self._sides[pooled] = journal, sides
        self._live.append(pooled)

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
        """Yield batches for idle devices, of the comparison that has fewest pairs first, then of the longest pairs."""
        busy = Counter(pooled.target.resource for pooled, _ in self._batches.values())
        while candidates := [
            pooled
            for pooled in wanting
            if pooled.may_ask() and busy[pooled.target.resource] < pooled.target.count_in_pool()
        ]:
            pooled = min(candidates, key=lambda candidate: (candidate.asked_pairs, longest_first(candidate)))
            busy[pooled.target.resource] += 1
            number, parameters = pooled.ask()
            job = self._job(pooled, parameters, with_outputs=self._task.with_outputs and number == 0)
            self._batches[job.id] = pooled, number
            yield Submission(job, pooled.target)

    def _job(self, pooled: PooledComparison, parameters: Parameters, *, with_outputs: bool) -> LabJob:
        sides = self._sides[pooled]
        pairs = PairsRequest(
            control=sides.control,
            treatment=sides.treatment,
            source=sides.source,
            metrics=self._task.sides.metrics,
            parameters=parameters,
            unequal_options=self._task.sides.unequal_options,
            with_outputs=with_outputs,
        )
        return LabJob(
            id=str(uuid.uuid4()),
            benchmark=pooled.benchmark,
            files={**self._files.add_of(pooled.benchmark), **sides.files},
            pairs=pairs,
            settings=choose_settings(self._settings),
            versions=own_versions(),
            expected_s=None if pooled.expected_s is None else pooled.expected_s * parameters.max_pairs,
        )

    def _end(self, pooled: PooledComparison) -> None:
        """Report a comparison at once; but a change only when it is known whether it survives."""
        reports = pooled.report(self._sides[pooled].names)
        if pooled.failure is not None or not reports:
            failure = pooled.failure or Failure(Outcome.FAILED, "no batch of pairs could be used")
            self._report(report_failure(pooled.benchmark, pooled.device(), failure, self._settings), pooled.benchmark)
            return
        for place, (decision, report) in enumerate(reports):
            comparison = comparison_of(report)
            change = proven_change(comparison.verdict, comparison.evidence)
            named = self._name(report, pooled.benchmark, "" if place == 0 else comparison.metric)
            if change is None:
                self._reporting.report(named)
            else:
                self._discoveries.add((pooled, decision), change, named)

    def _end_identical(self, pooled: PooledComparison, report: Report) -> None:
        """Report that both sides are the same bytes: there is nothing to measure."""
        if pooled in self._live:
            self._live.remove(pooled)
            result = report.result.model_copy(update={"device": pooled.device()})
            self._report(report.model_copy(update={"result": result}), pooled.benchmark)

    def _report(self, report: Report, benchmark: Benchmark) -> None:
        """Report the result of the metric that a benchmark is about, or that there is none."""
        self._reporting.report(self._name(report, benchmark, ""))

    def _name(self, report: Report, benchmark: Benchmark, metric: str) -> Report:
        """Return a report with the uid that the command gives it, if it does."""
        make_uid = self._task.make_uid
        return report if make_uid is None else with_uid(report, make_uid(benchmark, metric))

    def _report_change(self, hypothesis: _Hypothesis, report: Report) -> None:  # noqa: ARG002 - of the filter
        self._reporting.report(report)


def refuse(request: CompareRequest, settings: Settings) -> None:
    """Raise `UsageError` where something is asked for that only the machine that measures can do."""
    refuse_options_of_machines(settings)
    if request.layouts:
        raise UsageError("--layouts: hosts of a lab have no such option yet", hint="leave it out, or leave out --lab")
