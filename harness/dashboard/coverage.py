"""Coverage: which benchmarks have results on which devices, and why others have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.dashboard.links import Site
from harness.dashboard.rendering import render_view
from harness.store.history import Coverage, CoverageState, Selection

FRESH_DAYS: Final = 30
"""Age from which a result is called stale, unless a person asks for another."""

FRESH_S: Final = FRESH_DAYS * 86_400.0

_MARKS: Final[Mapping[CoverageState, tuple[str, str]]] = {
    CoverageState.MEASURED: ("✓", "improvement"),
    CoverageState.STALE: ("◷", "undecided"),
    CoverageState.FAILED: ("✗", "failed"),
    CoverageState.SKIPPED: ("-", "skipped"),
    CoverageState.MISSING: ("○", "undecided"),
    CoverageState.EXCLUDED: ("·", "skipped"),
}
"""Mark and class of the style sheet of each state."""

_MEANINGS: Final[Mapping[CoverageState, str]] = {
    CoverageState.MEASURED: "has a recent result that ended well",
    CoverageState.STALE: f"its newest good result is older than {FRESH_DAYS} days, or than the time that was asked for",
    CoverageState.FAILED: "its newest result failed",
    CoverageState.SKIPPED: "was skipped or is not supported, with a reason",
    CoverageState.MISSING: "never had a result here, but has on another device of this platform",
    CoverageState.EXCLUDED: "never had a result on any device of this platform",
}


def render_coverage(coverage: Coverage, selection: Selection, site: Site) -> str:
    """Render the matrix of benchmarks and devices, with the number of each state and of each reason.

    Args:
        coverage: The states.
        selection: What was asked for.
        site: What all pages have in common.
    """
    states = [(state, coverage.counts.get(state, 0), *_MARKS[state], _MEANINGS[state]) for state in CoverageState]
    return render_view(
        "coverage.html",
        site,
        title="Coverage",
        view="Coverage",
        coverage=coverage,
        selection=selection,
        states=states,
        marks=_MARKS,
        total=sum(coverage.counts.values()),
    )
