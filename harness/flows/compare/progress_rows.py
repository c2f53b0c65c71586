"""Rows of the table that a person watches while comparisons run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from harness.analysis.compare.decision import SequentialTest
from harness.core.levels import levels_of
from harness.core.protocols import Board, BoardRow
from harness.core.verdict import Verdict
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.measure.plan import Failure
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


class ShownComparison(Protocol):
    """Comparison that goes on, as far as it is shown."""

    @property
    def title(self) -> str:
        """Title of its row."""

    @property
    def decisions(self) -> Sequence[MetricDecision]:
        """The decisions on its metrics, the one that the benchmark is about first."""

    @property
    def failure(self) -> Failure | None:
        """Reason for its end without a verdict; None where there is none."""

    @property
    def pairs(self) -> int:
        """Number of valid pairs so far."""


AnyShown = TypeVar("AnyShown", bound=ShownComparison)


class ProgressTable(Generic[AnyShown]):
    """Board of comparisons, of which only rows that change are made anew.

    Args:
        runs: The comparisons of one device, in order.
        board: Shows them.
        discoveries: The changes that were measured to the end, on all devices.
    """

    def __init__(
        self,
        runs: Sequence[AnyShown],
        board: Board,
        discoveries: FalseDiscoveryFilter[tuple[AnyShown, MetricDecision]],
    ) -> None:
        shown = [(run, decision) for run in runs for decision in run.decisions]
        self._numbers = {hypothesis: number for number, hypothesis in enumerate(shown)}
        self._board = board
        self._filter = discoveries
        self._discoveries = discoveries.final()
        board.show([progress_row(*hypothesis, discovered=hypothesis in self._discoveries) for hypothesis in shown])

    def update(self, run: AnyShown) -> None:
        """Show the rows of a comparison after its next step, and those of changes that have become discoveries."""
        self.update_discoveries()
        for hypothesis in self._numbers:
            if hypothesis[0] is run:
                self._update(hypothesis)

    def update_discoveries(self) -> None:
        """Show the rows of changes that have become discoveries, on whichever device their support was measured."""
        discoveries = self._filter.final()
        if discoveries is self._discoveries:
            return
        changed, self._discoveries = discoveries ^ self._discoveries, discoveries
        for hypothesis in changed & self._numbers.keys():
            self._update(hypothesis)

    def _update(self, hypothesis: tuple[AnyShown, MetricDecision]) -> None:
        discovered = hypothesis in self._discoveries
        row = partial(progress_row, *hypothesis, discovered=discovered)
        is_decided = is_settled(*hypothesis, discovered=discovered)
        self._board.update(self._numbers[hypothesis], row, is_decided=is_decided)


def progress_row(run: ShownComparison, decision: MetricDecision, *, discovered: bool) -> BoardRow:
    """Return one row: pairs so far, estimated difference with its interval, evidence bar, verdict.

    What its own pairs call a change may not survive among many benchmarks: until it is known that it does, it is a
    suspicion and not decided.

    The bar consists of a mark and blocks and has no letter or digit, so that a log can leave it out.
    """
    test, title = decision.test, _title(run, decision)
    if run.failure is not None:
        state = run.failure.outcome.words
        return BoardRow((title, str(run.pairs), "", "", "", state), failed=True)
    if decision not in run.decisions:
        return BoardRow((title, "", "", "", "", "not reported"), failed=True)
    own, most = decision.verdict, str(test.parameters.max_pairs)
    suspicion = SUSPECTED.get(own) if own is not None and not discovered else None
    verdict = own if suspicion is None else None
    cells = (
        title,
        f"{run.pairs:>{len(most)}}/{most}",
        f"{format_change(test.difference()):>{_DIFFERENCE}}",
        f"{format_interval(*test.interval()):>{_INTERVAL}}",
        _bar(test),
        suspicion or (verdict.name_after(gate=test.parameters.gate) if verdict else ""),
    )
    return BoardRow(cells, verdict)


def is_settled(run: ShownComparison, decision: MetricDecision, *, discovered: bool) -> bool:
    """Return whether its row (`progress_row`) is decided."""
    if run.failure is not None or decision not in run.decisions:
        return True
    verdict = decision.verdict
    return verdict is not None and (discovered or not verdict.is_change)


def _title(run: ShownComparison, decision: MetricDecision) -> str:
    """Return the title of the benchmark, with the metric where it is not the one that the benchmark is about."""
    is_main = decision is run.decisions[0]
    return run.title if is_main else f"{run.title}: {decision.metric.short_name}"


def _bar(test: SequentialTest) -> str:
    """Draw how far the strongest evidence is on its way to a verdict, behind the mark of that verdict."""
    parameters, evidence = test.parameters, test.evidence()
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
