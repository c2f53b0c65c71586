"""Everything a person is shown about some results, from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from harness.core.result import Result
from harness.display.tables import Column, fitted, widened
from harness.presentation.comparison_table import show_contrasts
from harness.presentation.measurement_table import backend, device, further, overview, runner, threads
from harness.presentation.operators import CHANGES, PROFILE, SHORT, changes, covered, profiles
from harness.presentation.remarks import remarks
from harness.presentation.speeds import verdicts
from harness.presentation.text import printable
from harness.presentation.verdicts import separate


def show(results: Sequence[Result], console: Console) -> None:
    """Comparisons, gravest first, and then what was measured for itself. In a pipe nothing is folded or cut.

    Raises:
        OSError: The stream cannot be written.
        ValueError: It is closed, or its encoding lacks a character.
    """
    console = widened(console)
    compared, measured = separate(results)
    if compared:
        console.print()
        console.print(title(compared, with_runner=False), soft_wrap=True)
        show_contrasts(compared, console)
        _show_operators(CHANGES, changes(compared, SHORT), console)
    if measured:
        console.print()
        _show_measured(measured, console)


def _show_measured(results: Sequence[Result], console: Console) -> None:
    """Title, table, who is fastest, further metrics, remarks."""
    console.print(title(results), soft_wrap=True)
    table = fitted(overview(results), console)
    console.print(table)
    if told := legend({str(column.header) for column in table.columns}):
        console.print(Text(told, style="dim"), soft_wrap=True)
    for line in verdicts(results):
        console.print(line, soft_wrap=True)
    more = further(results)
    if more[0].cells:
        console.print()
        console.print(Text("Further metrics", style="bold"))
        console.print(fitted(more, console))
    _show_operators(PROFILE, profiles(results, SHORT), console)
    for told_share in covered(results):
        console.print(Text(told_share, style="dim"), soft_wrap=True)
    for line in remarks(results):
        console.print(line, soft_wrap=True)


def _show_operators(heading: str, found: Sequence[Column], console: Console) -> None:
    if found[0].cells:
        console.print()
        console.print(Text(heading, style="bold"))
        console.print(fitted(found, console))


def title(results: Sequence[Result], *, with_runner: bool = True) -> Text:
    """What all results have in common; where they differ, the table tells."""
    shared = (
        (lambda one: one.benchmark.model, "bold"),
        (device, ""),
        *([(runner, "")] if with_runner else []),
        (backend, ""),
        (_threads, ""),
        (lambda one: f"harness {one.harness_version}", "dim"),
    )
    parts = [Text(printable(text), style=style) for of, style in shared if (text := _common(results, of))]
    return Text(" · ").join(parts)


def legend(told: set[str]) -> str:
    """What the headings that were told mean."""
    meanings = {
        "speed": "times as fast as the first of its model",
        "MAD": "median absolute deviation",
        "first": "first iteration of a launch",
    }
    return " · ".join(f"{name}: {meaning}" for name, meaning in meanings.items() if name in told)


def _common(results: Sequence[Result], of: Callable[[Result], str]) -> str:
    texts = {of(result) for result in results}
    return texts.pop() if len(texts) == 1 else ""


def _threads(result: Result) -> str:
    count = threads(result)
    return f"{count} thread{'s' if count != '1' else ''}" if count else ""
