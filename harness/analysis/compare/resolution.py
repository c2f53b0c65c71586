"""Resolution of the figures: no pair can see what a coarse clock rounds away.

Where figures come in steps, most figures of two launches are equal, whatever lies between the steps: 90 ns of a clock
that ticks every 10 ns may be 86 or 94. Such a tie means that the difference is less than a step, and not that it is 0.
Rounding moves each figure by half a step at most (by one, if it cuts off), always in order; so the log ratio of a pair
is wrong by one step at most, relative to the smaller of the two. Evidence that gives this much away before each bet is
no larger than that of the true figures, and keeps its guarantee.

Against "not worse" and "not better" nothing is given away: equal builds are rounded equally, and a better one never to
a worse figure.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from harness.core.comparison import Pair, Parameters
from harness.core.note import Note
from harness.core.verdict import Verdict

COARSE = "coarse"
"""Code of the note that there is no verdict because the figures are too coarse."""

_SAME = 1e-9
"""Figures that differ by less, relatively, differ by the rounding of a conversion."""

_FEWEST_EQUAL = 2
"""Figures equal to earlier ones that show steps. Few figures that all differ lie far apart with any clock: of 8 of a
clock with 16,000 steps, that spread by 10 %, the two nearest differ by half a percent in most cases."""

_NEAR = 0.5
"""A step of half the margin halves the room for `no change`; a reader who waits for it should know."""


class Resolution:
    """Step between the figures of a metric, as far as the figures themselves show it.

    Distinct figures are at least a step apart, so the smallest gap between any two is never less than the step, and
    comes as near to it as the figures are many. Only what was measured may be given: an interpolated percentile lies
    between the steps.

    Args:
        parts: Number of parts of a step that figures may lie apart: 2 where they are medians, which may lie halfway.
        exact: Whether a figure that never varies is exact, and not hidden within one step.
    """

    __slots__ = ("_equal", "_exact", "_gaps", "_ordered", "_parts")

    def __init__(self, *, parts: int = 1, exact: bool = False) -> None:
        self._parts = parts
        self._exact = exact
        self._ordered: list[float] = []
        self._gaps = (math.inf, math.inf)
        self._equal = 0

    def add(self, figure: float) -> None:
        """Add one more figure, finite and above zero."""
        place = bisect_left(self._ordered, figure)
        for neighbour in self._ordered[max(0, place - 1) : place + 1]:
            if math.isclose(figure, neighbour, rel_tol=_SAME):
                self._equal += 1
                return
            # A rate was rounded itself, or computed from a time that was.
            gaps = (abs(figure - neighbour), abs(1 / figure - 1 / neighbour))
            self._gaps = (min(self._gaps[0], gaps[0]), min(self._gaps[1], gaps[1]))
        self._ordered.insert(place, figure)

    @property
    def log_step(self) -> float:
        """Largest rounding error of a log ratio; infinite where the figures do not show it."""
        if len(self._ordered) < 2:
            return 0.0 if self._exact else math.inf
        lowest, highest = self._ordered[0], self._ordered[-1]
        step = self._parts * max(self._gaps[0] / lowest, self._gaps[1] * highest)
        return -math.log1p(-step) if step < 1 else math.inf

    def explain_coarseness(self, parameters: Parameters) -> str | None:
        """Explain why there can hardly be a verdict of no change, or none at all.

        None where the steps are fine enough, or the figures too few to show any: then the verdict has to wait for more
        pairs, whatever the clock.
        """
        margin, step = math.log1p(parameters.margin), self.log_step
        if step <= _NEAR * margin or self._equal < _FEWEST_EQUAL:
            return None
        cannot = "cannot" if step >= margin else "can hardly"
        return (
            f"the figures {self._describe_steps()}, so that they {cannot} rule out a change of "
            f"{100 * parameters.margin:.3g} %"
        )

    def _describe_steps(self) -> str:
        if len(self._ordered) < 2:
            return "do not vary"
        if math.isinf(self.log_step):
            return "come in steps as large as themselves"
        return f"come in steps of {math.expm1(self.log_step):.2g} of their size"


def add_pair(resolution: Resolution, pair: Pair) -> None:
    """Add the best iteration of each launch: the only one of five statistics that always is a sample."""
    resolution.add(pair.control[0])
    resolution.add(pair.treatment[0])


def coarseness_note(resolution: Resolution, verdict: Verdict, parameters: Parameters) -> tuple[Note, ...]:
    """Note for a reader who asked for more than the clock can resolve."""
    reason = resolution.explain_coarseness(parameters) if verdict is Verdict.UNDECIDED else None
    if reason is None:
        return ()
    log_step = resolution.log_step
    wider = "" if math.isinf(log_step) else f", or ask for less: --margin {_above(2 * math.expm1(log_step)):g}"
    hint = f"let each iteration run the model many times, or read a finer clock and print all its digits{wider}"
    return (Note(code=COARSE, message=reason, hint=hint),)


def _above(share: float) -> float:
    """Round a share up to one digit."""
    digit = 10.0 ** math.floor(math.log10(share))
    return math.ceil(share / digit) * digit
