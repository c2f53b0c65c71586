"""Verdicts in words."""

from __future__ import annotations

from harness.analysis.compare.evidence import fewest_pairs
from harness.analysis.compare.reserve import level_on_the_way
from harness.core.comparison import Parameters, Verdict


def reason_of(verdict: Verdict, pairs: int, parameters: Parameters) -> str:
    """What made a verdict after so many pairs."""
    told = f"{_counted(pairs)} refute at"
    match verdict:
        case Verdict.REGRESSION:
            return f"{told} {_percent(parameters.alpha)} that it is not worse"
        case Verdict.IMPROVEMENT:
            return f"{told} {_percent(parameters.alpha)} that it is not better"
        case Verdict.NO_CHANGE:
            change = "worse" if parameters.gate else "worse or better"
            bulk = f"that it is {change} by {_percent(parameters.margin)}"
            tail = f"its tail worse by {_percent(parameters.tail_margin)}"
            return f"{told} {_percent(parameters.beta)} {bulk}, or {tail}"
        case Verdict.UNDECIDED:
            return f"{_budget(pairs, parameters)} is spent{_in_vain(pairs, parameters)}"


def reason_for_more(pairs: int) -> str:
    """Why pairs that ended early are no verdict."""
    return f"{_counted(pairs)} did not suffice for a verdict, and the budget is not spent"


def _budget(pairs: int, parameters: Parameters) -> str:
    if pairs < parameters.max_pairs and parameters.max_seconds is not None:
        return f"the budget of {parameters.max_seconds:g} s ({_counted(pairs)})"
    return f"the budget of {_counted(parameters.max_pairs)}"


def _in_vain(pairs: int, parameters: Parameters) -> str:
    fewest = fewest_pairs(level_on_the_way(parameters.alpha))
    if pairs < fewest:
        return f"; {_counted(fewest)} are the fewest that can show a change at {_percent(parameters.alpha)}"
    return f" and shows neither a change nor that there is none of {_percent(parameters.margin)} or more"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _counted(pairs: int) -> str:
    return f"{pairs} pair{'s' if pairs != 1 else ''}"
