"""Tables about operators: where the time of a benchmark went, and which of them changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from harness.core.result import Result
from harness.display.tables import Column
from harness.presentation.changed_operators import ChangedOperator, changed_operators
from harness.presentation.numbers import quantity
from harness.presentation.profile import Part, profile
from harness.presentation.shares import signed
from harness.presentation.text import printable
from harness.presentation.verdicts import Standing

SHORT: Final = 5
"""Operators of each benchmark on a screen; a page has all of them."""

PROFILE: Final = "Operators"
CHANGES: Final = "What changed"

_STYLES: Final = {Standing.REGRESSION: "bold red", Standing.IMPROVEMENT: "bold green"}

_Row = tuple[str, ...]


def profiles(results: Sequence[Result], at_most: int | None = None) -> list[Column]:
    """The operators of each result that has them; a benchmark is named in its first row only."""
    rows = [row for result in results for row in _profile_rows(result, at_most)]
    return _columns(("benchmark", "operator", "median", "share"), rows, right=2)


def changes(results: Sequence[Result], at_most: int | None = None) -> list[Column]:
    """The operators of each comparison that changed; a benchmark is named in its first row only."""
    rows: list[_Row] = []
    styles: list[str] = []
    for result in results:
        found = changed_operators(result.comparison) if result.ok and result.comparison else []
        title = _title(result)
        for one in found[:at_most]:
            rows.append((title, *_changed(one)))
            styles.append(_STYLES[one.standing] if one.standing else "")
            title = ""
        if left := found[len(found[:at_most]) :]:
            together = signed(sum(one.contribution for one in left))
            rows.append(("", "", f"and {len(left)} more in its result.json", "", "", "", "", together))
            styles.append("dim")
    names = ("benchmark", "change", "operator", "control", "treatment", "difference", "95 % interval", "contribution")
    columns = _columns(names, rows, right=3)
    change = Column("change", [Text(row[1], style=style) for row, style in zip(rows, styles, strict=True)])
    return [columns[0], change, *columns[2:]]


def covered(results: Sequence[Result]) -> Iterator[str]:
    """How much of the latency the operators take."""
    for result in results:
        found = profile(result)
        if found is not None and found.covered is not None:
            yield f"{_title(result)}: {len(found.parts)} operators take {_share(found.covered)} of the latency"


def _profile_rows(result: Result, at_most: int | None) -> Iterator[_Row]:
    found = profile(result)
    if found is None:
        return
    title = _title(result)
    for part in found.parts[:at_most]:
        yield title, printable(part.name), quantity(part.median_us, "us"), _share(part.share)
        title = ""
    left: tuple[Part, ...] = found.parts[len(found.parts[:at_most]) :]
    if left:
        together, share = sum(part.median_us for part in left), sum(part.share for part in left)
        yield "", f"and {len(left)} more", quantity(together, "us"), _share(share)


def _changed(one: ChangedOperator) -> _Row:
    contribution = signed(one.contribution)
    name = printable(one.name)
    return one.change, name, one.control, one.treatment, one.difference, one.interval, contribution


def _columns(names: Sequence[str], rows: Sequence[_Row], right: int) -> list[Column]:
    return [Column(name, [Text(row[place]) for row in rows], right=place >= right) for place, name in enumerate(names)]


def _title(result: Result) -> str:
    return printable(f"{result.benchmark.model}/{result.benchmark.identifier}")


def _share(share: float) -> str:
    """With one decimal in every row: here shares are added up by eye."""
    return f"{100 * share:.1f} %"
