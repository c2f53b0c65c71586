"""Launches that did not count, by side and cause: whether one side loses more of them than chance, or than it may."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from harness.core.note import Note
from harness.core.result import Launch, Outcome

HEAT: Final = "was slowed by heat"
SILENT: Final = "said nothing that can be compared"
_FATES: Final = {Outcome.TIMEOUT: "timed out", Outcome.CRASHED: "crashed"}

LOST_LAUNCHES: Final = {f"{side}_lost_launches": side for side in ("control", "treatment")}
"""Codes of the notes of both sides. One that is not trusted speaks against `no change`: what is left of the side is a
choice of its launches."""

_SIGNIFICANT: Final = 0.01
_FLAKY_SHARE: Final = 0.05
"""A program that fails in one of twenty launches is called flaky, be it the first time that it was seen to."""


def cause_of(launch: Launch) -> str:
    """Why a launch did not count, in words."""
    if launch.outcome is Outcome.OK:
        return HEAT if launch.throttled else SILENT
    return _FATES.get(launch.outcome, "failed")


class DiscardedPairs:
    """What became of the launches that voided a pair. Each pair is voided by one side."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {side: Counter() for side in LOST_LAUNCHES.values()}

    def add(self, side: str, launch: Launch) -> None:
        """One more."""
        self._counts[side][cause_of(launch)] += 1

    def notes(self, pairs: int) -> tuple[Note, ...]:
        """What a reader must know of each side that lost launches.

        Args:
            pairs: How many pairs were tried.
        """
        return tuple(note for code in LOST_LAUNCHES if (note := self._note(code, pairs)) is not None)

    def doubt(self, pairs: int) -> Note | None:
        """What speaks against `no change`; None where nothing does."""
        return next((note for note in self.notes(pairs) if not note.trust), None)

    def _note(self, code: str, pairs: int) -> Note | None:
        side = LOST_LAUNCHES[code]
        counts = self._counts[side]
        lost = counts.total()
        if not lost:
            return None
        causes = ", ".join(f"{cause} in {count}" for cause, count in counts.most_common())
        message = f"the {side} {causes} of {pairs} pairs"
        if not (self._more_often(side) or self._is_flaky(side, pairs)):
            return Note(code=code, message=message)
        return Note(
            code=code,
            message=f"{message}, and only its other launches were compared",
            hint=_HINTS[HEAT] if counts.most_common(1)[0][0] == HEAT else _HINTS["failed"],
            trust=False,
        )

    def _more_often(self, side: str) -> bool:
        """Whether it lost more launches than the other. The coin makes the sign test of equal builds exact."""
        ours = self._counts[side].total()
        return sign_test(ours, sum(counts.total() for counts in self._counts.values())) <= _SIGNIFICANT

    def _is_flaky(self, side: str, pairs: int) -> bool:
        failed = sum(count for cause, count in self._counts[side].items() if cause != HEAT)
        return failed > 0 and failed >= _FLAKY_SHARE * pairs


_HINTS: Final = {
    HEAT: "it heats the device: give both pauses (`cooldown`), and compare what it does without them",
    "failed": "its logs say why; mend that first",
}


def sign_test(ours: int, of: int) -> float:
    """The probability that a fair coin falls on one of its sides so often, or more often, in so many tosses.

    Exact and for both sides: 8 of 8 are the fewest below 1 %.
    """
    ways = sum(math.comb(of, count) for count in range(ours, of + 1))
    return min(1.0, 2 * math.ldexp(ways, -of))
