"""Operators of a result: an icicle of the model's modules where they are known, else a bar for each operator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from harness.core.result import Result
from harness.presentation.module_tree import ModuleTime, build_module_tree, walk
from harness.presentation.numbers import format_quantity
from harness.presentation.operators import format_share
from harness.presentation.profiles import ProfileReport, describe_profile
from harness.presentation.text import make_printable
from reporters.document.axis import Axis, fit_axis
from reporters.document.picture import CHARACTER, Label, Mark, Picture, Rectangle

WIDTH: Final = 640
_MARGIN: Final = 4
_LEVELS: Final = 4
"""Columns that leave room for names; what lies deeper is in the last one."""
_ROW: Final = 26
"""Height of a part that has room for its name on a narrow screen, where letters are larger."""
_HEIGHTS: Final = (260, 1100)
_CHARACTER: Final = 1.5 * CHARACTER
"""Width of a character there."""
_BARS: Final = 25
"""Most bars of a picture; the others are in the table."""
_NAME: Final = 40
_NUMBER: Final = re.compile(r" #\d+$")


def draw_profile(result: Result, name: str) -> Picture | None:
    """Draw the operators of a result; None where they were not timed.

    Args:
        result: The result.
        name: Name of the picture, unique on its page.
    """
    report = describe_profile(result)
    if report is None:
        return None
    return _draw_icicle(report, name) if result.operators else _draw_bars(report, name)


def explain_profile(result: Result) -> str:
    """Return what a reader of the picture must know."""
    if not result.operators:
        return "The operators that take longest; their modules are not known."
    return (
        "Modules of the model from the outermost on the left to their parts, in order of execution from top to bottom; "
        "heights are times. Blue: executed by a delegate. Amber: by the kernels of the runtime. Grey: both, or what is "
        "no part of the model, such as the rest of a delegate's call. Rest the pointer on a part for its figures."
    )


def _draw_icicle(report: ProfileReport, name: str) -> Picture:
    order = {metric.type: place for place, metric in enumerate(report.result.metrics)}
    rows = sorted(report.operators, key=lambda row: order[row.name])
    tree = build_module_tree(rows, report.result.benchmark.model)
    levels = min(tree.depth, _LEVELS)
    height = min(max(_HEIGHTS[0], 18 * len(rows)), _HEIGHTS[1])
    down = Axis(0.0, tree.time_us, _MARGIN, height - _MARGIN)
    marks = [
        mark
        for part, level, start_us in walk(tree)
        for mark in _draw_part(part, level, start_us, whole_us=tree.time_us, levels=levels, down=down)
    ]
    return Picture(name, WIDTH, height, f"Time of the modules of {tree.name}", _describe(tree), marks)


def _draw_part(
    part: ModuleTime, level: int, start_us: float, *, whole_us: float, levels: int, down: Axis
) -> Iterator[Mark]:
    if level >= levels:
        return
    column = (WIDTH - 2 * _MARGIN) / levels
    left, top = _MARGIN + column * level, down.place(start_us)
    height = down.place(start_us + part.time_us) - top
    is_leaf = not part.parts or level == levels - 1
    width = WIDTH - _MARGIN - left if not part.parts else column
    share = format_share(part.time_us / whole_us)
    figures = f"{format_quantity(part.time_us, 'us')}, {share}"
    title = f"{part.path}: {figures}, {part.operators[0] if len(part.operators) == 1 else _count(part)}"
    yield Rectangle(f"{_kind(part)} {'leaf ' if is_leaf else ''}cell", left, top, width, height, make_printable(title))
    if height >= _ROW:
        room = int((width - 10) / _CHARACTER)
        yield Label(_name(part, share, room), left + 5, top + min(height / 2, 40) + 5, kind="within")


def _name(part: ModuleTime, share: str, room: int) -> str:
    """Return as much of a part's name, share and operator as there is room for."""
    texts = [part.name, f"{part.name} {share}"]
    if len(part.operators) == 1 and not part.parts:
        texts.append(f"{part.name} {share} {_NUMBER.sub('', part.operators[0])}")
    return make_printable(next((text for text in reversed(texts) if len(text) <= room), _clip(part.name, room)))


def _kind(part: ModuleTime) -> str:
    if not part.is_told or 0.02 < part.delegated_us / (part.time_us or 1.0) < 0.98:
        return "other"
    return "delegated" if part.delegated_us else "kernel"


def _describe(tree: ModuleTime) -> str:
    longest = sorted((part for part, _, _ in walk(tree) if not part.parts), key=lambda part: -part.time_us)[:5]
    shares = (f"{part.path} {format_share(part.time_us / tree.time_us)}" for part in longest)
    return make_printable(f"{_count(tree)} in {format_quantity(tree.time_us, 'us')}; the longest: {', '.join(shares)}")


def _count(part: ModuleTime) -> str:
    count = len(part.operators)
    return f"{count} operator{'' if count == 1 else 's'}"


def _draw_bars(report: ProfileReport, name: str) -> Picture:
    shown = report.operators[:_BARS]
    along = fit_axis([0.0, *(row.median_us for row in shown)], _MARGIN, WIDTH - _MARGIN, padding=0.0)
    marks: list[Mark] = []
    for number, row in enumerate(shown):
        top = _MARGIN + 44 * number
        marks.append(Label(_clip(make_printable(row.name), _NAME), _MARGIN, top + 17, kind="name"))
        figures = f"{format_quantity(row.median_us, 'us')}, {format_share(row.share)}"
        marks.append(Label(figures, WIDTH - _MARGIN, top + 17, "end"))
        marks.append(Rectangle("bar", _MARGIN, top + 25, max(along.place(row.median_us) - _MARGIN, 1), 12))
    title = f"Operators of {report.result.benchmark.model} that take longest"
    description = "; ".join(f"{row.name}: {format_quantity(row.median_us, 'us')}" for row in shown)
    return Picture(name, WIDTH, 2 * _MARGIN + 44 * len(shown), title, make_printable(description), marks)


def _clip(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 1)]}…"
