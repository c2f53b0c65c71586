"""Control against treatment as stages: load, plan, fetch, build both sides, export, compare in pairs, report."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.analysis.compare.discovery import proven_change
from harness.analysis.results import build_info
from harness.builders.records import is_same_runner
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.comparison import Comparison, Parameters
from harness.core.device import Device
from harness.core.errors import ExitCode, HarnessError
from harness.core.layout import layout_notes
from harness.core.note import Note
from harness.core.protocols import Display, OptionReader, Reporter, device_options
from harness.core.result import Outcome, Report, Result
from harness.core.verdict import Verdict
from harness.files.programs import RUNNER
from harness.flows.compare import self_check
from harness.flows.compare.comparison_run import ComparisonRun, ComparisonSubject, Hypothesis
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.journal import Journal, journal_folder
from harness.flows.compare.layout_floors import find_floor
from harness.flows.compare.reports import build_reports, final_changes_of, load_previous
from harness.flows.compare.reproduction import ComparedSides, reproduce_comparison
from harness.flows.compare.scheduler import RoundRobinScheduler
from harness.flows.measure.example_sets import open_model_cache
from harness.flows.measure.fetching import export, fetch_given, files_exit_code
from harness.flows.measure.given_programs import depends_on, require_program
from harness.flows.measure.jobs import make_job, report_failure
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan, distribute
from harness.flows.measure.preflight import examine, examine_packages, plan_exit_code
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.reproduction import option_words, recipe_words
from harness.flows.measure.run import builds_exit_code
from harness.flows.measure.runners import Side, build_sides, installed_runner
from harness.running.compared_metric import ComparedMetric, find_further_metrics
from harness.running.unequal_sides import UNEQUAL_BUILD_OPTIONS, option_notes
from harness.shell import Interrupted
from harness.shell.threads import wait_for_all

_RUNNER_UNUSED: Final = Failure(
    Outcome.FAILED,
    "no command of it starts the programs that are compared: both sides would run the same",
    "write {program} where a command starts the program, such as `{program} --size 100`",
)


class ComparisonTask(Struct, frozen=True):
    """Two sides to compare, and how to decide.

    Attributes:
        control: Origin of the control's runner.
        treatment: Origin of the treatment's runner.
        parameters: How to decide.
        metrics: The metrics to compare, the one that the benchmarks are about first; none takes the latency, or the
            decode rate of a generation.
        resume: Whether to continue an interrupted comparison.
        expects_kept: Whether a person is told that there is nothing to continue: who watches asks each time.
        self_check: Whether both sides are meant to be the same: then even equal bytes are compared.
        keeps_self_check: Whether `harness doctor` is to know of a self-check: not of a part of one.
        check: Called before each pair; a `HarnessError` that it raises ends the comparison, whose pairs stay for
            `resume`.
        one_record_of_same: Whether all benchmarks whose runners are the same bytes leave one record, instead of one
            each. Listeners get a result of each.
        unequal_options: Names of build options that are meant to differ.
        recipes: Folders of further recipes, by which the sides are built.
        with_outputs: Whether to compare the outputs of both sides too.
        with_first_token: Whether generations are compared by the time to their first token too, where no metric is
            asked for.
        run: Identifier of the run that it is a part of; empty where it is a run of its own.
    """

    control: Side
    treatment: Side
    parameters: Parameters
    metrics: tuple[str, ...] = ()
    resume: bool = False
    expects_kept: bool = False
    self_check: bool = False
    keeps_self_check: bool = True
    check: Callable[[], None] = lambda: None
    one_record_of_same: bool = False
    unequal_options: tuple[str, ...] = ()
    recipes: tuple[Path, ...] = ()
    with_outputs: bool = True
    with_first_token: bool = False
    run: str = ""

    @property
    def metric(self) -> str | None:
        """The metric that the benchmarks are about; None where none is asked for."""
        return self.metrics[0] if self.metrics else None

    def further_metrics(self, benchmark: Benchmark) -> tuple[ComparedMetric, ...]:
        """Return the further metrics of a benchmark that are compared by the same launches."""
        return find_further_metrics(benchmark, self.metrics, with_first_token=self.with_first_token)

    @property
    def sides(self) -> ComparedSides:
        """What a command that repeats it has to name."""
        return ComparedSides(
            self.control, self.treatment, self.parameters, self.metrics, self.unequal_options, self.recipes
        )


class ComparisonOutcome(Struct, frozen=True):
    """Outcome of a comparison on all devices.

    Attributes:
        code: The exit code of the command.
        control: The runners of the control, or why there are none.
        treatment: Those of the treatment.
        stored: Whether every result is stored.
        summary: What a person should read at the end, in sentences.
    """

    code: ExitCode
    control: Builds
    treatment: Builds
    stored: bool
    summary: tuple[str, ...]


def compare(
    plan: Plan, task: ComparisonTask, settings: Settings, display: Display, listeners: Sequence[Reporter] = ()
) -> ExitCode:
    """Compare every benchmark of the plan, and report as each is decided."""
    outcome = run_comparison(plan, task, settings, display, listeners)
    for sentence in outcome.summary:
        display.say(sentence)
    return outcome.code


def run_comparison(
    plan: Plan,
    task: ComparisonTask,
    settings: Settings,
    display: Display,
    listeners: Sequence[Reporter] = (),
    *,
    reporters: Sequence[Reporter] | None = None,
) -> ComparisonOutcome:
    """Compare every benchmark of the plan, on behalf of a command that uses the results.

    Args:
        plan: What to measure where.
        task: What to compare.
        settings: How to measure, and which reporters to use.
        display: Shows the progress.
        listeners: Receive each result, beside the reporters; also those that were reported before an interruption.
        reporters: Get the results instead of those of the settings.
    """
    checked = self_check.VerdictCounter()
    reproduce = partial(reproduce_comparison, sides=task.sides, settings=settings, platform=plan.platform)
    reporters = prepare_reporters(settings) if reporters is None else reporters
    reporting = Reporting(reporters, display, [*listeners, checked], reproduce, task.run)
    stages: ComparisonStages | None = None
    try:
        needs_runner = installed_runner in (task.control, task.treatment)
        plan = examine_packages(plan, open_model_cache(settings), display, needs_runner=needs_runner)
        plan = examine(plan, display)
        given = fetch_given(plan, settings, display)
        fetched = plan.keep_possible(given)
        control, treatment = build_sides(fetched, task.control, task.treatment, display, settings.build_digest)
        if task.self_check:  # of the installed runner, or of a program that is given
            require_program(fetched, control)
        files = export(plan, given, [control, treatment], settings, display)
        stages = ComparisonStages(task, settings, plan, files=files, reporting=reporting, display=display)
        stages.run(control, treatment)
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept(stages.count_kept_pairs() if stages is not None else 0))
        raise
    finally:
        reporting.close()
    summary = [reporting.summary(settings.local_reporter)]
    if task.self_check:
        if task.keeps_self_check and not reporting.failed:
            self_check.store(settings, checked)
        summary.insert(0, self_check.summarise(checked))
    codes = (plan_exit_code(plan), builds_exit_code(control), builds_exit_code(treatment), files_exit_code(files))
    code = reporting.exit_code(*codes)
    return ComparisonOutcome(code, control, treatment, stored=reporting.stored, summary=tuple(summary))


class ComparisonStages:
    """Stages of a comparison after files and runners were gathered: recall, measure, report.

    Args:
        task: What to compare.
        settings: How to measure.
        plan: What to measure where.
        files: The files of the plan.
        reporting: Receives the results.
        display: Shows the progress.
    """

    def __init__(
        self,
        task: ComparisonTask,
        settings: Settings,
        plan: Plan,
        *,
        files: Files,
        reporting: Reporting,
        display: Display,
    ) -> None:
        self._task = task
        self._settings = settings
        self._plan = plan
        self._files = files
        self._reporting = reporting
        self._display = display
        self._flags = (*recipe_words(task.recipes), *option_words(settings, device_options(plan.platform)))
        self._lock = threading.Lock()
        self._reported: list[ComparisonRun] = []
        self._remaining: Sequence[ComparisonSubject] = ()
        self._interrupted_by_check = False

    def run(self, control: Builds, treatment: Builds) -> None:
        """Report at once what needs no measuring; compare the rest, on every device at the same time.

        Raises:
            HarnessError: A device could not be left as it was found, or the check of the task ended it; what else was
                measured has been reported then, or stays for `resume`.
        """
        subjects = self._subjects(control, treatment)
        earlier = self._recall(subjects)
        self._say_unequal_options(subjects)
        remaining = [subject for index, subject in enumerate(subjects) if index not in earlier]
        discoveries: FalseDiscoveryFilter[Hypothesis] = FalseDiscoveryFilter(
            sum(1 + len(subject.further) for subject in subjects),
            self._task.parameters.fdr,
            self._report_run,
            final_changes_of(itertools.chain.from_iterable(earlier.values())),
        )
        self._remaining = remaining
        if remaining:
            self._measure(remaining, discoveries)
        if self._reporting.complete:
            for run in self._reported:
                run.delete_journal()
            for index in earlier:
                self._journal(subjects[index]).delete()

    def count_kept_pairs(self) -> int:
        """Count the pairs in journals of comparisons that have no result yet."""
        return sum(self._journal(subject).count_unreported_pairs() for subject in self._remaining)

    def _subjects(self, control: Builds, treatment: Builds) -> list[ComparisonSubject]:
        """Return what has to be measured, and report the rest."""
        assignments = distribute(self._plan.assignments) if self._plan.spread else self._plan.assignments
        subjects = [subject for assignment in assignments if (subject := self._subject(assignment, control, treatment))]
        is_same = [self._is_same_program(subject) for subject in subjects]
        self._report_same([self._identical(subject) for subject, same in zip(subjects, is_same, strict=True) if same])
        return [subject for subject, same in zip(subjects, is_same, strict=True) if not same]

    def _is_same_program(self, subject: ComparisonSubject) -> bool:
        return not self._task.self_check and _are_same_program(subject.control.build, subject.treatment.build)

    def _report_same(self, reports: Sequence[Report]) -> None:
        """Report benchmarks whose runners are the same bytes: each, or one record that names the others."""
        if not self._task.one_record_of_same or len(reports) < 2:
            for report in reports:
                self._report(report)
            return
        first, *others = (report.result for report in reports)
        titles = ", ".join(sorted({other.benchmark.title for other in others}))
        message = f"the runners of {len(others)} further benchmarks are the same bytes too: {titles}"
        notes = (*first.notes, Note(code="same_bytes", message=message))
        self._report(Report(result=first.model_copy(update={"notes": notes})))
        for other in others:
            self._reporting.recall(other.model_copy(update={"uid": first.uid}))

    def _subject(self, assignment: Assignment, control: Builds, treatment: Builds) -> ComparisonSubject | None:
        """Return what has to be measured; None, and a result, where nothing can or need be."""
        sides, key = (control, treatment), (assignment.benchmark.framework, assignment.device.identity)
        for builds in sides:
            if assignment.is_possible and isinstance(build := builds.get(key), Failure):
                self._report(self._not_run(assignment, build))  # then files may be missing, too
                return None
        control_job, treatment_job = (
            make_job(assignment, builds, self._files, self._plan.frameworks) for builds in sides
        )
        if isinstance(control_job, Failure):
            self._report(self._not_run(assignment, control_job))
            return None
        if isinstance(treatment_job, Failure):
            self._report(self._not_run(assignment, treatment_job))
            return None
        if not self._task.self_check and not depends_on(
            assignment.benchmark, {RUNNER: Path(RUNNER), **control_job.build.programs}
        ):
            self._report(self._not_run(assignment, _RUNNER_UNUSED))
            return None
        return ComparisonSubject(
            control_job,
            treatment_job,
            assignment.device,
            self._task.metric,
            self._task.with_outputs,
            self._task.further_metrics(assignment.benchmark),
        )

    def _recall(self, subjects: Sequence[ComparisonSubject]) -> Mapping[int, tuple[Result, ...]]:
        """Return the results, by position, that were reported before an interruption. They count again."""
        if not self._task.resume:
            return {}
        if self._task.expects_kept and not any(self._journal(subject).is_kept for subject in subjects):
            self._display.say("nothing to continue: of these builds and benchmarks no pairs are kept; they begin anew")
        previous = (
            (index, load_previous(self._journal(subject), self._task.parameters))
            for index, subject in enumerate(subjects)
        )
        earlier = {index: results for index, results in previous if results}
        for result in itertools.chain.from_iterable(earlier.values()):
            self._reporting.recall(result)
        if earlier:
            count = "1 comparison was" if len(earlier) == 1 else f"{len(earlier)} comparisons were"
            self._display.say(f"{count} reported before the interruption: not measured again")
        return earlier

    def _measure(self, subjects: Sequence[ComparisonSubject], discoveries: FalseDiscoveryFilter[Hypothesis]) -> None:
        """Measure on each device in its own thread. An error ends no other device, and is raised at the end."""
        devices = {subject.device.identity: subject.device for subject in subjects}
        with ThreadPoolExecutor(len(devices)) as pool:
            workers = [
                pool.submit(
                    self._scheduler(device, discoveries).run,
                    [subject for subject in subjects if subject.device.identity == identity],
                )
                for identity, device in devices.items()
            ]
            wait_for_all(workers)
        errors = [error for worker in workers if (error := worker.exception()) is not None]
        errors.sort(key=lambda error: not isinstance(error, Interrupted))
        if not self._interrupted_by_check and not any(isinstance(error, Interrupted) for error in errors):
            discoveries.close()
        for error in errors[1:]:
            self._display.warn(f"✗ {error}")
        if errors:
            raise errors[0]

    def _scheduler(self, device: Device, discoveries: FalseDiscoveryFilter[Hypothesis]) -> RoundRobinScheduler:
        return RoundRobinScheduler(
            device,
            self._plan.platform,
            self._plan.frameworks,
            parameters=self._task.parameters,
            journals=journal_folder(self._settings.cache_dir),
            resume=self._task.resume,
            discoveries=discoveries,
            report=lambda run: self._report_or_hold_back(run, discoveries),
            report_failure=self._report_failure,
            check=self._check,
            display=self._display,
        )

    def _check(self) -> None:
        try:
            self._task.check()
        except HarnessError:
            self._interrupted_by_check = True
            raise

    def _journal(self, subject: ComparisonSubject) -> Journal:
        return subject.journal(journal_folder(self._settings.cache_dir), self._task.parameters.interleave)

    def _report_or_hold_back(self, run: ComparisonRun, discoveries: FalseDiscoveryFilter[Hypothesis]) -> None:
        """Report at once; but a change only when it is known whether it survives."""
        for decision, plain in build_reports(run, self._settings, self._option_notes(run.subject)):
            report = self._with_layout_notes(plain)
            comparison = report.result.comparison
            change = proven_change(comparison.verdict, comparison.evidence) if comparison is not None else None
            if change is not None:
                discoveries.add((run, decision), change, report)
            else:
                self._report_run((run, decision), report)

    def _with_layout_notes(self, report: Report) -> Report:
        """Return the report with a note where other links of one source differ as much as the two sides."""
        result = report.result
        if result.comparison is None:
            return report
        notes = layout_notes(result.comparison, find_floor(self._settings.cache_dir, result))
        result = result.model_copy(update={"notes": (*result.notes, *notes)})
        return report.model_copy(update={"result": result}) if notes else report

    def _say_unequal_options(self, subjects: Sequence[ComparisonSubject]) -> None:
        """Say before anything is measured that it will not be a comparison of code alone."""
        notes = (note for subject in subjects for note in self._option_notes(subject))
        doubts = {note.message: note.hint for note in notes if note.code == UNEQUAL_BUILD_OPTIONS}
        for message, hint in doubts.items():
            self._display.warn(f"! {message}")
            if hint is not None:
                self._display.warn(f"  hint: {hint}")

    def _option_notes(self, subject: ComparisonSubject) -> tuple[Note, ...]:
        """Return the notes on the options of both builds."""
        framework = self._plan.frameworks[subject.treatment.benchmark.framework]
        explain = framework.explain_options if isinstance(framework, OptionReader) else None
        return option_notes(subject.control.build, subject.treatment.build, self._task.unequal_options, explain)

    def _report_run(self, hypothesis: Hypothesis, report: Report) -> None:
        """Report a comparison; one that could not be stored stays in its journal, to be reported when resumed."""
        place = self._report(report)
        if place is None:
            return
        run, decision = hypothesis
        run.record_report(decision, place, ok=report.result.ok)
        if report.result.ok:
            with self._lock:
                self._reported.append(run)

    def _report_failure(self, subject: ComparisonSubject, failure: Failure) -> None:
        self._report(self._not_run(Assignment(subject.treatment.benchmark, subject.device), failure))

    def _not_run(self, assignment: Assignment, failure: Failure) -> Report:
        return report_failure(assignment.benchmark, assignment.device, failure, self._settings)

    def _identical(self, subject: ComparisonSubject) -> Report:
        """Report that runners of equal bytes cannot differ: nothing is measured."""
        reason = "both runners are the same bytes: there is nothing to measure"
        report = self._not_run(
            Assignment(subject.treatment.benchmark, subject.device), Failure(Outcome.SKIPPED, reason)
        )
        interleave = subject.choose_interleave(self._task.parameters.interleave)
        comparison = Comparison(
            control=build_info(subject.control.build),
            metric=self._task.metric or "",
            parameters=self._task.parameters.model_copy(update={"interleave": interleave}),
            verdict=Verdict.NO_CHANGE,
            reason=reason,
            identical=True,
        )
        update = {"comparison": comparison, "build": build_info(subject.treatment.build)}
        return Report(result=report.result.model_copy(update=update))

    def _report(self, report: Report) -> str | None:
        result = report.result
        if result.comparison is not None:
            comparison = result.comparison.model_copy(update={"flags": self._flags})
            report = report.model_copy(update={"result": result.model_copy(update={"comparison": comparison})})
        with self._lock:
            return self._reporting.report(report)


def _are_same_program(control: Build, treatment: Build) -> bool:
    """Return whether both runners are the same program, started the same way, so that measuring them is pointless."""
    return bool(control.programs) and control.variables == treatment.variables and is_same_runner(control, treatment)
