"""A run as one HTML page: verdicts first, then their grounds. No script, and nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from harness.core.result import Result
from harness.presentation.commands import collect_rerun_commands, format_reevaluate_command
from harness.presentation.comparison_table import LAUNCH_HEADINGS
from harness.presentation.explanations import EVIDENCE_HEADINGS, select_measured_comparisons
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
from harness.presentation.verdicts import categorise, format_headline, separate_comparisons
from reporters.html.picture import draw_comparison, draw_interval, interval_reach
from reporters.html.style import STYLE
from reporters.html_document import escape, html_document
from reporters.pages import ReportedRun

_KEY: Final = (
    "Each dot is one pair: filled where the control was launched first, hollow where the treatment was, and small at "
    "the edge where it lies beyond. The line is the running median, the band the 95 % interval of the difference; the "
    "dashed lines are the margins."
)


def render(run: ReportedRun) -> str:
    """Render the whole file."""
    compared, measured = separate_comparisons(run.results)
    heading = format_headline(compared, measured)
    parts = [f"<h1>{escape(heading[:1].upper() + heading[1:])}</h1>"]
    if run.notice:
        parts.append('<p class="notice"><strong>{}</strong> {}</p>'.format(*run.notice))
    if compared:
        parts += _comparisons(describe_comparisons(compared), run)
    if compared and measured:
        parts.append("<h2>Measured without a control</h2>")
    if measured:
        parts += _measurements(describe_measurements(measured))
    return html_document(f"harness: {heading}", STYLE, parts)


def figure_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a small table of texts: words in the first column, figures in the others."""
    body = "\n".join(_figure_row(row, "td") for row in rows)
    return f"<table>\n<thead>{_figure_row(headings, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _comparisons(section: ComparisonSection, run: ReportedRun) -> Iterator[str]:
    yield _definitions([*section.sides, ("where", section.title.text), ("when", _format_period(section.results))])
    yield _comparison_table(section)
    yield _list([line.text for line in section.lines])
    yield from _titled_table(section.operators)
    details = describe_details(section.results)
    if details:
        yield f'<h2>Pair by pair</h2>\n<p class="soft">{escape(_KEY)}</p>'
    yield from (_article(each, run) for each in details)
    if section.rules:
        yield "<h2>How verdicts were decided</h2>"
    yield from map(_definitions, section.rules)
    commands = collect_rerun_commands(section.results, run.working_folder)
    if commands:
        yield "<h2>How to measure again</h2>"
    yield from map(_preformatted, commands)


def _comparison_table(section: ComparisonSection) -> str:
    """Render the table of comparisons with their intervals drawn, its legend, and how many regressions may be false."""
    columns = select_informative(section.columns)
    reach = interval_reach(select_measured_comparisons(section.results))
    headings = [_heading(column) for column in columns]
    place = [column.name for column in columns].index("verdict")
    headings.insert(place, f'<th class="right">± {escape(format_change(reach).lstrip("+"))}</th>')
    rows = []
    for number, result in enumerate(section.results):
        interval = draw_interval(result.comparison, reach) if result.comparison else ""
        cells = [_cell(column, number, linked=bool(interval)) for column in columns]
        cells.insert(place, f'<td class="right">{interval}</td>')
        rows.append(f'<tr class="{categorise(result).slug}">{"".join(cells)}</tr>')
    return _wide_table(headings, rows) + "".join(map(_soft, filter(None, (section.legend, section.error_rate))))


def _article(details: ComparisonDetails, run: ReportedRun) -> str:
    """Render the grounds of a verdict."""
    row = details.row
    summary = [
        f"<h3>{escape(f'{row.model}/{row.identifier}')}</h3>",
        f'<span class="badge">{escape(row.verdict)}</span>',
        f'<span class="value">{escape(row.difference)}</span>',
        f"<span>{escape(row.interval)}</span>",
        f'<span class="soft">{escape(f"{row.pairs} pairs, {row.time}")}</span>',
    ]
    parts = [
        f'<article class="{row.category.slug}" id="b{details.number}">',
        f"<header>{''.join(summary)}</header>",
        f"<p>{escape(details.reason)}</p>",
        draw_comparison(details.comparison),
        '<div class="numbers">',
        figure_table(LAUNCH_HEADINGS, details.launches),
        figure_table(EVIDENCE_HEADINGS, details.evidence),
        "</div>",
        _soft(details.launches_key),
        _preformatted(format_reevaluate_command(run.place(details.result))),
        "</article>",
    ]
    return "\n".join(parts)


def _measurements(section: MeasurementSection) -> Iterator[str]:
    yield _definitions([("where", section.title.text), ("when", _format_period(section.results))])
    yield _column_table(section.overview)
    if legend := format_legend({column.name for column in select_informative(section.overview)}):
        yield _soft(legend)
    yield _list([line.text for line in (*section.fastest, *section.remarks)])
    yield from _titled_table(section.further_metrics)
    yield from _titled_table(section.operators)
    yield from map(_soft, section.coverage)


def _titled_table(table: TitledTable) -> Iterator[str]:
    if table.has_rows:
        yield f"<h2>{escape(table.heading)}</h2>"
        yield _column_table(table.columns)


def _column_table(columns: Sequence[Column]) -> str:
    shown = select_informative(columns)
    count = len(shown[0].cells) if shown else 0
    rows = ["".join(_cell(column, number, linked=False) for column in shown) for number in range(count)]
    return _wide_table([_heading(column) for column in shown], [f"<tr>{cells}</tr>" for cells in rows])


def _wide_table(headings: Sequence[str], rows: Sequence[str]) -> str:
    """Render a table of finished cells that scrolls where the window is narrow."""
    head, body = "".join(headings), "\n".join(rows)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _heading(column: Column) -> str:
    return f'<th class="right">{escape(column.name)}</th>' if column.right else f"<th>{escape(column.name)}</th>"


def _cell(column: Column, number: int, *, linked: bool) -> str:
    text = escape(column.cells[number].text)
    kind = ' class="right"' if column.right else ""
    match column.name:
        case "verdict":
            return f'<td{kind}><span class="badge">{text}</span></td>'
        case "benchmark" if linked:
            return f'<td{kind}><a href="#b{number}">{text}</a></td>'
        case "" | "difference":
            return f'<td{kind}><span class="value">{text}</span></td>'
        case _:
            return f"<td{kind}>{text}</td>"


def _figure_row(texts: Sequence[str], tag: str) -> str:
    first, *figures = (escape(text) for text in texts)
    cells = "".join(f'<{tag} class="right">{figure}</{tag}>' for figure in figures)
    return f"<tr><{tag}>{first}</{tag}>{cells}</tr>"


def _definitions(terms: Sequence[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in terms) + "</dl>"


def _list(texts: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="remarks">{items}</ul>' if items else ""


def _soft(sentence: str) -> str:
    return f'<p class="soft">{escape(sentence)}</p>'


def _preformatted(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _format_period(results: Sequence[Result]) -> str:
    """Format the time from the first start to the last end."""
    times = sorted(time for result in results for time in (result.started, result.finished))
    start, end = datetime.fromtimestamp(times[0], UTC), datetime.fromtimestamp(times[-1], UTC)
    end_text = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{start:%Y-%m-%d %H:%M:%S} to {end_text} UTC"
