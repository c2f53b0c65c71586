"""Rows of the table that a person watches while comparisons run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from harness.core.comparison import Verdict
from harness.core.levels import levels_of
from harness.core.protocols import Board, BoardRow
from harness.flows.compare.comparison_run import ComparisonRun
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.verdicts import CATEGORY_OF_VERDICT

HEADER: Final = ("benchmark", "pairs", "difference", "95 % interval", "evidence", "verdict")
SUSPECTED: Final = {Verdict.REGRESSION: "worse?", Verdict.IMPROVEMENT: "better?"}
"""Verdict column of a change that may not survive."""

_BAR: Final = 8
"""Characters of the evidence bar: each is an eighth of the way to a verdict."""
_DIFFERENCE: Final = 8
_INTERVAL: Final = 16
"""Characters of nearly every difference and interval, kept free from the beginning so that columns stay in place."""


class ProgressTable:
    """Board of comparisons, of which only rows that change are made anew.

    Args:
        runs: The comparisons of one device, in order.
        board: Shows them.
        discoveries: The changes that were measured to the end, on all devices.
    """

    def __init__(
        self, runs: Sequence[ComparisonRun], board: Board, discoveries: FalseDiscoveryFilter[ComparisonRun]
    ) -> None:
        self._numbers = {run: number for number, run in enumerate(runs)}
        self._board = board
        self._filter = discoveries
        self._discoveries = discoveries.final()
        board.show([progress_row(run, discovered=run in self._discoveries) for run in runs])

    def update(self, run: ComparisonRun) -> None:
        """Show the row of a comparison after its next step, and those of changes that have become discoveries."""
        self.update_discoveries()
        self._update(run)

    def update_discoveries(self) -> None:
        """Show the rows of changes that have become discoveries, on whichever device their support was measured."""
        discoveries = self._filter.final()
        if discoveries is self._discoveries:
            return
        changed, self._discoveries = discoveries ^ self._discoveries, discoveries
        for run in changed & self._numbers.keys():
            self._update(run)

    def _update(self, run: ComparisonRun) -> None:
        discovered = run in self._discoveries
        row = partial(progress_row, run, discovered=discovered)
        self._board.update(self._numbers[run], row, is_decided=is_settled(run, discovered=discovered))


def progress_row(run: ComparisonRun, *, discovered: bool) -> BoardRow:
    """Return one row: pairs so far, estimated difference with its interval, evidence bar, verdict.

    What its own pairs call a change may not survive among many benchmarks: until it is known that it does, it is a
    suspicion and not decided.

    The bar consists of a mark and blocks and has no letter or digit, so that a log can leave it out.
    """
    test = run.test
    if run.failure is not None:
        state = run.failure.outcome.words
        return BoardRow((run.subject.title, str(run.pairs), "", "", "", state), failed=True)
    own, most = run.verdict, str(test.parameters.max_pairs)
    suspicion = SUSPECTED.get(own) if own is not None and not discovered else None
    verdict = own if suspicion is None else None
    cells = (
        run.subject.title,
        f"{run.pairs:>{len(most)}}/{most}",
        f"{format_change(test.difference()):>{_DIFFERENCE}}",
        f"{format_interval(*test.interval()):>{_INTERVAL}}",
        _bar(run),
        suspicion or (verdict.value if verdict else ""),
    )
    return BoardRow(cells, verdict)


def is_settled(run: ComparisonRun, *, discovered: bool) -> bool:
    """Return whether its row (`progress_row`) is decided."""
    if run.failure is not None:
        return True
    verdict = run.verdict
    return verdict is not None and (discovered or not verdict.is_change)


def _bar(run: ComparisonRun) -> str:
    """Draw how far the strongest evidence is on its way to a verdict, behind the mark of that verdict."""
    parameters, evidence = run.test.parameters, run.test.evidence()
    bulk = evidence.not_worse if parameters.gate else min(evidence.not_worse, evidence.not_better)
    equivalence = min(_share(bulk, levels_of(parameters).equivalence), _share(evidence.tail, parameters.beta))
    shares = {
        Verdict.REGRESSION: _share(evidence.regression, parameters.alpha),
        Verdict.IMPROVEMENT: 0.0 if parameters.gate else _share(evidence.improvement, parameters.alpha),
        Verdict.NO_CHANGE: equivalence,
    }
    leading = max(shares, key=lambda verdict: shares[verdict])
    filled = int(_BAR * shares[leading])
    return f"{CATEGORY_OF_VERDICT[leading].mark if shares[leading] else ' '} {'█' * filled}{'░' * (_BAR - filled)}"


def _share(e_value: float, level: float) -> float:
    """Return the share of the way by the logarithm: evidence multiplies from pair to pair."""
    return min(1.0, max(0.0, math.log(max(e_value, 1.0)) / math.log(1 / level)))
