"""Reports of comparisons: built from one that ended, or loaded where an interrupted command left them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.analysis.compare.discovery import ProvenChange, proven_change
from harness.analysis.compare.exact import exact_differences
from harness.analysis.results import build_result
from harness.analysis.summary import control_summary, diff_summary, summarise
from harness.config.settings import Settings
from harness.core.comparison import Comparison, Parameters
from harness.core.errors import EnvironmentProblem
from harness.core.metric import ControlSide, Metric, convert
from harness.core.note import CONTENDED, THROTTLED, Note
from harness.core.result import Launch, Report, Result
from harness.core.verdict import Verdict
from harness.flows.compare.comparison_run import ComparisonRun
from harness.flows.compare.journal import Journal
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.measure.jobs import mark_regressed, report_meta
from harness.running.unequal_sides import file_notes
from harness.store.canonical_json import load_result


def build_reports(
    run: ComparisonRun, settings: Settings, notes: Sequence[Note] = ()
) -> Sequence[tuple[MetricDecision, Report]]:
    """Build the reports of a comparison that ended, one of each metric; whether changes survive is not known yet.

    The first is about the metric that the benchmark is about, and has all others beside it. Of a comparison that failed
    it is the only one.

    Args:
        run: The comparison.
        settings: What is stored with every result.
        notes: Notes on the two sides.
    """
    main, *further = run.decisions
    report = _build_report(run, settings, notes)
    if not report.result.ok:
        return [(main, report)]
    result, names = report.result, {decision.metric.name for decision in further}
    metrics = tuple(metric for metric in result.metrics if metric.name not in names)
    separate = [(decision, _of_metric(run, decision, result)) for decision in further]
    return [(main, report.model_copy(update={"result": result.model_copy(update={"metrics": metrics})})), *separate]


def _of_metric(run: ComparisonRun, decision: MetricDecision, result: Result) -> Report:
    """Return the report of a further metric of a comparison: of the notes only those that speak against it, too."""
    update = {
        "uid": str(uuid.uuid4()),
        "metrics": tuple(metric for metric in result.metrics if metric.name == decision.metric.name),
        "comparison": run.comparison(decision),
        "notes": tuple(note for note in result.notes if not note.trust),
    }
    return Report(result=result.model_copy(update=update))


def _build_report(run: ComparisonRun, settings: Settings, notes: Sequence[Note]) -> Report:
    subject = run.subject
    control_side, treatment_side = run.measurements()
    meta = report_meta(settings)
    control, treatment = (
        build_result(job, subject.device, side, run_type=settings.run_type, meta=meta, known=run.known_metrics)
        for job, side in ((subject.control, control_side), (subject.treatment, treatment_side))
    )
    failure = _failure_of(control, treatment)
    comparison = run.comparison(run.decisions[0])
    if failure or not treatment.ok:
        reason = str(failure.get("reason", treatment.reason))
        comparison = comparison.model_copy(update={"verdict": Verdict.UNDECIDED, "reason": reason})
    result = treatment.model_copy(
        update={
            "metrics": tuple(_with_control(metric, control.metric(metric.name)) for metric in treatment.metrics),
            "comparison": comparison.model_copy(update={"exact": exact_differences(control, treatment)}),
            "control_launches": control.launches,
            "notes": (
                *notes,
                *file_notes(control.files, treatment.files),
                *trust_paired_noise(treatment.notes, treatment.launches),
                *_of_control(control.notes, control.launches),
            ),
            **failure,
        }
    )
    logs = (
        *(log.model_copy(update={"name": f"control-{log.name}"}) for log in control_side.logs),
        *treatment_side.logs,
    )
    return Report(result=mark_regressed(result, settings), logs=logs)


def load_previous(journal: Journal, parameters: Parameters) -> tuple[Result, ...]:
    """Load the final results of a comparison, of each metric; none where it has to be measured, or reported, again.

    That is so where it was decided by other parameters, where it is no longer stored, and where its change had not
    survived among those that had been measured: others may support it now.
    """
    try:
        results = tuple(load_result(Path(place)) for place in journal.report_places())
    except EnvironmentProblem:
        return ()
    return results if all(_is_final(result, parameters) for result in results) else ()


def _is_final(result: Result, parameters: Parameters) -> bool:
    comparison = result.comparison
    final = comparison is not None and not comparison.is_undiscovered and _same_parameters(comparison, parameters)
    return result.ok and final


def final_changes_of(results: Iterable[Result]) -> tuple[ProvenChange, ...]:
    """Return the changes among results."""
    comparisons = (result.comparison for result in results if result.comparison is not None)
    changes = (proven_change(comparison.verdict, comparison.evidence) for comparison in comparisons)
    return tuple(change for change in changes if change is not None)


def _with_control(metric: Metric, control: Metric | None) -> Metric:
    """Return the metric with the control's half, where both have samples in units that convert."""
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


def trust_paired_noise(notes: Sequence[Note], launches: Sequence[Launch]) -> tuple[Note, ...]:
    """Return the notes of launches that were paired.

    Pairs and coin model noise: it speaks against no verdict, and needs no remedy. Launches are short on purpose, so
    that it is not worth a note that they ended early; operators are timed on both sides. Levels that change meet both
    sides of a pair, unless the device says that it throttled: then it may have begun between them. What steps of a
    clock hide is part of the evidence.
    """
    kept = (note for note in notes if note.code not in {"stopped_early", "fewer_launches", "operators_timed"})
    modelled = {"trust": True, "hint": None}
    return tuple(note.model_copy(update=modelled) if _is_modelled(note, launches) else note for note in kept)


def _is_modelled(note: Note, launches: Sequence[Launch]) -> bool:
    is_level_change = note.code == THROTTLED and not any(launch.throttled for launch in launches)
    return note.code in _MODELLED or is_level_change


def _of_control(notes: Sequence[Note], launches: Sequence[Launch]) -> tuple[Note, ...]:
    """Return the notes that speak against the control, and so the comparison; noise is noted of the treatment alone."""
    doubts = (note for note in notes if not note.trust and not _is_modelled(note, launches))
    return tuple(
        note.model_copy(update={"code": f"control_{note.code}", "message": f"the control: {note.message}"})
        for note in doubts
    )


def _failure_of(control: Result, treatment: Result) -> dict[str, object]:
    """Return the fields of a failed result where the control has no sound numbers to compare with."""
    if control.ok or not treatment.ok:
        return {}
    return {"outcome": control.outcome, "reason": f"the control: {control.reason}", "hint": control.hint}


def _same_parameters(comparison: Comparison, parameters: Parameters) -> bool:
    """Return whether it was decided by these parameters; seed and interleaving are part of the journal's name."""
    stored = comparison.parameters
    return stored == parameters.model_copy(update={"seed": stored.seed, "interleave": stored.interleave})


_MODELLED = frozenset({CONTENDED, "noisy", "busy", "slowed", "disturbed", "few_samples", "steps", "warming_up"})
