"""The points of a series on one scale, also where their control changes on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from harness.core.alarm import MeasuredCommit

_FARTHEST: Final = 1e6
"""Relative differences beyond this are drawn as if they were this large."""
_NEIGHBOURS: Final = 5
"""So many points say where the series stood at a place: enough for a median that one of them does not move."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point with a number.

    Attributes:
        point: Where it comes from.
        difference: Relative to the first control.
        low: Lower end of its interval; None where nothing is excluded.
        high: Upper end.
    """

    point: MeasuredCommit
    difference: float
    low: float | None
    high: float | None

    def held_against(self, control: float) -> Dot:
        """The same where its control is at this relative difference."""
        ends = [None if end is None else _joined(control, end) for end in (self.low, self.high)]
        return replace(self, difference=_joined(control, self.difference), low=ends[0], high=ends[1])


def dots(series: Sequence[MeasuredCommit]) -> list[Dot]:
    """The points that have a number, each relative to its own control."""
    known = ((point, point.effect) for point in series if point.effect is not None)
    return [Dot(point, effect.difference, effect.low, effect.high) for point, effect in known]


def on_one_scale(found: Sequence[Dot], side: Callable[[int], int]) -> tuple[Dot, ...]:
    """The same points relative to the first control.

    Another control stands where the commits around it stood, so that what is no change does not look like one.

    Args:
        found: In the order of measurement, each relative to its own control.
        side: For each place in the history its side of the change: commits of another side say nothing of a control.
    """
    placed: list[Dot] = []
    controls: dict[str, float] = {}
    for dot in found:
        name = dot.point.control
        if name not in controls:
            controls[name] = _level_at(name, placed, side) if placed else 0.0
        placed.append(dot.held_against(controls[name]))
    return tuple(placed)


def _level_at(commit: str, placed: Sequence[Dot], side: Callable[[int], int]) -> float:
    """Where the series stood at a commit, or where it stands now when that was not measured itself."""
    place = next((dot.point.order for dot in placed if dot.point.commit == commit), placed[-1].point.order)
    alike = [dot for dot in placed if side(dot.point.order) == side(place)]
    nearest = sorted(alike, key=lambda dot: abs(dot.point.order - place))[:_NEIGHBOURS]
    return median(dot.difference for dot in nearest)


def _joined(control: float, difference: float) -> float:
    near = max(-_FARTHEST, min(_FARTHEST, difference))
    return max(-_FARTHEST, min(_FARTHEST, (1 + control) * (1 + near) - 1))
