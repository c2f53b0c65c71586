"""Comparisons as rows of a table, most severe first, and as lines below it that say what the table has no room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.build import BuildInfo
from harness.core.comparison import STATED_FIGURE, Comparison
from harness.core.evaluation import OutputComparison
from harness.core.result import Result
from harness.core.verdict import OutputVerdict
from harness.presentation.explanations import (
    describe_discarded_pairs,
    explain_verdict,
    head_interval,
    list_exact_changes,
    select_measured_comparisons,
)
from harness.presentation.fleets import VISIBLE_CHANGE, VISIBLE_CHANGE_LEGEND, find_fleets, visible_change
from harness.presentation.folded_remarks import fold_notes, is_in_table
from harness.presentation.numbers import (
    format_change,
    format_interval,
    format_percent,
    format_quantity,
    mark_throttled,
)
from harness.presentation.outputs import DIFFERENT_MARK, NOT_COMPARED, OUTPUTS_DIFFER, describe_outputs, format_outputs
from harness.presentation.remarks import collect_hints, format_remark, group_hints, label_results
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import Line, Span, Tone, make_printable
from harness.presentation.trajectory import LaunchStatistic, compute_launch_statistics
from harness.presentation.verdicts import VerdictCategory, categorise, name_verdict, stated_interval

LAUNCH_HEADINGS: Final = ("statistic", "control, all launches", "treatment, all launches", "difference in pairs")
"""Headings of the columns of `tabulate_launches`."""
_LAUNCHES_KEY: Final = (
    "Control and treatment are raw medians over all launches, as they were measured, and these differences medians "
    "over pairs. That of the verdict is where the evidence of both directions is equal, and may be another."
)
_CONTRARY: Final = "A * marks figures that differ in the other direction: trust the pairs."
_LEGEND: Final = (
    "control: median of its launches · treatment: that median changed by the difference, which is measured in pairs"
)
_LEGEND_OF_FIGURE: Final = (
    "figure: what of each launch changed most · control: its median over the launches · treatment: that median changed "
    "by the difference, which is measured in pairs"
)
_FIGURE: Final = "figure"

_EXPLAINED: Final = frozenset({VerdictCategory.UNDECIDED, VerdictCategory.FAILED, VerdictCategory.SKIPPED})
"""Categories whose reason a reader asks for."""


class ComparisonRow(Struct, frozen=True):
    """Texts of a table about one benchmark, as they came and not escaped for any format.

    Attributes:
        category: Category of the verdict.
        mark: Mark of the category, with `!` where the numbers should not be trusted.
        model: Model name.
        identifier: Name of the benchmark within the model.
        device: Name of the device.
        control_build: Name of the control's runner.
        treatment_build: Name of the treatment's runner.
        metric: Metric that was compared.
        figure: Name of the figure of a launch that both sides are shown by, where it is not the median.
        control: Median of that figure over the control's launches.
        treatment: That median, changed by the difference, so that both agree with what the pairs show. The raw medians
            of both sides differ by whatever the machine did between the pairs; `tabulate_launches` has them.
        difference: Relative change, signed, in percent.
        interval: 95 % interval of the relative change.
        pairs: Number of pairs.
        time: Device time.
        outputs: Whether both sides compute the same.
        verdict: The verdict in words; of a failure its outcome.
    """

    category: VerdictCategory
    mark: str
    model: str
    identifier: str
    device: str
    control_build: str
    treatment_build: str
    metric: str = ""
    figure: str = ""
    control: str = ""
    treatment: str = ""
    difference: str = ""
    interval: str = ""
    pairs: str = ""
    time: str = ""
    outputs: str = ""
    verdict: str = ""


def build_row(result: Result) -> ComparisonRow:
    """Build the row of one result of a comparison."""
    category, comparison = categorise(result), result.comparison
    framework, treatment = result.benchmark.framework, result.build
    control = comparison.control if comparison is not None else None
    row = ComparisonRow(
        category=category,
        mark=category.mark
        + ("!" if result.ok and not result.trusted else "")
        + (DIFFERENT_MARK if comparison is not None and comparison.has_different_outputs else ""),
        model=result.benchmark.model,
        identifier=result.benchmark.identifier,
        device=result.device.name if result.device else "",
        control_build=_build_name(framework, control, treatment) if control is not None else "",
        treatment_build=_build_name(framework, treatment, control) if treatment is not None else "",
        outputs=format_outputs(comparison),
        verdict=_verdict(result, category),
    )
    if comparison is None or comparison.identical:
        return row
    control_figure, treatment_figure = comparison.typical_control, comparison.typical_treatment
    return replace(
        row,
        metric=comparison.metric,
        figure=comparison.figure if comparison.figure != STATED_FIGURE else "",
        control=_format_side(control_figure, result, comparison),
        treatment=_format_side(treatment_figure, result, comparison),
        difference=format_change(comparison.difference),
        interval=format_interval(*(stated_interval(comparison) or (None, None))),
        pairs=str(len(comparison.pairs)),
        time=format_quantity(comparison.seconds, "s"),
    )


def build_columns(results: Sequence[Result]) -> list[Column]:
    """Build the table of comparisons, with one row per benchmark.

    Args:
        results: Of comparisons, ordered for a reader.
    """
    rows = [build_row(result) for result in results]

    def texts(text_of: Callable[[ComparisonRow], str]) -> list[Span]:
        return make_cells(map(text_of, rows))

    def differing(text_of: Callable[[ComparisonRow], str]) -> list[Span]:
        """Empty cells where all rows that have a text have the same."""
        return [Span("")] * len(rows) if _common_text(map(text_of, rows)) else texts(text_of)

    def make_spans(text_of: Callable[[ComparisonRow], str]) -> list[Span]:
        return [Span(make_printable(text_of(row)), row.category.tone) for row in rows]

    return [
        Column("", make_spans(lambda row: row.mark)),
        Column("model", differing(lambda row: row.model)),
        Column("benchmark", texts(lambda row: row.identifier)),
        Column("device", differing(lambda row: row.device)),
        Column("control build", differing(lambda row: row.control_build), weight=40),
        Column("treatment build", differing(lambda row: row.treatment_build), weight=40),
        Column("metric", differing(lambda row: row.metric), weight=50),
        Column(_FIGURE, _figures(rows), weight=65),
        Column("control", texts(lambda row: row.control), weight=60, right=True),
        Column("treatment", texts(lambda row: row.treatment), weight=61, right=True),
        Column("difference", make_spans(lambda row: row.difference), right=True),
        Column(head_interval(results), texts(lambda row: row.interval), weight=80, right=True),
        Column(VISIBLE_CHANGE, make_cells(_visible_changes(results)), weight=70, right=True),
        Column("pairs", texts(lambda row: row.pairs), weight=30, right=True),
        Column("time", texts(lambda row: row.time), weight=20, right=True),
        Column("outputs", differing(lambda row: row.outputs), weight=70),
        Column("verdict", make_spans(lambda row: row.verdict)),
    ]


def describe_sides(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Name control, treatment, metric and outputs; what differs between results is left to the table."""
    rows = [build_row(result) for result in results]
    sides = (
        ("control", _common_text(row.control_build for row in rows)),
        ("treatment", _common_text(row.treatment_build for row in rows)),
        ("metric", _common_text(map(_describe_metric, results))),
        ("outputs", _common_text(map(_summarise_outputs, results))),
    )
    return [(name, text) for name, text in sides if text]


