"""What a table has no room for: what went wrong, what to know about a number, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from harness.core.result import Result
from reporters.screen.columns import printable
from reporters.screen.rows import mark


def remarks(results: Sequence[Result]) -> list[Text]:
    """One line for each result with something to say, what speaks against its numbers first; then every hint once."""
    several = len({result.device.identity for result in results if result.device}) > 1
    lines = [_remark(result, several) for result in results if result.notes or not result.ok]
    hints = dict.fromkeys(hint for result in results for hint in _hints(result))
    return [*lines, *(Text(f"  hint: {printable(hint)}", style="dim") for hint in hints)]


def _remark(result: Result, several: bool) -> Text:
    sign = mark(result)
    if not sign.plain:
        sign = Text("·", style="dim")
    name = f"{result.benchmark.model}/{result.benchmark.identifier}"
    if several and result.device:
        name += f" on {result.device.name}"
    failure = [] if result.ok else [f"{result.outcome.value.replace('_', ' ')}: {result.reason}"]
    notes = [note.message for note in sorted(result.notes, key=lambda note: note.trust)]
    return Text.assemble(sign, " ", (printable(name), "bold"), f": {printable('; '.join([*failure, *notes]))}")


def _hints(result: Result) -> list[str]:
    hints = [result.hint if not result.ok else None, *(note.hint for note in result.notes)]
    return [hint for hint in hints if hint]
