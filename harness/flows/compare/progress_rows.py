"""Rows of the table that a person watches while comparisons run."""

from __future__ import annotations

import math
from typing import Final

from harness.core.comparison import Verdict
from harness.core.protocols import BoardRow
from harness.flows.compare.comparison_run import ComparisonRun
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


def _bar(run: ComparisonRun) -> str:
    """Draw how far the strongest evidence is on its way to a verdict, behind the mark of that verdict."""
    parameters, evidence = run.test.parameters, run.test.evidence()
    equivalence = min(evidence.not_worse, evidence.tail, evidence.not_better if not parameters.gate else math.inf)
    shares = {
        Verdict.REGRESSION: _share(evidence.regression, parameters.alpha),
        Verdict.IMPROVEMENT: 0.0 if parameters.gate else _share(evidence.improvement, parameters.alpha),
        Verdict.NO_CHANGE: _share(equivalence, parameters.beta),
    }
    leading = max(shares, key=lambda verdict: shares[verdict])
    filled = int(_BAR * shares[leading])
    return f"{CATEGORY_OF_VERDICT[leading].mark if shares[leading] else ' '} {'█' * filled}{'░' * (_BAR - filled)}"


def _share(e_value: float, level: float) -> float:
    """Return the share of the way by the logarithm: evidence multiplies from pair to pair."""
    return min(1.0, max(0.0, math.log(max(e_value, 1.0)) / math.log(1 / level)))