def format_legend(columns: Iterable[Column]) -> str:
    """Explain the figures of both sides; empty where the table has none."""
    shown = {column.name for column in columns if column.is_informative}
    legend = _LEGEND_OF_FIGURE if _FIGURE in shown else _LEGEND
    parts = [legend] if {"control", "treatment"} <= shown else []
    return " · ".join([*parts, VISIBLE_CHANGE_LEGEND] if VISIBLE_CHANGE in shown else parts)


def _figures(rows: Sequence[ComparisonRow]) -> list[Span]:
    """Return the figures that rows are about; empty cells where it is the median in all of them."""
    if not any(row.figure for row in rows):
        return [Span("")] * len(rows)
    return make_cells(row.figure or (STATED_FIGURE if row.control else "") for row in rows)


def _visible_changes(results: Sequence[Result]) -> Iterator[str]:
    """Yield the smallest change that the pairs of each result show, where one verdict is given for several devices."""
    members = {member.uid for fleet in find_fleets(results) for member in fleet.members}
    for result in results:
        change = visible_change(result) if result.uid in members else None
        yield "" if change is None else format_percent(change)


def list_lines(results: Sequence[Result], *, folded: bool = False) -> Iterator[Line]:
    """Yield the lines below a table: reasons, other metrics that changed, notes and hints.

    Args:
        results: Of comparisons.
        folded: One line for each cause of notes, instead of each note in full.
    """
    labels = label_results(results)
    hints_of = [collect_hints(result, is_in_table) if folded else collect_hints(result) for result in results]
    own_hints, shared_hints = group_hints(list(zip(labels, hints_of, strict=True)))
    compared = len(select_measured_comparisons(results))
    shared_reason = _common_text(map(_reason_not_to_compare, results))  # it stands above the table
    described: set[tuple[str, str]] = set()  # metrics of one comparison have the same outputs
    for result, label, hints in zip(results, labels, own_hints, strict=True):
        category, comparison = categorise(result), result.comparison
        if category in _EXPLAINED or (comparison and comparison.identical):
            reason = f"{_verdict(result, category)}: {explain_verdict(result, compared)}"
            yield format_remark(Span(category.mark, category.tone), label, reason)
        outputs = comparison.outputs if comparison is not None else None
        subject = (result.benchmark.title, result.device.identity if result.device is not None else "")
        if comparison is not None and outputs is not None and outputs.reason != shared_reason:
            yield from _list_outputs(comparison, outputs, label) if subject not in described else ()
            described.add(subject)
        for mark, change in list_exact_changes(comparison) if comparison else ():
            yield format_remark(Span(mark), label, change)
        notes = [] if folded and result.ok else [note.message for note in result.all_notes]
        notes += [discarded] if comparison and (discarded := describe_discarded_pairs(comparison)) else []
        if notes:
            mark = "!" if result.ok and not result.trusted else "·"
            yield format_remark(Span(mark, Tone.MUTED), label, "; ".join(notes))
        yield from hints
    if folded:
        yield from fold_notes(results, labels, trust=False)
        yield from fold_notes(results, labels, trust=True)
    yield from shared_hints


