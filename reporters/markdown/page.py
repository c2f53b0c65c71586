"""The page of a run: verdicts first, then their grounds, as much of them as a comment on GitHub takes."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Final

from harness.presentation.commands import collect_rerun_commands, format_reevaluate_command
from harness.presentation.comparison_section import (
    ComparisonDetails,
    ComparisonSection,
    describe_comparisons,
    describe_details,
)
from harness.presentation.comparison_table import LAUNCH_HEADINGS
from harness.presentation.evaluation_section import EvaluationSection, describe_evaluated
from harness.presentation.evaluation_table import format_evaluation_legend
from harness.presentation.explanations import EVIDENCE_HEADINGS
from harness.presentation.markdown import escape, fence, format_table
from harness.presentation.measurement_section import MeasurementSection, describe_measurements
from harness.presentation.measurement_table import format_legend
from harness.presentation.tables import Column, TitledTable, select_informative
from harness.presentation.text import Line, make_printable
from harness.presentation.verdicts import VerdictCategory, categorise, format_headline, separate_comparisons
from reporters.markdown.fitting import LIMIT, SEPARATOR, Droppable, Fixed, Lines, Ranked, fit
from reporters.markdown.ruler import draw_comparison
from reporters.pages import ReportedRun

_UNFOLDED: Final = 30
"""Rows of a table, or lines of a list, from which on the rest is folded away."""

_TOP, _FACTS, _ROWS, _COMMANDS, _REMARKS, _RULES = 100.0, 90.0, 80.0, 75.0, 70.0, 65.0
_FOLDED_ROWS, _FOLDED_REMARKS, _OPERATORS, _METRICS = 38.0, 35.0, 30.0, 20.0
_IMPORTANCE: Final = {
    VerdictCategory.REGRESSION: 55.0,
    VerdictCategory.IMPROVEMENT: 50.0,
    VerdictCategory.UNDECIDED: 45.0,
    VerdictCategory.FAILED: 40.0,
    VerdictCategory.NO_CHANGE: 10.0,
    VerdictCategory.SKIPPED: 10.0,
}
"""Importance of the grounds of a verdict, among that of the other blocks."""
_QUIET: Final = frozenset({VerdictCategory.NO_CHANGE, VerdictCategory.SKIPPED})
"""Categories whose rows are folded away where there are many."""


def render(run: ReportedRun) -> str:
    """Render the whole file, in at most `LIMIT` characters."""
    compared, measured = separate_comparisons(run.results)
    top = [f"# harness: {escape(format_headline(compared, measured))}"]
    if run.notice:
        top.append("> **{}** {}".format(*run.notice))
    blocks: list[Ranked] = []
    if compared:
        blocks += _comparisons(describe_comparisons(compared), run)
    if compared and measured:
        blocks.append(Ranked(Fixed("## Measured without a control"), _TOP))
    if evaluated := [result for result in measured if result.evaluation is not None]:
        blocks += _evaluations(describe_evaluated(evaluated, layers_at_most=_UNFOLDED))
    if measured:
        blocks += _measurements(describe_measurements(measured))
    texts, shortened = fit([Ranked(Fixed(text), _TOP) for text in top] + blocks)
    if shortened:
        top.append(
            "> **Shortened** to what a comment on GitHub takes. All results are in "
            f"{escape(str(run.tree))}; `harness report --reporter html=FILE.html` shows them on one page."
        )
        limit = LIMIT - sum(len(text) + len(SEPARATOR) for text in top)
        texts = [*top, *fit(blocks, limit)[0]]
    return SEPARATOR.join(texts) + "\n"


def _comparisons(section: ComparisonSection, run: ReportedRun) -> Iterator[Ranked]:
    facts = [*section.sides, ("where", section.title.text)]
    yield Ranked(_lines([f"- **{name}** {escape(text)}" for name, text in facts]), _FACTS)
    if section.error_rate:
        yield Ranked(Fixed(escape(section.error_rate)), _TOP)
    kinds = [categorise(result) for result in section.results]
    many = len(kinds) > _UNFOLDED
    shown = [number for number, kind in enumerate(kinds) if not (many and kind in _QUIET)]
    folded = [number for number in range(len(kinds)) if many and kinds[number] in _QUIET]
    yield Ranked(_table(section.columns, shown), _ROWS)
    yield Ranked(_table(section.columns, folded, f"{len(folded)} without a change, or skipped"), _FOLDED_ROWS)
    if section.legend:
        yield Ranked(Fixed(escape(section.legend)), _TOP)
    yield from _folded_remarks(section.folded_lines, section.lines)
    yield from _titled_table(section.operators, _OPERATORS)
    for details in describe_details(section.results):
        yield Ranked(Droppable(_details(details, run)), _IMPORTANCE[details.row.category])
    if section.rules:
        rules = [format_table(("", "rule"), rules, (False, False)) for rules in section.rules]
        yield Ranked(Droppable(SEPARATOR.join(["## How verdicts were decided", *rules])), _RULES)
    if commands := collect_rerun_commands(section.results, run.working_folder):
        text = SEPARATOR.join(["## How to measure again", fence("\n".join(commands), "sh")])
        yield Ranked(Droppable(text), _COMMANDS)


def _details(details: ComparisonDetails, run: ReportedRun) -> str:
    """Render the grounds of a verdict, folded away."""
    row = details.row
    interval = f" ({row.interval})" if row.interval else ""
    name = f"{row.mark} {row.model}/{row.identifier}: {row.verdict}, {row.difference}{interval}"
    parts = [
        f"<details><summary>{html.escape(make_printable(name))}</summary>",
        escape(details.reason),
        fence(draw_comparison(details.comparison)),
        format_table(LAUNCH_HEADINGS, details.launches, (False, True, True, True)),
        escape(details.launches_key),
        format_table(EVIDENCE_HEADINGS, details.evidence, (False, True, True)),
        fence(format_reevaluate_command(run.place(details.result)), "sh"),
        "</details>",
    ]
    return "\n\n".join(parts)


def _measurements(section: MeasurementSection) -> Iterator[Ranked]:
    yield Ranked(_lines([escape(section.title.text)]), _FACTS)
    yield Ranked(_lines([f"- {escape(line.text)}" for line in section.fastest]), _FACTS)
    count = len(section.results)
    shown = range(min(count, _UNFOLDED)) if count > _UNFOLDED + 1 else range(count)
    folded = range(len(shown), count)
    yield Ranked(_table(section.overview, shown), _ROWS)
    yield Ranked(_table(section.overview, folded, f"{len(folded)} more"), _FOLDED_ROWS)
    if legend := format_legend({column.name for column in select_informative(section.overview)}):
        yield Ranked(Fixed(escape(legend)), _TOP)
    yield from _titled_table(section.generations, _METRICS)
    yield from _titled_table(section.definitions, _METRICS)
    yield from _titled_table(section.scenarios, _METRICS)
    yield from _titled_table(section.paced, _METRICS)
    yield from _titled_table(section.further_metrics, _METRICS)
    yield from _titled_table(section.phases, _METRICS)
    yield from _titled_table(section.functions, _METRICS)
    yield from _titled_table(section.operators, _OPERATORS)
    if section.coverage:
        yield Ranked(_lines([f"- {escape(sentence)}" for sentence in section.coverage]), _METRICS)
    yield from _folded_remarks(section.folded_remarks, section.remarks)


def _evaluations(section: EvaluationSection) -> Iterator[Ranked]:
    yield Ranked(Fixed("## What lowering and quantisation cost"), _TOP)
    yield Ranked(_table(section.overview, range(len(section.results))), _ROWS)
    if legend := format_evaluation_legend([column.name for column in select_informative(section.overview)]):
        yield Ranked(Fixed(escape(legend)), _TOP)
    yield Ranked(_lines([f"- {escape(line.text)}" for line in section.compromises]), _FACTS)
    yield from _remarks([line.text for line in section.lines])
    yield from _titled_table(section.stages, _METRICS)
    yield from _titled_table(section.layers, _OPERATORS)


def _titled_table(table: TitledTable, importance: float) -> Iterator[Ranked]:
    """Yield a table under its heading, folded away where it is long."""
    if not table.has_rows:
        return
    rows = range(len(table.columns[0].cells))
    fold = f"{len(rows)} rows" if len(rows) > _UNFOLDED else ""
    yield Ranked(_table(table.columns, rows, fold, heading=f"## {table.heading}"), importance)


def _folded_remarks(causes: Sequence[Line], whole: Sequence[Line]) -> Iterator[Ranked]:
    """Yield a list of causes and, where they say less, all notes, folded away."""
    yield from _remarks([line.text for line in causes])
    if whole != causes:
        yield Ranked(_fold(_lines([f"- {escape(line.text)}" for line in whole]), "all notes in full"), _FOLDED_REMARKS)


def _remarks(texts: Sequence[str]) -> Iterator[Ranked]:
    """Yield a list, of which what is behind its first lines is folded away."""
    lines = [f"- {escape(text)}" for text in texts]
    shown = lines if len(lines) <= _UNFOLDED + 1 else lines[:_UNFOLDED]
    yield Ranked(_lines(shown), _REMARKS)
    if rest := lines[len(shown) :]:
        yield Ranked(_fold(_lines(rest), f"{len(rest)} more remarks"), _FOLDED_REMARKS)


def _table(columns: Sequence[Column], numbers: Sequence[int], fold: str = "", *, heading: str = "") -> Lines:
    """Make a table of some rows.

    Args:
        columns: Columns of the whole table, of which the informative are shown.
        numbers: Indices of the rows.
        fold: Summary of the fold in which it is; empty for none.
        heading: Line above it.
    """
    shown = select_informative(columns)
    rows = [[column.cells[number].text for column in shown] for number in numbers]
    text = format_table([column.name for column in shown], rows, [column.right for column in shown])
    head, rule, *lines = text.split("\n")
    table = _lines(lines, f"{head}\n{rule}")
    table = _fold(table, fold) if fold else table
    return _under(heading, table) if heading else table


def _lines(lines: Sequence[str], head: str = "") -> Lines:
    return Lines(head, lines, lambda count: f"*{count:,} more line{'' if count == 1 else 's'} left out*")


def _fold(block: Lines, summary: str) -> Lines:
    head = f"<details><summary>{summary}</summary>{SEPARATOR}{block.head}".rstrip("\n") + ("" if block.head else "\n")
    return Lines(head, block.lines, block.describe_rest, end="</details>")


def _under(heading: str, block: Lines) -> Lines:
    return Lines(f"{heading}{SEPARATOR}{block.head}", block.lines, block.describe_rest, block.end)
