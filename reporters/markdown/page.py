"""A run as Markdown: verdicts first, then what stands behind each."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.display.results import legend, title
from harness.display.tables import Column
from harness.presentation.commands import again_for_all, recompute
from harness.presentation.comparison_rows import LAUNCHES, launches, launches_key, row
from harness.presentation.comparison_table import about, columns, lines
from harness.presentation.explanations import WEIGHTS, measured, reasons, rules_of_all, weights
from harness.presentation.markdown import escape, fenced, table
from harness.presentation.measurement_table import further, overview
from harness.presentation.operators import CHANGES, PROFILE, changes, covered, profiles
from harness.presentation.remarks import remarks
from harness.presentation.run_page import Run
from harness.presentation.speeds import verdicts
from harness.presentation.verdicts import headline, separate
from reporters.markdown.picture import picture


def render(run: Run) -> str:
    """The whole file."""
    compared, others = separate(run.results)
    parts = [f"# harness: {escape(headline(compared, others))}"]
    if run.notice:
        parts.append("> **{}** {}".format(*run.notice))
    if compared:
        parts += _comparisons(compared, run)
    if compared and others:
        parts.append("## Measured for themselves")
    if others:
        parts += _measured(others)
    return "\n\n".join(parts) + "\n"


def _comparisons(results: Sequence[Result], run: Run) -> Iterator[str]:
    told = [*about(results), ("where", title(results, with_runner=False).plain)]
    yield "\n".join(f"- **{name}** {escape(text)}" for name, text in told)
    yield _table(columns(results))
    yield _list([line.plain for line in lines(results)])
    yield from _operators(CHANGES, changes(results))
    compared = len(measured(results))
    for result in results:
        if result.comparison is not None and result.comparison.pairs:
            yield _behind(result, result.comparison, compared, run)
    yield from _decided(results, run)


def _behind(result: Result, comparison: Comparison, compared: int, run: Run) -> str:
    """What stands behind one verdict, folded away."""
    told = row(result)
    name = f"{told.mark} {told.model}/{told.identifier}: {told.verdict}, {told.difference} ({told.interval})"
    parts = [
        f"<details><summary>{html.escape(name)}</summary>",
        escape(reasons(result, compared)),
        fenced(picture(comparison)),
        table(LAUNCHES, launches(comparison), (False, True, True, True)),
        escape(launches_key(comparison)),
        table(WEIGHTS, weights(comparison), (False, True, True)),
        fenced(recompute(run.place(result)), "sh"),
        "</details>",
    ]
    return "\n\n".join(parts)


def _decided(results: Sequence[Result], run: Run) -> Iterator[str]:
    """How it was decided, and how to do it again; once for all that share it."""
    said, commands = rules_of_all(results), again_for_all(results, run.within)
    if said:
        yield "## How it was decided"
    for one in said:
        yield table(("", "rule"), one, (False, False))
    if commands:
        yield "## To measure it again"
        yield fenced("\n".join(commands), "sh")


def _measured(results: Sequence[Result]) -> Iterator[str]:
    told = [column for column in overview(results) if column.telling]
    yield escape(title(results).plain)
    yield _table(told)
    if meaning := legend({column.name for column in told}):
        yield escape(meaning)
    more = further(results)
    if more[0].cells:
        yield "## Further metrics"
        yield _table(more)
    yield from _operators(PROFILE, profiles(results))
    yield from map(escape, covered(results))
    yield _list([line.plain for line in (*verdicts(results), *remarks(results))])


def _operators(heading: str, found: Sequence[Column]) -> Iterator[str]:
    if found[0].cells:
        yield f"## {heading}"
        yield _table(found)


def _table(found: Sequence[Column]) -> str:
    told = [column for column in found if column.telling]
    rows = list(zip(*([cell.plain for cell in column.cells] for column in told), strict=True))
    return table([column.name for column in told], rows, [column.right for column in told])


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {escape(text)}" for text in texts)
