"""Reports of batches of pairs, put together to the one of a comparison."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from harness.analysis.compare.operators import compare_operators
from harness.analysis.compare.recompute import recompute
from harness.analysis.results import merge_notes
from harness.analysis.summary import control_summary, diff_summary, summarise
from harness.core.comparison import Comparison, OperatorMedians, Pair, Parameters
from harness.core.device_doubt import LAST_GOOD_CHECK, LAST_GOOD_CHECKS
from harness.core.launch_interval import interval_of
from harness.core.metric import ControlSide, Metric
from harness.core.note import Note
from harness.core.result import Launch, Report, Result
from harness.running.comparability import find_doubt

_BUILDS_DIFFER: Final = "builds_differ"
"""Code of the note that devices of a class measured other builds than the first of them."""


def comparison_of(report: Report) -> Comparison:
    """Return the comparison that a report is about.

    Raises:
        ValueError: It is about none.
    """
    comparison = report.result.comparison
    if comparison is None:
        raise ValueError("a batch of pairs without a comparison")
    return comparison


def renumber(report: Report, kept: Collection[int], before: Sequence[Report]) -> Report:
    """Return the report of a batch with indices that continue those before, and with the name of its device.

    Args:
        report: The report of one metric.
        kept: Places of the pairs that count.
        before: Reports of the batches before it, renumbered.
    """
    result, comparison = report.result, comparison_of(report)
    offset = sum(len(comparison_of(earlier).pairs) + comparison_of(earlier).voided for earlier in before)
    launches = sum(len(earlier.result.launches) for earlier in before)
    control_launches = sum(len(earlier.result.control_launches) for earlier in before)
    name = result.device.name if result.device is not None else ""
    pairs = tuple(
        pair.model_copy(
            update={
                "index": pair.index + offset,
                "control_launch": _add(pair.control_launch, control_launches),
                "treatment_launch": _add(pair.treatment_launch, launches),
                "device": name,
            }
        )
        for place, pair in enumerate(comparison.pairs)
        if place in kept
    )
    old = {pair.index: pair.index + offset for pair in comparison.pairs}
    operators = tuple(
        operator.model_copy(update={"pairs": tuple(old[index] for index in operator.pairs)})
        for operator in comparison.operators
    )
    moved = result.model_copy(
        update={
            "comparison": comparison.model_copy(update={"pairs": pairs, "operators": operators}),
            "launches": tuple(_move(launch, launches) for launch in result.launches),
            "control_launches": tuple(_move(launch, control_launches) for launch in result.control_launches),
            "metrics": tuple(_move_metric(metric, launches, control_launches) for metric in result.metrics),
        }
    )
    logs = tuple(log.model_copy(update={"name": f"{name}-{len(before)}-{log.name}"}) for log in report.logs)
    return report.model_copy(update={"result": moved, "logs": logs})


def _add(index: int | None, offset: int) -> int | None:
    return None if index is None else index + offset


def _move(launch: Launch, offset: int) -> Launch:
    return launch.model_copy(update={"index": launch.index + offset})


def _move_metric(metric: Metric, launches: int, control_launches: int) -> Metric:
    control = metric.control
    if control is not None:
        moved = tuple(index + control_launches for index in control.control_launches)
        control = control.model_copy(update={"control_launches": moved})
    return metric.model_copy(
        update={"launches": tuple(index + launches for index in metric.launches), "control": control}
    )


def merge_reports(
    reports: Sequence[Report], pairs: Sequence[Pair], parameters: Parameters, names: tuple[str, str]
) -> Report:
    """Return one report of the batches of a metric; whether a change survives is not known yet.

    Args:
        reports: Reports of the batches, renumbered, in the order in which they count.
        pairs: Their pairs, as they count.
        parameters: How they are decided.
        names: Names by which control and treatment were asked for.
    """
    first = reports[0].result
    comparisons = [comparison_of(report) for report in reports]
    merged = recompute(
        comparisons[0].model_copy(
            update={
                "parameters": parameters.model_copy(update={"interleave": comparisons[0].parameters.interleave}),
                "control": comparisons[0].control.model_copy(update={"commit_name": names[0]}),
                "pairs": tuple(pairs),
                "voided": sum(comparison.voided for comparison in comparisons),
                "seconds": math.fsum(comparison.seconds for comparison in comparisons),
                "operators": compare_operators(list(_gather_medians(comparisons)), parameters),
                "exact": tuple(
                    exact
                    for exact in comparisons[0].exact
                    if all(exact in comparison.exact for comparison in comparisons)
                ),
                "notes": _merge_notes(note for comparison in comparisons for note in comparison.notes),
            }
        ),
        doubt=find_doubt(note for report in reports for note in report.result.notes),
    )
    update = {
        "started": min(report.result.started for report in reports),
        "finished": max(report.result.finished for report in reports),
        "build": first.build.model_copy(update={"commit_name": names[1]}) if first.build is not None else None,
        "launches": tuple(launch for report in reports for launch in report.result.launches),
        "control_launches": tuple(launch for report in reports for launch in report.result.control_launches),
        "metrics": tuple(_merge_metrics([report.result for report in reports])),
        "meta": _merge_checks(reports),
        "comparison": merged.model_copy(update={"discovered": not merged.verdict.is_change}),
        "notes": (
            *_merge_notes(note for report in reports for note in report.result.notes),
            *_note_different_builds(reports),
        ),
    }
    return Report(result=first.model_copy(update=update), logs=tuple(log for report in reports for log in report.logs))


def _merge_checks(reports: Sequence[Report]) -> dict[str, JsonValue]:
    """Return the free values, with the last good checks of all devices before each of their batches."""
    meta = {name: value for name, value in reports[0].result.meta.items() if name != LAST_GOOD_CHECK}
    checks: dict[str, list[JsonValue]] = {}
    for result in (report.result for report in reports):
        if result.device is not None and LAST_GOOD_CHECK in result.meta:
            times = checks.setdefault(result.device.identity, [])
            times += [time for time in (result.meta[LAST_GOOD_CHECK],) if time not in times]
    return {**meta, LAST_GOOD_CHECKS: {**checks}} if checks else meta


def _note_different_builds(reports: Sequence[Report]) -> Iterator[Note]:
    """Yield a note where hosts had different builds of one side: the result names those of the first alone."""
    sides = {
        "control": {comparison_of(report).control.digest for report in reports},
        "treatment": {report.result.build.digest for report in reports if report.result.build is not None},
    }
    for side, digests in sides.items():
        if len(digests) > 1:
            yield Note(
                code=_BUILDS_DIFFER,
                message=f"hosts measured {len(digests)} different builds of the {side}",
                hint="let all hosts of a class have equal systems, or compare programs that are sent",
                trust=False,
            )


def _merge_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes, each once, those of one code as one."""
    return merge_notes(list(dict.fromkeys(notes)))


