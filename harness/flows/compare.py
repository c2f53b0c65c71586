"""Control against treatment as stages: load, plan, fetch, build both sides, compare in pairs, report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness import plugins
from harness.analysis.compare.exact import exact_differences
from harness.analysis.compare.fai_pep import control_summary, diff_summary
from harness.analysis.conclude import build_info, conclude
from harness.analysis.summary import summarise
from harness.core.comparison import Comparison, Parameters, Verdict
from harness.core.errors import ExitCode
from harness.core.metric import ControlSide, Metric, convert
from harness.core.note import Note
from harness.core.protocols import Display, Reporter
from harness.core.result import Outcome, Report, Result
from harness.flows import self_check
from harness.flows.contest import Contest, Versus
from harness.flows.discoveries import Discoveries
from harness.flows.jobs import job_of, marked, meta_of, not_run
from harness.flows.plan import Assignment, Builds, Failure, Files, Plan, dealt
from harness.flows.reporting import Reporting
from harness.flows.rounds import Rounds
from harness.flows.run import environment_of, fetch, make_plan
from harness.flows.sides import Side, build_side, same_bytes
from harness.settings import Settings


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
        check: Called before each pair; what it raises ends the comparison, whose pairs stay for `resume`.
    """

    control: Side
    treatment: Side
    parameters: Parameters
    metric: str | None = None
    resume: bool = False
    self_check: bool = False
    check: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Held:
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


def compare(request: Request, settings: Settings, display: Display) -> ExitCode:
    """Compare every benchmark of the specifications, and report as each is decided."""
    held = hold(request, settings, display)
    for sentence in held.said:
        display.say(sentence)
    return held.code


def hold(request: Request, settings: Settings, display: Display, listeners: Sequence[Reporter] = ()) -> Held:
    """The same for somebody who goes on with the results.

    Args:
        request: What to compare.
        settings: What to measure, where and how.
        display: Shown what happens.
        listeners: Told each result, beside the reporters of the settings.
    """
    plan = make_plan(settings)
    reporting = Reporting((*plugins.reporters(settings), *listeners), display)
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
            self_check.remember(settings, plan, reporting.verdicts)
        said.insert(0, self_check.sentence(reporting.verdicts, reporting.failed))
    code = reporting.exit_code(environment_of(control), environment_of(treatment))
    return Held(code, control, treatment, stored=reporting.stored, said=tuple(said))


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

    def run(self, control: Builds, treatment: Builds) -> None:
        """Report at once what needs no measuring; compare the rest, on every device at the same time."""
        pairs = dealt(self._plan.assignments) if self._plan.spread else self._plan.assignments
        subjects = [subject for pair in pairs if (subject := self._subject(pair, control, treatment))]
        devices = {subject.device.identity: subject.device for subject in subjects}
        if not devices:
            return
        discoveries: Discoveries[Contest] = Discoveries(len(subjects), self._request.parameters.fdr, self._told)
        with ThreadPoolExecutor(len(devices)) as pool:
            workers = [
                pool.submit(
                    Rounds(
                        device,
                        self._plan.platform,
                        self._plan.frameworks,
                        parameters=self._request.parameters,
                        journals=self._settings.cache_dir / "comparisons",
                        resume=self._request.resume,
                        discoveries=discoveries,
                        tell=lambda contest: self._tell(contest, discoveries),
                        refuse=self._refuse,
                        check=self._request.check,
                        display=self._display,
                    ).run,
                    [subject for subject in subjects if subject.device.identity == identity],
                )
                for identity, device in devices.items()
            ]
            for worker in workers:
                worker.result()
        discoveries.close()

    def _subject(self, pair: Assignment, control: Builds, treatment: Builds) -> Versus | None:
        """What will be measured; None, and a result, where nothing can or need be."""
        sides = [job_of(pair, builds, self._files) for builds in (control, treatment)]
        for job in sides:
            if isinstance(job, Failure):
                self._report(self._without(pair, job))
                return None
        one, other = sides
        if isinstance(one, Failure) or isinstance(other, Failure):
            return None
        versus = Versus(one, other, pair.device, self._request.metric)
        if not self._request.self_check and same_bytes(one.build, other.build):
            self._report(self._identical(versus))
            return None
        return versus

    def _tell(self, contest: Contest, discoveries: Discoveries[Contest]) -> None:
        """Report at once; but a regression only when it is known whether it survives."""
        report = self._concluded(contest)
        comparison = report.result.comparison
        if comparison is not None and comparison.verdict is Verdict.REGRESSION:
            discoveries.leave(contest, comparison, report)
        else:
            self._told(contest, report)

    def _told(self, contest: Contest, report: Report) -> None:
        self._report(report)
        if contest.failure is None:
            contest.told()

    def _concluded(self, contest: Contest) -> Report:
        """What came of a comparison; whether its regression survives is not known yet."""
        versus = contest.versus
        control_side, treatment_side = contest.measurements()
        meta = meta_of(self._settings)
        control, treatment = (
            conclude(job, versus.device, measurement, run_type=self._settings.run_type, meta=meta)
            for job, measurement in ((versus.control, control_side), (versus.treatment, treatment_side))
        )
        failure = _failure_of(control, treatment)
        comparison = contest.comparison(discovered=False)
        if failure or not treatment.ok:
            reason = str(failure.get("reason", treatment.reason))
            comparison = comparison.model_copy(update={"verdict": Verdict.UNDECIDED, "reason": reason})
        result = treatment.model_copy(
            update={
                "metrics": tuple(_beside(metric, control.metric(metric.name)) for metric in treatment.metrics),
                "comparison": comparison.model_copy(update={"exact": exact_differences(control, treatment)}),
                "control_launches": control.launches,
                "notes": (*_for_comparison(treatment.notes), *_of_control(control.notes)),
                **failure,
            }
        )
        logs = (
            *(log.model_copy(update={"name": f"control-{log.name}"}) for log in control_side.logs),
            *treatment_side.logs,
        )
        return Report(result=marked(result, self._settings), logs=logs)

    def _refuse(self, versus: Versus, failure: Failure) -> None:
        self._report(self._without(Assignment(versus.treatment.benchmark, versus.device), failure))

    def _without(self, assignment: Assignment, failure: Failure) -> Report:
        return not_run(assignment.benchmark, assignment.device, failure, self._settings)

    def _identical(self, versus: Versus) -> Report:
        """Runners of equal bytes cannot differ: nothing is measured."""
        reason = "both runners are the same bytes: there is nothing to measure"
        report = self._without(Assignment(versus.treatment.benchmark, versus.device), Failure(Outcome.SKIPPED, reason))
        comparison = Comparison(
            control=build_info(versus.control.build),
            metric=self._request.metric or "",
            parameters=self._request.parameters,
            verdict=Verdict.NO_CHANGE,
            reason=reason,
            identical=True,
        )
        update = {"comparison": comparison, "build": build_info(versus.treatment.build)}
        return Report(result=report.result.model_copy(update=update))

    def _report(self, report: Report) -> None:
        with self._lock:
            self._reporting.report(report)


