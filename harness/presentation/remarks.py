"""What a table has no room for: what went wrong, what to know about a number, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from harness.core.result import Result
from harness.presentation.measurement_table import mark
from harness.presentation.text import printable

_NAMED: Final = 3
"""How many of those that a hint is for are named."""


def remarks(results: Sequence[Result]) -> list[Text]:
    """One line for each result with something to say, what speaks against its numbers first; and every hint once."""
    named = names(results)
    own, shared = hints_below(list(zip(named, map(_hints, results), strict=True)))
    lines: list[Text] = []
    for result, name, hints in zip(results, named, own, strict=True):
        if result.notes or not result.ok:
            lines += [_remark(result, name), *hints]
    return [*lines, *shared]


def names(results: Sequence[Result]) -> list[str]:
    """What each result is called below a table: with its device, where there are several."""
    several = len({result.device.identity for result in results if result.device}) > 1
    return [
        f"{one.benchmark.model}/{one.benchmark.identifier}"
        + (f" on {one.device.name}" if several and one.device else "")
        for one in results
    ]


def hints_below(hints: Sequence[tuple[str, Sequence[str]]]) -> tuple[list[list[Text]], list[Text]]:
    """Every hint once: below the remark of its row, or, if it is for several, below all remarks with their names.

    Args:
        hints: The name of each row of the table, and what is to be done about it.

    Returns:
        Those of each row alone, and those of several rows; one for all rows has no need of names.
    """
    wanted: dict[str, dict[int, str]] = {}
    for row, (name, told) in enumerate(hints):
        for hint in told:
            wanted.setdefault(hint, {})[row] = name
    own = [[_hint(hint) for hint, rows in wanted.items() if list(rows) == [row]] for row in range(len(hints))]
    shared = [
        _hint(hint, _whom(list(rows.values())) if len(rows) < len(hints) else "")
        for hint, rows in wanted.items()
        if len(rows) > 1
    ]
    return own, shared


def _hint(hint: str, whom: str = "") -> Text:
    return Text(f"  hint{whom}: {printable(hint)}", style="dim")


def _whom(whom: Sequence[str]) -> str:
    told = [printable(name) for name in whom[:_NAMED]]
    more = [f"{len(whom) - _NAMED} more"] if len(whom) > _NAMED else []
    return f" for {', '.join([*told, *more])}"


def _remark(result: Result, name: str) -> Text:
    sign = mark(result)
    if not sign.plain:
        sign = Text("·", style="dim")
    failure = [] if result.ok else [f"{result.outcome.value.replace('_', ' ')}: {result.reason}"]
    notes = [note.message for note in sorted(result.notes, key=lambda note: note.trust)]
    return Text.assemble(sign, " ", (printable(name), "bold"), f": {printable('; '.join([*failure, *notes]))}")


def _hints(result: Result) -> list[str]:
    hints = [result.hint if not result.ok else None, *(note.hint for note in result.notes)]
    return [hint for hint in hints if hint]