def _gather_medians(comparisons: Sequence[Comparison]) -> Iterator[OperatorMedians]:
    """Yield the medians of operators pair by pair, as they were measured."""
    control: dict[int, dict[str, float]] = {}
    treatment: dict[int, dict[str, float]] = {}
    for comparison in comparisons:
        for operator in comparison.operators:
            for sides, medians in ((control, operator.control), (treatment, operator.treatment)):
                for index, value in zip(operator.pairs, medians, strict=False):
                    sides.setdefault(index, {})[operator.name] = value
    for index in sorted(control.keys() | treatment.keys()):
        yield OperatorMedians(pair=index, control=control.get(index, {}), treatment=treatment.get(index, {}))


def _merge_metrics(results: Sequence[Result]) -> Iterator[Metric]:
    """Yield the metrics with the samples of all batches; of those without samples, those of the first."""
    for metric in results[0].metrics:
        same = [found for result in results if (found := result.metric(metric.name)) is not None]
        samples = tuple(sample for found in same for sample in found.samples)
        if not samples:
            yield metric
            continue
        names = [name for name in metric.summary if name.startswith("p")]
        summary = summarise(samples, names)
        merged = metric.model_copy(
            update={
                "samples": samples,
                "launches": tuple(index for found in same for index in found.launches),
                "summary": summary,
                "control": _merge_control(same, summary),
            }
        )
        yield merged.model_copy(update={"interval": interval_of(merged)})


def _merge_control(metrics: Sequence[Metric], summary: Mapping[str, float | None]) -> ControlSide | None:
    sides = [metric.control for metric in metrics if metric.control is not None]
    values = tuple(value for side in sides for value in side.control_values)
    if not values:
        return sides[0] if sides else None
    of_control = control_summary(summarise(values, [name for name in summary if name.startswith("p")]))
    return ControlSide(
        control_values=values,
        control_launches=tuple(index for side in sides for index in side.control_launches),
        control_summary=of_control,
        diff_summary=diff_summary(summary, of_control),
    )