def _list_outputs(comparison: Comparison, outputs: OutputComparison, label: str) -> Iterator[Line]:
    """Yield what a reader must know of the outputs: nothing where they are identical."""
    if comparison.has_different_outputs:
        if not comparison.is_withheld_improvement:  # whose reason has said so
            yield format_remark(Span(DIFFERENT_MARK, Tone.BAD), label, describe_outputs(outputs))
    elif outputs.verdict is OutputVerdict.WITHIN_TOLERANCE or outputs.reason:
        yield format_remark(Span("·", Tone.MUTED), label, describe_outputs(outputs))


def tabulate_launches(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return the five statistics of the launches under `LAUNCH_HEADINGS`; nothing without pairs."""
    unit = comparison.unit
    return [
        (
            figure.name,
            *_format_sides(figure, unit),
            format_change(figure.relative_change) + ("*" if _is_contrary(figure, unit) else ""),
        )
        for figure in compute_launch_statistics(comparison)
    ]


def explain_launches(comparison: Comparison) -> str:
    """Explain the figures of `tabulate_launches`."""
    contrary = any(_is_contrary(figure, comparison.unit) for figure in compute_launch_statistics(comparison))
    return f"{_LAUNCHES_KEY} {_CONTRARY}" if contrary else _LAUNCHES_KEY


def _describe_metric(result: Result) -> str:
    comparison = result.comparison
    if comparison is None or not comparison.metric:
        return ""
    return f"{comparison.metric}, {'higher' if comparison.higher_is_better else 'lower'} is better"


def _reason_not_to_compare(result: Result) -> str:
    """Return why the outputs of both sides were not compared; of those that were, a text that is no reason."""
    outputs = result.comparison.outputs if result.comparison is not None else None
    if outputs is None:
        return ""
    return outputs.reason or "" if outputs.verdict is OutputVerdict.NOT_COMPARED else outputs.verdict.value


def _summarise_outputs(result: Result) -> str:
    reason = _reason_not_to_compare(result)
    if reason and format_outputs(result.comparison) == NOT_COMPARED:
        return f"{NOT_COMPARED}: {reason}"
    return format_outputs(result.comparison)


def _format_side(value: float | None, result: Result, comparison: Comparison) -> str:
    """Format the figure of a side. Pairs take turns: where the device throttled, it did so for both."""
    return "" if value is None else mark_throttled(format_quantity(value, comparison.unit), throttled=result.throttled)


def _common_text(texts: Iterable[str]) -> str:
    """Return the text that all have that are not empty; empty where they differ."""
    distinct = set(texts) - {""}
    return distinct.pop() if len(distinct) == 1 else ""


def _format_sides(figure: LaunchStatistic, unit: str) -> tuple[str, str]:
    return format_quantity(figure.control, unit), format_quantity(figure.treatment, unit)


def _is_contrary(figure: LaunchStatistic, unit: str) -> bool:
    """Return whether the figures, as they are shown, differ in another direction than the pairs do."""
    control, treatment = _format_sides(figure, unit)
    return control != treatment and (figure.treatment - figure.control) * figure.relative_change < 0


def _build_name(framework: str, build: BuildInfo, other_side: BuildInfo | None) -> str:
    """Join framework, commit and recipe, and the beginning of the digest where the other side has the same name."""
    parts = _name_parts(build)
    if other_side is not None and _name_parts(other_side) == parts and other_side.digest != build.digest:
        parts = (*parts, build.digest[:8])
    return " ".join(part for part in (framework, *parts) if part not in {"", "none"})


def _name_parts(build: BuildInfo) -> tuple[str, ...]:
    return (build.commit_label, build.recipe)


def _verdict(result: Result, category: VerdictCategory) -> str:
    if result.comparison is not None and result.comparison.identical:
        return "same bytes"
    if category in {VerdictCategory.FAILED, VerdictCategory.SKIPPED}:
        return result.outcome.words
    if result.comparison is not None and result.comparison.has_different_outputs:
        return f"{name_verdict(result)}, {OUTPUTS_DIFFER}"
    return name_verdict(result)
