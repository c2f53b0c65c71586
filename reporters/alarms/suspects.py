"""Which of the commits in question a reader is shown: those that matter, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harness.core.alarm import AlarmReport, Candidate

_LIKELY: Final = 0.95
"""Share of the probability that the shown commits hold together, as `harness.analysis.bisect.queries.Posterior`."""
_MOST: Final = 12
"""Rows that a reader takes in at once."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """A part of the commits in question.

    Attributes:
        shown: Oldest first.
        left_out: How many more there are.
        probability: What those hold together; None where nothing was searched.
    """

    shown: tuple[Candidate, ...]
    left_out: int
    probability: float | None


def suspects(report: AlarmReport) -> Suspects:
    """After a search the likeliest, before it the first and the last; both ends of each culprit always."""
    found = report.candidates
    searched = any(one.probability is not None for one in found)
    named = {commit.id for culprit in report.culprits for commit in (culprit.commits[0], culprit.commits[-1])}
    chosen = _likeliest(found) if searched else _ends(found)
    chosen |= {number for number, one in enumerate(found) if one.commit.id in named}
    others = [one.probability or 0.0 for number, one in enumerate(found) if number not in chosen]
    return Suspects(
        shown=tuple(found[number] for number in sorted(chosen)),
        left_out=len(others),
        probability=min(1.0, sum(others)) if searched else None,
    )


def guilty_ids(report: AlarmReport) -> frozenset[str]:
    """Ids of the commits that the search names."""
    return frozenset(commit.id for culprit in report.culprits for commit in culprit.commits)


def _likeliest(found: Sequence[Candidate]) -> set[int]:
    """The fewest that hold most of what all of them hold."""
    ranked = sorted(range(len(found)), key=lambda number: -(found[number].probability or 0.0))
    enough = _LIKELY * sum(one.probability or 0.0 for one in found)
    chosen: set[int] = set()
    held = 0.0
    for number in ranked[:_MOST]:
        if held >= enough:
            break
        chosen.add(number)
        held += found[number].probability or 0.0
    return chosen


def _ends(found: Sequence[Candidate]) -> set[int]:
    if len(found) <= _MOST:
        return set(range(len(found)))
    half = _MOST // 2
    return {*range(half), *range(len(found) - half, len(found))}
