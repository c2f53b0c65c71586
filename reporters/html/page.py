"""A run as one page: verdicts first, then what stands behind each. No script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.display.results import legend, title
from harness.display.tables import Column
from harness.presentation.commands import again_for_all, recompute
from harness.presentation.comparison_rows import LAUNCHES, launches, launches_key, row
from harness.presentation.comparison_table import about, columns, lines
from harness.presentation.explanations import (
    WEIGHTS,
    false_discoveries,
    measured,
    reasons,
    rules_of_all,
    weights,
)
from harness.presentation.measurement_table import further, overview
from harness.presentation.operators import CHANGES, PROFILE, changes, covered, profiles
from harness.presentation.remarks import remarks
from harness.presentation.run_page import Run
from harness.presentation.shares import signed
from harness.presentation.speeds import verdicts
from harness.presentation.verdicts import headline, separate, standing
from reporters.html.elements import definitions, escape, figure_table, listed, wide_table
from reporters.html.picture import picture, reach, span
from reporters.html.style import STYLE

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="edge-harness">
"""

_KEY: Final = (
    "One dot is one pair: filled where the coin put the control first, hollow where the treatment was first, small at "
    "the edge where it lies beyond. The line is the estimate as it went, the band its 95 % interval at the end; dashed "
    "lines are the margins."
)


def render(run: Run) -> str:
    """The whole file."""
    compared, others = separate(run.results)
    heading = headline(compared, others)
    parts = [
        f"{_HEAD}<title>harness: {escape(heading)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<h1>{escape(heading[:1].upper() + heading[1:])}</h1>",
    ]
    if run.notice:
        parts.append('<p class="notice"><strong>{}</strong> {}</p>'.format(*run.notice))
    if compared:
        parts += _comparisons(compared, run)
    if compared and others:
        parts.append("<h2>Measured for themselves</h2>")
    if others:
        parts += _measured(others)
    return "\n".join([*parts, "</body>", "</html>", ""])


def _comparisons(results: Sequence[Result], run: Run) -> Iterator[str]:
    where = title(results, with_runner=False).plain
    yield definitions([*about(results), ("where", where), ("when", _when(results))])
    yield _contrasts(results)
    yield listed([line.plain for line in lines(results)][1 if false_discoveries(results) else 0 :])
    yield from _operators(CHANGES, changes(results))
    shown = [(number, one) for number, one in enumerate(results) if one.comparison and one.comparison.pairs]
    if shown:
        yield f'<h2>Pair by pair</h2>\n<p class="soft">{escape(_KEY)}</p>'
    compared = len(measured(results))
    for number, result in shown:
        if result.comparison is not None:
            yield _behind(result, result.comparison, number, compared, run)
    yield from _decided(results, run)


def _contrasts(results: Sequence[Result]) -> str:
    """The table of the screen with the intervals drawn, and what may be believed of its regressions."""
    told = [column for column in columns(results) if column.telling]
    limit = reach(measured(results))
    spans = [span(one.comparison, limit) if one.comparison else "" for one in results]
    head = [_heading(column) for column in told]
    place = [column.name for column in told].index("verdict")
    head.insert(place, f'<th class="right">± {escape(signed(limit).lstrip("+"))}</th>')
    rows = []
    for number, (result, drawn) in enumerate(zip(results, spans, strict=True)):
        cells = [_cell(column, number, linked=bool(drawn)) for column in told]
        cells.insert(place, f'<td class="right">{drawn}</td>')
        rows.append(f'<tr class="{standing(result).slug}">{"".join(cells)}</tr>')
    note = f'<p class="soft">{escape(sentence)}</p>' if (sentence := false_discoveries(results)) else ""
    return wide_table(head, rows) + note


def _cell(column: Column, number: int, *, linked: bool) -> str:
    text = escape(column.cells[number].plain)
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


def _behind(result: Result, comparison: Comparison, number: int, compared: int, run: Run) -> str:
    """What stands behind one verdict."""
    told = row(result)
    summary = [
        f"<h3>{escape(f'{told.model}/{told.identifier}')}</h3>",
        f'<span class="badge">{escape(told.verdict)}</span>',
        f'<span class="value">{escape(told.difference)}</span>',
        f"<span>{escape(told.interval)}</span>",
        f'<span class="soft">{escape(f"{told.pairs} pairs, {told.time}")}</span>',
    ]
    parts = [
        f'<article class="{told.standing.slug}" id="b{number}">',
        f"<header>{''.join(summary)}</header>",
        f"<p>{escape(reasons(result, compared))}</p>",
        picture(comparison),
        '<div class="numbers">',
        figure_table(LAUNCHES, launches(comparison)),
        figure_table(WEIGHTS, weights(comparison)),
        "</div>",
        f'<p class="soft">{escape(launches_key(comparison))}</p>',
        f"<pre>{escape(recompute(run.place(result)))}</pre>",
        "</article>",
    ]
    return "\n".join(parts)


def _decided(results: Sequence[Result], run: Run) -> Iterator[str]:
    """How it was decided, and how to do it again; once for all that share it."""
    said, commands = rules_of_all(results), again_for_all(results, run.within)
    if said:
        yield "<h2>How it was decided</h2>"
    yield from map(definitions, said)
    if commands:
        yield "<h2>To measure it again</h2>"
    yield from (f"<pre>{escape(command)}</pre>" for command in commands)


def _measured(results: Sequence[Result]) -> Iterator[str]:
    told = [column for column in overview(results) if column.telling]
    yield definitions([("where", title(results).plain), ("when", _when(results))])
    yield _column_table(told)
    if meaning := legend({column.name for column in told}):
        yield f'<p class="soft">{escape(meaning)}</p>'
    yield listed([line.plain for line in (*verdicts(results), *remarks(results))])
    more = further(results)
    if more[0].cells:
        yield "<h2>Further metrics</h2>"
        yield _column_table(more)
    yield from _operators(PROFILE, profiles(results))
    yield from (f'<p class="soft">{escape(sentence)}</p>' for sentence in covered(results))


def _operators(heading: str, found: Sequence[Column]) -> Iterator[str]:
    if found[0].cells:
        yield f"<h2>{escape(heading)}</h2>"
        yield _column_table(found)


def _column_table(found: Sequence[Column]) -> str:
    told = [column for column in found if column.telling]
    count = len(told[0].cells) if told else 0
    rows = ["".join(_cell(column, number, linked=False) for column in told) for number in range(count)]
    return wide_table([_heading(column) for column in told], [f"<tr>{cells}</tr>" for cells in rows])


def _heading(column: Column) -> str:
    return f'<th class="right">{escape(column.name)}</th>' if column.right else f"<th>{escape(column.name)}</th>"


def _when(results: Sequence[Result]) -> str:
    times = sorted(datetime.fromtimestamp(one, UTC) for result in results for one in (result.started, result.finished))
    same = times[0].date() == times[-1].date()
    end = f"{times[-1]:%H:%M:%S}" if same else f"{times[-1]:%Y-%m-%d %H:%M:%S}"
    return f"{times[0]:%Y-%m-%d %H:%M:%S} to {end} UTC"
