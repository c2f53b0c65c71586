"""`--reporter markdown=FILE.md`: a run as GitHub shows it in a pull request or a job summary, verdicts first."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Final

from harness.config.settings import Settings
from harness.core.comparison import Comparison
from harness.presentation.commands import collect_rerun_commands, format_reevaluate_command
from harness.presentation.comparison_table import LAUNCH_HEADINGS
from harness.presentation.explanations import EVIDENCE_HEADINGS
from harness.presentation.markdown import escape, fence, format_table
from harness.presentation.measurement_table import format_legend
from harness.presentation.numbers import format_change
from harness.presentation.sections import (
    ComparisonDetails,
    ComparisonSection,
    MeasurementSection,
    TitledTable,
    describe_comparisons,
    describe_details,
    describe_measurements,
)
from harness.presentation.tables import Column, select_informative
from harness.presentation.trajectory import trace_comparison
from harness.presentation.verdicts import format_headline, separate_comparisons
from reporters.pages import PageReporter, ReportedRun, create_page_reporter

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 50
"""Characters of a line: what a comment on GitHub shows without scrolling, with the words around it."""


def create(settings: Settings) -> PageReporter | None:
    """Create the reporter where `--reporter markdown=FILE.md` asks for it."""
    return create_page_reporter("markdown", settings, render)


def render(run: ReportedRun) -> str:
    """Render the whole file."""
    compared, measured = separate_comparisons(run.results)
    parts = [f"# harness: {escape(format_headline(compared, measured))}"]
    if run.notice:
        parts.append("> **{}** {}".format(*run.notice))
    if compared:
        parts += _comparisons(describe_comparisons(compared), run)
    if compared and measured:
        parts.append("## Measured without a control")
    if measured:
        parts += _measurements(describe_measurements(measured))
    return "\n\n".join(parts) + "\n"


def _comparisons(section: ComparisonSection, run: ReportedRun) -> Iterator[str]:
    facts = [*section.sides, ("where", section.title.text)]
    yield "\n".join(f"- **{name}** {escape(text)}" for name, text in facts)
    yield _table(section.columns)
    yield _list([*filter(None, [section.legend, section.error_rate]), *(line.text for line in section.lines)])
    yield from _titled_table(section.operators)
    for details in describe_details(section.results):
        yield _details(details, run)
    if section.rules:
        yield "## How verdicts were decided"
    for rules in section.rules:
        yield format_table(("", "rule"), rules, (False, False))
    if commands := collect_rerun_commands(section.results, run.working_folder):
        yield "## How to measure again"
        yield fence("\n".join(commands), "sh")


def _details(details: ComparisonDetails, run: ReportedRun) -> str:
    """Render the grounds of a verdict, folded away."""
    row = details.row
    name = f"{row.mark} {row.model}/{row.identifier}: {row.verdict}, {row.difference} ({row.interval})"
    parts = [
        f"<details><summary>{html.escape(name)}</summary>",
        escape(details.reason),
        fence(draw_comparison(details.comparison)),
        format_table(LAUNCH_HEADINGS, details.launches, (False, True, True, True)),
        escape(details.launches_key),
        format_table(EVIDENCE_HEADINGS, details.evidence, (False, True, True)),
        fence(format_reevaluate_command(run.place(details.result)), "sh"),
        "</details>",
    ]
    return "\n\n".join(parts)


def _measurements(section: MeasurementSection) -> Iterator[str]:
    yield escape(section.title.text)
    yield _table(section.overview)
    if legend := format_legend({column.name for column in select_informative(section.overview)}):
        yield escape(legend)
    yield from _titled_table(section.further_metrics)
    yield from _titled_table(section.operators)
    yield from map(escape, section.coverage)
    yield _list([line.text for line in (*section.fastest, *section.remarks)])


def _titled_table(table: TitledTable) -> Iterator[str]:
    if table.has_rows:
        yield f"## {table.heading}"
        yield _table(table.columns)


def _table(columns: Sequence[Column]) -> str:
    shown = select_informative(columns)
    rows = list(zip(*([cell.text for cell in column.cells] for column in shown), strict=True))
    return format_table([column.name for column in shown], rows, [column.right for column in shown])


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)


def draw_comparison(comparison: Comparison) -> str:
    """Draw two lines of characters: each pair's change as a bar, and the interval on a ruler. Empty without pairs."""
    changes = [point.relative_change for point in trace_comparison(comparison)]
    if not changes:
        return ""
    shown = _thin(changes, _WIDTH)
    low, high = min(shown), max(shown)
    step = (high - low) / (len(_BLOCKS) - 1) or 1.0
    bars = "".join(_BLOCKS[round((change - low) / step)] for change in shown)
    return f"pairs     {bars}  {format_change(low)} to {format_change(high)}\ninterval  {_ruler(comparison)}"


def _ruler(comparison: Comparison) -> str:
    """Draw no difference as `|`, the margins as `:`, the interval as `├──●──┤`, and arrows where it is longer."""
    margin = comparison.parameters.margin
    ends = [abs(end) for end in (comparison.low, comparison.high, comparison.difference) if end is not None]
    reach = min(max(1.5 * margin, 1.1 * max(ends, default=0.0)), 10 * margin)
    half = _WIDTH // 2

    def place(change: float) -> int:
        return half + round(half * max(-1.0, min(1.0, change / reach)))

    cells = [" "] * (2 * half + 1)
    start = 0 if comparison.low is None else place(comparison.low)
    end = 2 * half if comparison.high is None else place(comparison.high)
    cells[start : end + 1] = "─" * (end - start + 1)
    cells[place(-margin)] = cells[place(margin)] = ":"
    cells[half] = "|"
    cells[start] = "├" if comparison.low is not None and comparison.low >= -reach else "◄"
    cells[end] = "┤" if comparison.high is not None and comparison.high <= reach else "►"
    if comparison.difference is not None:
        cells[place(comparison.difference)] = "●"
    return f"{''.join(cells)}  {format_change(-reach)} to {format_change(reach)}"


def _thin(changes: Sequence[float], at_most: int) -> list[float]:
    """Return at most so many, in order: medians of neighbours where there are more."""
    if len(changes) <= at_most:
        return list(changes)
    edges = [len(changes) * number // at_most for number in range(at_most + 1)]
    return [median(changes[start:end]) for start, end in pairwise(edges)]
