"""Control against treatment as stages: load, plan, fetch, build both sides, compare in pairs, report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from harness import plugins
from harness.analysis.results import build_info
from harness.config.settings import Settings
from harness.core.comparison import Comparison, Parameters, Verdict
from harness.core.device import Device
from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Display, Reporter
from harness.core.result import Outcome, Report, Result
from harness.flows.compare import self_check
from harness.flows.compare.comparison_run import ComparisonRun, ComparisonSubject
from harness.flows.compare.discoveries import Discoveries
from harness.flows.compare.journal import Journal
from harness.flows.compare.previous import evidence_of, load_previous
from harness.flows.compare.reports import build_report
from harness.flows.compare.scheduler import RoundRobinScheduler
from harness.flows.compare.sides import Side, build_side, same_bytes
from harness.flows.measure.jobs import job_of, not_run
from harness.flows.measure.plan import Assignment, Builds, Failure, Files, Plan, distribute
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.run import environment_of, fetch
from harness.shell import Interrupted

_JOURNALS: Final = "comparisons"
"""Folder of journals, in the cache."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to compare, and how to decide.

    Attributes:
        control: Where the control's runner comes from.
        treatment: Where the treatment's comes from.
        parameters: How to decide.
        metric: What to compare; None takes the latency.
        resume: Whether to go on where an interrupted comparison was.
        self_check: Whether both sides are meant to be the same: then equal bytes are compared all the same.
        check: Called before each pair; a `HarnessError` that it raises ends the comparison, whose pairs stay for
            `resume`.
    """

    control: Side
    treatment: Side
    parameters: Parameters
    metric: str | None = None
    resume: bool = False
    self_check: bool = False
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class ComparisonOutcome:
    """A comparison of commits that ended.

    Attributes:
        code: What it amounts to.
        control: The runners of the control, or why there are none.
        treatment: Those of the treatment.
        stored: Whether every result is safe.
        said: What a person should read at the end.
    """

    code: ExitCode
    control: Builds
    treatment: Builds
    stored: bool
    said: tuple[str, ...]


def compare(plan: Plan, request: Request, settings: Settings, display: Display) -> ExitCode:
    """Compare every benchmark of the plan, and report as each is decided."""
    outcome = run_comparison(plan, request, settings, display)
    for sentence in outcome.said:
        display.say(sentence)
    return outcome.code


def run_comparison(
    plan: Plan, request: Request, settings: Settings, display: Display, listeners: Sequence[Reporter] = ()
) -> ComparisonOutcome:
    """The same for somebody who goes on with the results.

    Args:
        plan: What to measure where.
        request: What to compare.
        settings: How to measure, and which reporters to tell.
        display: Shown what happens.
        listeners: Told each result, beside the reporters of the settings; those too that were told before the
            interruption of what is gone on with.
    """
    checked = self_check.Checked()
    reporting = Reporting(plugins.reporters(settings), display, [*listeners, checked])
    try:
        files = fetch(plan, settings, display)
        control = build_side(plan, request.control, display)
        treatment = build_side(plan, request.treatment, display)
        _Comparison(request, settings, plan, files=files, reporting=reporting, display=display).run(control, treatment)
    finally:
        reporting.close()
    said = [reporting.summary(settings.local_reporter)]
    if request.self_check:
        if not reporting.failed:
            self_check.remember(settings, checked)
        said.insert(0, self_check.sentence(checked))
    code = reporting.exit_code(environment_of(control), environment_of(treatment))
    return ComparisonOutcome(code, control, treatment, stored=reporting.stored, said=tuple(said))


class _Comparison:
    """The stages that need everything that was gathered before."""

    def __init__(
        self,
        request: Request,
        settings: Settings,
        plan: Plan,
        *,
        files: Files,
        reporting: Reporting,
        display: Display,
    ) -> None:
        self._request = request
        self._settings = settings
        self._plan = plan
        self._files = files
        self._reporting = reporting
        self._display = display
        self._lock = threading.Lock()
        self._told_now: list[ComparisonRun] = []
        self._given_up = False

    def run(self, control: Builds, treatment: Builds) -> None:
        """Report at once what needs no measuring; compare the rest, on every device at the same time.

        Raises:
            HarnessError: A device could not be left as it was found, or somebody wants an end; what else was measured
                has been told then, or stays for `resume`.
        """
        subjects = self._subjects(control, treatment)
        earlier = self._recall(subjects)
        left = [subject for index, subject in enumerate(subjects) if index not in earlier]
        discoveries: Discoveries[ComparisonRun] = Discoveries(
            len(subjects), self._request.parameters.fdr, self._told, evidence_of(earlier.values())
        )
        if left:
            self._measure(left, discoveries)
        if self._reporting.complete:
            for run in self._told_now:
                run.forget()
            for index in earlier:
                self._journal(subjects[index]).forget()

    def _measure(self, subjects: Sequence[ComparisonSubject], discoveries: Discoveries[ComparisonRun]) -> None:
        """Every device in a thread of its own. An error of one ends none of the others, and is raised in the end."""
        devices = {subject.device.identity: subject.device for subject in subjects}
        with ThreadPoolExecutor(len(devices)) as pool:
            workers = [
                pool.submit(
                    self._scheduler(device, discoveries).run,
                    [subject for subject in subjects if subject.device.identity == identity],
                )
                for identity, device in devices.items()
            ]
            wait(workers)
        errors = [error for worker in workers if (error := worker.exception()) is not None]
        errors.sort(key=lambda error: not isinstance(error, Interrupted))
        if not self._given_up and not any(isinstance(error, Interrupted) for error in errors):
            discoveries.close()
        for error in errors[1:]:
            self._display.say(f"✗ {error}")
        if errors:
            raise errors[0]

    def _scheduler(self, device: Device, discoveries: Discoveries[ComparisonRun]) -> RoundRobinScheduler:
        return RoundRobinScheduler(
            device,
            self._plan.platform,
            self._plan.frameworks,
            parameters=self._request.parameters,
            journals=self._settings.cache_dir / _JOURNALS,
            resume=self._request.resume,
            discoveries=discoveries,
            tell=lambda run: self._tell(run, discoveries),
            refuse=self._refuse,
            check=self._check,
            display=self._display,
        )

    def _check(self) -> None:
        try:
            self._request.check()
        except HarnessError:
            self._given_up = True
            raise

    def _subjects(self, control: Builds, treatment: Builds) -> list[ComparisonSubject]:
        """What will be measured; the rest is reported."""
        pairs = distribute(self._plan.assignments) if self._plan.spread else self._plan.assignments
        return [subject for pair in pairs if (subject := self._subject(pair, control, treatment))]

    def _recall(self, subjects: Sequence[ComparisonSubject]) -> Mapping[int, Result]:
        """The results, by position, that were told before the interruption of what is gone on with. They count."""
        if not self._request.resume:
            return {}
        found = (
            (index, load_previous(self._journal(one), self._request.parameters)) for index, one in enumerate(subjects)
        )
        earlier = {index: result for index, result in found if result is not None}
        for result in earlier.values():
            self._reporting.recall(result)
        if earlier:
            few = "1 comparison was" if len(earlier) == 1 else f"{len(earlier)} comparisons were"
            self._display.say(f"{few} told before: not measured again")
        return earlier

    def _journal(self, subject: ComparisonSubject) -> Journal:
        return subject.journal(self._settings.cache_dir / _JOURNALS, self._request.parameters.interleave)

    def _subject(self, pair: Assignment, control: Builds, treatment: Builds) -> ComparisonSubject | None:
        """What will be measured; None, and a result, where nothing can or need be."""
        sides = [job_of(pair, builds, self._files) for builds in (control, treatment)]
        for job in sides:
            if isinstance(job, Failure):
                self._report(self._without(pair, job))
                return None
        one, other = sides
        if isinstance(one, Failure) or isinstance(other, Failure):
            return None
        subject = ComparisonSubject(one, other, pair.device, self._request.metric)
        if not self._request.self_check and same_bytes(one.build, other.build):
            self._report(self._identical(subject))
            return None
        return subject

    def _tell(self, run: ComparisonRun, discoveries: Discoveries[ComparisonRun]) -> None:
        """Report at once; but a regression only when it is known whether it survives."""
        report = build_report(run, self._settings)
        comparison = report.result.comparison
        if comparison is not None and comparison.verdict is Verdict.REGRESSION:
            discoveries.leave(run, comparison, report)
        else:
            self._told(run, report)

    def _told(self, run: ComparisonRun, report: Report) -> None:
        """What could not be stored stays in the journal alone, and is told when somebody goes on with it."""
        place = self._report(report)
        if place is None:
            return
        run.told(place, ok=report.result.ok)
        if report.result.ok:
            with self._lock:
                self._told_now.append(run)

    def _refuse(self, subject: ComparisonSubject, failure: Failure) -> None:
        self._report(self._without(Assignment(subject.treatment.benchmark, subject.device), failure))

    def _without(self, assignment: Assignment, failure: Failure) -> Report:
        return not_run(assignment.benchmark, assignment.device, failure, self._settings)

    def _identical(self, subject: ComparisonSubject) -> Report:
        """Runners of equal bytes cannot differ: nothing is measured."""
        reason = "both runners are the same bytes: there is nothing to measure"
        report = self._without(
            Assignment(subject.treatment.benchmark, subject.device), Failure(Outcome.SKIPPED, reason)
        )
        comparison = Comparison(
            control=build_info(subject.control.build),
            metric=self._request.metric or "",
            parameters=self._request.parameters,
            verdict=Verdict.NO_CHANGE,
            reason=reason,
            identical=True,
        )
        update = {"comparison": comparison, "build": build_info(subject.treatment.build)}
        return Report(result=report.result.model_copy(update=update))

    def _report(self, report: Report) -> str | None:
        with self._lock:
            return self._reporting.report(report)
