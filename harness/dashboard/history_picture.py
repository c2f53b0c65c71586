"""Picture of the history of a cell: its figures over commits, the range of noise, and where proven changes are.

Commits stand at equal distances, in the order of time. On an axis of time, a day of forty commits would be one smear
and a week of holidays half of the picture, while the question is which commit moved the number. Dates stand below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.verdict import Verdict
from harness.dashboard.history_axes import HistoryFrame, fit_history
from harness.dashboard.links import Links
from harness.dashboard.wording import format_day, format_range, has_figure, name_commit
from harness.presentation.alarm_headlines import clip, format_effect
from harness.presentation.numbers import format_change, format_quantity
from harness.store.history import CellHistory, ChangeRow, HistoryPoint
from reporters.document.picture import CHARACTER, Circle, Label, Mark, Path, Picture, Rectangle, draw_grid

WIDTH: Final = 760
HEIGHT: Final = 330

MOST_POINTS: Final = 600
"""With more, ranges of neighbours stand for points, so that the page stays small: about 200 bytes for each point."""
_STOPS: Final = 60
"""With more points, the tabulator key stops at changes only; the table below has links to all."""
_COLUMNS: Final = 300
"""Ranges that stand for points."""
_CROWDED: Final = 150
"""From so many points on they are drawn smaller."""
_DATES: Final = 4
_SUBJECT: Final = 48
_CHANGES: Final = 60
"""Most changes that are marked: the newest."""
_LEVELS: Final = 30
"""With more bands they are parts of levels."""
_KEPT: Final = 150
"""Most points of each kind that are kept among ranges: changes, failures and figures from elsewhere; the newest."""


def draw_history(history: CellHistory, links: Links, name: str = "history") -> Picture | None:
    """Draw a history; None where no point of it has a figure.

    Args:
        history: The history.
        links: Addresses of results and alarms.
        name: Name of the picture, unique on its page.
    """
    frame = fit_history(history, WIDTH, HEIGHT)
    if frame is None or history.metric is None:
        return None
    drawing = _Drawing(history, frame, links, history.metric.unit)
    is_crowded = len(history.points) > MOST_POINTS
    marks: list[Mark] = [
        *draw_grid(frame.along, frame.left, frame.right, unit=frame.unit),
        *drawing.bands(),
        *drawing.changes(),
        *(drawing.ranges() if is_crowded else drawing.intervals()),
        *drawing.points(_select_remarkable(history.points) if is_crowded else history.points),
        *drawing.dates(),
    ]
    return Picture(name, WIDTH, HEIGHT, _title(history), _describe(history), marks, kind="history")


class _Drawing(Struct, frozen=True):
    """Parts of the picture."""

    history: CellHistory
    frame: HistoryFrame
    links: Links
    unit: str

    def bands(self) -> Iterator[Mark]:
        """Draw the range of each level with its middle; many short ones as one shade, without middles."""
        shown = [band for band in self.history.bands if band.end >= self.frame.times[0]]
        are_levels = len(shown) <= _LEVELS
        limits = [x for x in map(self.frame.x_of_change, self.history.changes) if x is not None]
        for number, band in enumerate(shown):
            left, right = self.frame.x_of_time(band.start, before=True), self.frame.x_of_time(band.end)
            if not are_levels and number + 1 < len(shown):
                right = max(right, self.frame.x_of_time(shown[number + 1].start, before=True))
                right = min([right, *(x for x in limits if x > left)])
            top, bottom = self.frame.y(band.high), self.frame.y(band.low)
            title = f"{band.count:,} results, most of them from {format_range(band.low, band.high, self.unit)}"
            width = max(right - left, 2.0)
            yield Rectangle("noise", left, top, width, max(bottom - top, 1.5), title if are_levels else "")
            if are_levels:
                yield Path("middle", f"M{left:.1f} {self.frame.y(band.middle):.1f}h{width:.1f}")

    def changes(self) -> Iterator[Mark]:
        """Draw a line for each proven change with its size above it, where there is room."""
        free = 0.0
        for change in self.history.changes[-_CHANGES:]:
            x = self.frame.x_of_change(change)
            if x is None:
                continue
            kind, href, title = _slug(change.verdict), _address(change, self.links), _title_of_change(change)
            yield Path(f"change {kind}", f"M{x:.1f} {self.frame.top:g}V{self.frame.bottom:g}", title, href, False)
            text = format_change(change.effect.relative_change) if change.effect else change.verdict.value
            half = 0.9 * CHARACTER * len(text)
            middle = min(max(x, self.frame.left + half), self.frame.right - half)
            if middle - half >= free:
                yield Label(text, middle, self.frame.top - 8, "middle", f"size {kind}", title, href)
                free = middle + half

    def intervals(self) -> Iterator[Mark]:
        """Draw all intervals as one path."""
        lines = (
            f"M{self.frame.x(number):.1f} {self.frame.y(point.low):.1f}V{self.frame.y(point.high):.1f}"
            for number, point in enumerate(self.history.points)
            if point.low is not None and point.high is not None
        )
        yield Path("spans", "".join(lines))

    def ranges(self) -> Iterator[Mark]:
        """Draw the smallest, middle and largest figure of neighbours as one path each."""
        edges: list[str] = []
        middles: list[str] = []
        points = enumerate(self.history.points)
        known = [(number, point.median) for number, point in points if point.median is not None and has_figure(point)]
        size = max(1, -(-len(known) // _COLUMNS))
        for start in range(0, len(known), size):
            part = known[start : start + size]
            values = sorted(median for _, median in part)
            x = self.frame.x(part[len(part) // 2][0])
            edges.append(f"M{x:.1f} {self.frame.y(values[0]):.1f}V{self.frame.y(values[-1]):.1f}")
            middles.append(f"{'L' if middles else 'M'}{x:.1f} {self.frame.y(values[len(values) // 2]):.1f}")
        yield Path("extent", "".join(edges))
        yield Path("course", "".join(middles))

    def points(self, points: Sequence[HistoryPoint]) -> Iterator[Mark]:
        """Draw each of these points as a link to its result."""
        numbers = {id(point): number for number, point in enumerate(self.history.points)}
        radius = 2.6 if len(points) > _CROWDED else 4.0
        is_stop = len(points) <= _STOPS
        for point in points:
            x, href = self.frame.x(numbers[id(point)]), self.links.result(point.uid)
            title = title_of_point(point, self.unit)
            if point.median is None or not has_figure(point):
                kind = "skip" if point.outcome.is_skipped else "miss"
                y = self.frame.lane
                yield Path(kind, f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6", title, href, is_stop)
                continue
            y = self.frame.y(point.median)
            kind = _kind_of(point)
            size = radius if self.frame.contains(point.median) else 1.8
            if point.origin is not None:
                reach = size + 1.2
                corners = f"M{x:.1f} {y - reach:.1f}l{reach:g} {reach:g}l-{reach:g} {reach:g}l-{reach:g} -{reach:g}z"
                yield Path(kind, corners, title, href, is_stop)
            else:
                yield Circle(kind, x, y, size, title, href, is_stop)

    def dates(self) -> Iterator[Mark]:
        """Write dates below, at equal distances."""
        points = self.history.points
        count = min(_DATES, len({self.frame.x(number) for number in range(len(points))}))
        before = ""
        for part in range(count):
            number = round(part * (len(points) - 1) / max(count - 1, 1))
            text, x = format_day(points[number].time), self.frame.x(number)
            anchor = "middle" if 0 < part < count - 1 or count == 1 else "start" if part == 0 else "end"
            if text != before:
                yield Label(text, x, self.frame.bottom + 20, anchor)
            before = text


def title_of_point(point: HistoryPoint, unit: str) -> str:
    """Return what is known of a point in one line: commit, figure, interval, verdict."""
    commit = point.commit
    subject = f" “{clip(commit.subject, _SUBJECT)}”" if commit is not None and commit.subject.strip() else ""
    if point.median is None:
        parts = [point.outcome.words, clip(point.reason)]
    else:
        interval = f" [{format_range(point.low, point.high, unit)}]" if point.low is not None else ""
        parts = [
            f"{format_quantity(point.median, unit)}{interval}",
            f"{point.verdict.value} {format_effect(point.effect)}".strip() if point.verdict is not None else "",
            "" if point.trusted else "not trusted",
            point.origin.words if point.origin is not None else "",
        ]
    return f"{name_commit(commit)}{subject}: {', '.join(part for part in parts if part)}"


def _kind_of(point: HistoryPoint) -> str:
    """Return the classes of a point: its verdict, or that it has none, and whether it is hollow."""
    verdict = _slug(point.verdict) if point.verdict is not None else "plain"
    foreign = " foreign" if point.origin is not None else ""
    return f"point {verdict}{foreign}{'' if point.trusted else ' doubted'}"


def _select_remarkable(points: Sequence[HistoryPoint]) -> list[HistoryPoint]:
    """Return the points that ranges do not show, in their order: changes, failures, and figures from elsewhere."""
    tests: tuple[Callable[[HistoryPoint], bool], ...] = (
        lambda point: point.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT},
        lambda point: not has_figure(point),
        lambda point: point.origin is not None,
    )
    kept: set[int] = set()
    for test in tests:
        kept |= {id(point) for point in [point for point in points if test(point)][-_KEPT:]}
    return [point for point in points if id(point) in kept]


def _address(change: ChangeRow, links: Links) -> str:
    return links.alarm(change.alarm) if change.alarm else links.result(change.result) if change.result else ""


def _title_of_change(change: ChangeRow) -> str:
    """Say what changed, where, and what proves it."""
    where = f"with {name_commit(change.after)}" if change.culprit else f"up to {name_commit(change.after)}"
    return f"proven {change.verdict.value} {format_effect(change.effect)} {where}, by {change.proof.value}"


def _title(history: CellHistory) -> str:
    metric = clip(history.metric.name) if history.metric is not None else ""
    return f"{metric} of {clip(history.cell.title)} over {len(history.points):,} results"


def _describe(history: CellHistory) -> str:
    """Give in words what a reader takes from the picture."""
    unit = history.metric.unit if history.metric is not None else ""
    known = [point.median for point in history.points if point.median is not None and has_figure(point)]
    failed = len(history.points) - len(known)
    text = f"From {format_quantity(known[0], unit)} at the beginning to {format_quantity(known[-1], unit)} at the end"
    text += f", between {format_quantity(min(known), unit)} and {format_quantity(max(known), unit)}."
    text += f" {failed:,} without a figure." if failed else ""
    changes = "; ".join(_title_of_change(change) for change in history.changes[-8:])
    return f"{text} {changes}." if changes else text


def _slug(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
