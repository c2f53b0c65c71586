"""What a person is shown of comparisons: a table, gravest first, and below it what has no room in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from harness.core.result import Result
from harness.display.tables import Column, fitted
from harness.presentation.comparison_rows import Row, row
from harness.presentation.explanations import changes, false_discoveries, lost_pairs, measured, why
from harness.presentation.remarks import hints_below, names
from harness.presentation.text import printable
from harness.presentation.verdicts import Standing, standing

STYLES: Final = {
    Standing.REGRESSION: "bold red",
    Standing.IMPROVEMENT: "bold green",
    Standing.UNDECIDED: "yellow",
    Standing.NO_CHANGE: "dim",
    Standing.FAILED: "red",
    Standing.SKIPPED: "dim",
}
_EXPLAINED: Final = frozenset({Standing.UNDECIDED, Standing.FAILED, Standing.SKIPPED})
"""What a reader asks the reason of."""


def show_contrasts(results: Sequence[Result], console: Console) -> None:
    """Which builds and metric, the table, what may be believed of it, reasons, and other figures that changed.

    Args:
        results: Of comparisons, ordered for a reader.
        console: As `widened` returned it.
    """
    for name, text in about(results):
        console.print(Text.assemble((f"{name:<10}", "bold"), printable(text)), soft_wrap=True)
    console.print(fitted(columns(results), console))
    for line in lines(results):
        console.print(line, soft_wrap=True)


def about(results: Sequence[Result]) -> list[tuple[str, str]]:
    """Which build is which, and what was compared; where there are several, the table has them."""
    rows = [row(result) for result in results]
    found = (
        ("control", _only(one.control_build for one in rows)),
        ("treatment", _only(one.treatment_build for one in rows)),
        ("metric", _only(map(metric, results))),
    )
    return [(name, text) for name, text in found if text]


def metric(result: Result) -> str:
    """What was compared, and which way is better."""
    comparison = result.comparison
    if comparison is None or not comparison.metric:
        return ""
    return f"{comparison.metric}, {'higher' if comparison.higher_is_better else 'lower'} is better"


def columns(results: Sequence[Result]) -> list[Column]:
    """One row per benchmark."""
    rows = [row(result) for result in results]

    def texts(show: Callable[[Row], str]) -> list[Text]:
        return [Text(printable(show(one))) for one in rows]

    def differing(show: Callable[[Row], str]) -> list[Text]:
        """Nothing where all that have it have the same."""
        return [Text()] * len(rows) if _only(map(show, rows)) else texts(show)

    def styled(show: Callable[[Row], str]) -> list[Text]:
        return [Text(printable(show(one)), style=STYLES[one.standing]) for one in rows]

    return [
        Column("", styled(lambda one: one.mark)),
        Column("model", differing(lambda one: one.model)),
        Column("benchmark", texts(lambda one: one.identifier)),
        Column("device", differing(lambda one: one.device)),
        Column("control build", differing(lambda one: one.control_build), weight=40),
        Column("treatment build", differing(lambda one: one.treatment_build), weight=40),
        Column("metric", differing(lambda one: one.metric), weight=50),
        Column("control", texts(lambda one: one.control), weight=60, right=True),
        Column("treatment", texts(lambda one: one.treatment), weight=61, right=True),
        Column("difference", styled(lambda one: one.difference), right=True),
        Column("95 % interval", texts(lambda one: one.interval), weight=80, right=True),
        Column("pairs", texts(lambda one: one.pairs), weight=30, right=True),
        Column("time", texts(lambda one: one.time), weight=20, right=True),
        Column("verdict", styled(lambda one: one.verdict)),
    ]


def lines(results: Sequence[Result]) -> Iterator[Text]:
    """What may be believed, why something is open or failed, what else changed, and what else to know."""
    if told := false_discoveries(results):
        yield Text(told, style="dim")
    named = names(results)
    own, shared = hints_below(list(zip(named, map(_hints, results), strict=True)))
    compared = len(measured(results))
    for result, name, hints in zip(results, named, own, strict=True):
        how, comparison = standing(result), result.comparison
        if how in _EXPLAINED or (comparison and comparison.identical):
            yield _line(how.mark, STYLES[how], name, f"{row(result).verdict}: {why(result, compared)}")
        for mark, change in changes(comparison) if comparison else ():
            yield _line(mark, "", name, change)
        notes = [note.message for note in (*result.notes, *(comparison.notes if comparison else ()))]
        notes += [lost] if comparison and (lost := lost_pairs(comparison)) else []
        if notes:
            yield _line("!" if result.ok and not result.trusted else "·", "dim", name, "; ".join(notes))
        yield from hints
    yield from shared


def _hints(result: Result) -> list[str]:
    notes = (*result.notes, *(result.comparison.notes if result.comparison else ()))
    told = [result.hint if not result.ok else None, *(note.hint for note in notes)]
    return [hint for hint in told if hint]


def _line(mark: str, style: str, name: str, text: str) -> Text:
    return Text.assemble((mark, style), " ", (printable(name), "bold"), f": {printable(text)}")


def _only(texts: Iterable[str]) -> str:
    """What all that are not empty have in common, if they do."""
    found = set(texts) - {""}
    return found.pop() if len(found) == 1 else ""
