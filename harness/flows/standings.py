"""How far comparisons are, in a row each: what a person watches while they run."""

from __future__ import annotations

import math

from harness.core.comparison import Verdict
from harness.flows.contest import Contest

HEADER = ("benchmark", "pairs", "difference", "95 % interval", "evidence", "verdict")
_BAR = 12
"""Characters of the evidence bar."""


def standing(contest: Contest) -> tuple[str, ...]:
    """One row: pairs so far, estimated difference with its interval, evidence bar, verdict."""
    judge = contest.judge
    if contest.failure is not None:
        return (contest.versus.title, str(contest.pairs), "", "", "", contest.failure[0].value)
    verdict = judge.verdict()
    low, high = judge.interval()
    return (
        contest.versus.title,
        f"{contest.pairs}/{judge.parameters.max_pairs}",
        percent(judge.difference()),
        f"{percent(low, '-∞')} … {percent(high, '+∞')}" if judge.pairs else "",
        _bar(contest),
        verdict.value if verdict else "",
    )


def percent(value: float | None, otherwise: str = "") -> str:
    """A relative difference with its sign."""
    return otherwise if value is None else f"{value:+.2%}"


def _bar(contest: Contest) -> str:
    """How far the strongest evidence is on its way to a verdict, and for which."""
    parameters, evidence = contest.judge.parameters, contest.judge.evidence()
    alike = min(evidence.not_worse, evidence.tail, evidence.not_better if not parameters.gate else math.inf)
    shares = {
        Verdict.REGRESSION: _share(evidence.regression, parameters.alpha),
        Verdict.IMPROVEMENT: 0.0 if parameters.gate else _share(evidence.improvement, parameters.alpha),
        Verdict.NO_CHANGE: _share(alike, parameters.beta),
    }
    leading = max(shares, key=lambda verdict: shares[verdict])
    filled = round(_BAR * shares[leading])
    return f"{'█' * filled}{'░' * (_BAR - filled)} {leading.value if filled else ''}".rstrip()


def _share(e_value: float, level: float) -> float:
    return min(1.0, max(0.0, math.log(max(e_value, 1.0)) / math.log(1 / level)))
