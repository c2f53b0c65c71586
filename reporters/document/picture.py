"""Pictures as data: marks with coordinates and classes of the style sheet, which a template writes as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from reporters.document.axis import Axis, Tick

CHARACTER: Final = 6.6
"""Approximate width of a character of a label, in units of a picture."""


class Path(Struct, frozen=True):
    """Line or lines, or a shape.

    Attributes:
        kind: Class of the style sheet.
        d: Commands, as SVG has them.
        title: Shown where the pointer rests on it.
        href: Address that it links to.
        is_stop: Whether the tabulator key stops at its link.
    """

    kind: str
    d: str
    title: str = ""
    href: str = ""
    is_stop: bool = True
    tag: str = "path"


class Rectangle(Struct, frozen=True):
    """Filled rectangle; its title is shown where the pointer rests on it, and it may link to an address."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str = ""
    href: str = ""
    is_stop: bool = True
    tag: str = "rect"


class Circle(Struct, frozen=True):
    """Circle; its title is shown where the pointer rests on it, and it may link to an address."""

    kind: str
    x: float
    y: float
    radius: float
    title: str = ""
    href: str = ""
    is_stop: bool = True
    tag: str = "circle"


class Label(Struct, frozen=True):
    """Text at a place, escaped by the template; it may link to an address."""

    text: str
    x: float
    y: float
    anchor: str = "start"
    kind: str = "label"
    title: str = ""
    href: str = ""
    is_stop: bool = True
    tag: str = "text"


Mark = Path | Rectangle | Circle | Label


class Picture(Struct, frozen=True):
    """Drawing.

    Attributes:
        name: Name that is unique on a page.
        width: Width, in units of its own.
        height: Height.
        title: What it shows, in a few words, for those who cannot see it too.
        description: What it shows in detail: figures that a reader takes from it.
        marks: In the order of drawing.
        kind: Classes of the style sheet.
    """

    name: str
    width: int
    height: int
    title: str
    description: str
    marks: Sequence[Mark]
    kind: str = ""

    @property
    def is_linked(self) -> bool:
        """True if marks of it are links: then it is no image to a screen reader, which hides what is in one."""
        return any(mark.href for mark in self.marks)


def draw_grid(
    axis: Axis, left: float, right: float, *, about: int = 5, signed: bool = False, unit: str = ""
) -> Iterator[Mark]:
    """Draw a line and a label for each tick of an axis that points upwards; the line of zero is stronger."""
    for tick in axis.ticks(about, signed=signed, unit=unit):
        y = axis.place(tick.value)
        yield Path("grid" if tick.value else "zero", f"M{left:g} {y:.1f}H{right:g}")
        yield Label(tick.label, left - 8, y + 4, anchor="end")


def draw_upright_grid(axis: Axis, top: float, bottom: float, width: float, ticks: Iterable[Tick]) -> Iterator[Mark]:
    """Draw a line and a label below it for each of these ticks of an axis that points to the right.

    Args:
        axis: The axis.
        top: Upper end of the lines.
        bottom: Their lower end.
        width: Width of the picture, in which the labels stay.
        ticks: The ticks.
    """
    for tick in ticks:
        x = axis.place(tick.value)
        yield Path("grid" if tick.value else "zero", f"M{x:.1f} {top:g}V{bottom:g}")
        half = 0.8 * CHARACTER * len(tick.label)
        anchor = "start" if x < half else "end" if x > width - half else "middle"
        yield Label(tick.label, min(max(x, 2), width - 2) if anchor != "middle" else x, bottom + 16, anchor)


def draw_points(kind: str, points: Iterable[tuple[float, float]]) -> Path:
    """Draw many dots as one path of lines without length, whose round ends the style sheet shows."""
    return Path(kind, "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points))
