"""Exact comparison of figures that do not vary from launch to launch."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.comparison import ExactDifference
from harness.core.metric import Direction, Metric, convert, is_counted
from harness.core.result import Result
from harness.core.verdict import Verdict

_FEWEST_LAUNCHES = 2
"""One sample cannot show that a figure does not vary."""


def exact_difference(
    metric: str, unit: str, control: float, treatment: float, *, higher_is_better: bool
) -> ExactDifference:
    """Compare two values of a deterministic figure; any difference counts."""
    if treatment == control:
        verdict = Verdict.NO_CHANGE
    elif (treatment > control) == higher_is_better:
        verdict = Verdict.IMPROVEMENT
    else:
        verdict = Verdict.REGRESSION
    return ExactDifference(metric=metric, unit=unit, control=control, treatment=treatment, verdict=verdict)


def exact_differences(control: Result, treatment: Result) -> tuple[ExactDifference, ...]:
    """Compare every deterministic figure that both results have.

    Program sizes, operators that a delegate took and operators that none took; and metrics other than times, rates
    and energy of which every launch, of two or more on each side, reported the same value.
    """
    return (*_programs(control, treatment), *_constant_metrics(control, treatment))


def _programs(control: Result, treatment: Result) -> Iterator[ExactDifference]:
    for key in (key for key in treatment.files if key in control.files):
        before, after = control.files[key].export, treatment.files[key].export
        if before is None or after is None:
            continue
        of = "" if key == "files.model" else f" ({key})"
        yield exact_difference(
            f"program size{of}", "bytes", before.size_bytes, after.size_bytes, higher_is_better=False
        )
        if before.delegation is None or after.delegation is None:
            continue
        for name, old, new, more_is_better in (
            ("delegated", before.delegation.delegated_count, after.delegation.delegated_count, True),
            ("non-delegated", before.delegation.non_delegated_count, after.delegation.non_delegated_count, False),
        ):
            yield exact_difference(f"{name} operators{of}", "", old, new, higher_is_better=more_is_better)


def _constant_metrics(control: Result, treatment: Result) -> Iterator[ExactDifference]:
    for metric in treatment.metrics:
        before, after = _constant(control.metric(metric.name)), _constant(metric)
        if before is None or after is None:
            continue
        value = convert(before.samples[0], before.unit, after.unit)
        if value is not None:
            higher = after.direction is Direction.HIGHER
            yield exact_difference(after.name, after.unit, value, after.samples[0], higher_is_better=higher)


def _constant(metric: Metric | None) -> Metric | None:
    """Return the metric if its value did not vary."""
    if metric is None or not is_counted(metric.name, metric.unit) or len(set(metric.launches)) < _FEWEST_LAUNCHES:
        return None
    return metric if len(set(metric.samples)) == 1 else None