def _beside(metric: Metric, control: Metric | None) -> Metric:
    """The metric with the control's half, where both have samples in units that convert."""
    factor = convert(1.0, control.unit, metric.unit) if control is not None and control.samples else None
    if control is None or factor is None:
        return metric
    values = tuple(value * factor for value in control.samples)
    summary = control_summary(summarise(values))
    side = ControlSide(
        control_values=values,
        control_launches=control.launches,
        control_summary=summary,
        diff_summary=diff_summary(metric.summary, summary),
    )
    return metric.model_copy(update={"control": side})


def _for_comparison(notes: Sequence[Note]) -> tuple[Note, ...]:
    """Noise is what pairs and coin are for: it is told, speaks against no verdict, and needs no remedy.

    Launches are short on purpose, so that they ended early is no news.
    """
    told = (note for note in notes if note.code != "stopped_early")
    modelled = {"trust": True, "hint": None}
    return tuple(note.model_copy(update=modelled) if note.code in _MODELLED else note for note in told)


def _of_control(notes: Sequence[Note]) -> tuple[Note, ...]:
    """What speaks against the control speaks against the comparison; noise is modelled, and told of the treatment."""
    doubts = (note for note in notes if not note.trust and note.code not in _MODELLED)
    return tuple(
        note.model_copy(update={"code": f"control_{note.code}", "message": f"the control: {note.message}"})
        for note in doubts
    )


def _failure_of(control: Result, treatment: Result) -> dict[str, object]:
    """A control without sound numbers leaves nothing to hold the treatment against."""
    if control.ok or not treatment.ok:
        return {}
    return {"outcome": control.outcome, "reason": f"the control: {control.reason}", "hint": control.hint}


_MODELLED = frozenset({"noisy", "busy", "disturbed", "few_samples"})
