"""From a comparison that ended to the report that is told of it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.compare.exact import exact_differences
from harness.analysis.compare.fai_pep import control_summary, diff_summary
from harness.analysis.results import conclude
from harness.analysis.summary import summarise
from harness.config.settings import Settings
from harness.core.comparison import Verdict
from harness.core.metric import ControlSide, Metric, convert
from harness.core.note import Note
from harness.core.result import Report, Result
from harness.flows.compare.comparison_run import ComparisonRun
from harness.flows.measure.jobs import marked, meta_of


def build_report(run: ComparisonRun, settings: Settings) -> Report:
    """What came of a comparison; whether its regression survives is not known yet."""
    subject = run.subject
    control_side, treatment_side = run.measurements()
    meta = meta_of(settings)
    control, treatment = (
        conclude(job, subject.device, side, run_type=settings.run_type, meta=meta, known=run.known)
        for job, side in ((subject.control, control_side), (subject.treatment, treatment_side))
    )
    failure = _failure_of(control, treatment)
    comparison = run.comparison(discovered=False)
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
    return Report(result=marked(result, settings), logs=logs)


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
