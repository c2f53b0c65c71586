"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.analysis.compare.estimate import Interval
from harness.analysis.compare.evidence import fewest_pairs
from harness.analysis.compare.final_test import level_on_the_way
from harness.core.comparison import Parameters, Verdict
from harness.core.note import Note

HIDDEN_CHANGE: Final = "interval"
"""Code of the note that the interval does not show the change that is proven."""

UNSTEADY: Final = "unsteady"
"""Code of the note that the pairs refute every single difference."""


def explain_verdict(verdict: Verdict, pairs: int, parameters: Parameters) -> str:
    """Explain a verdict that was given after this many pairs."""
    match verdict:
        case Verdict.REGRESSION:
            return _rejection(pairs, '"not worse"', parameters.alpha)
        case Verdict.IMPROVEMENT:
            return _rejection(pairs, '"not better"', parameters.alpha)
        case Verdict.NO_CHANGE:
            change = "worse" if parameters.gate else "worse or better"
            bulk = f'"{change} by {_percent(parameters.margin)}"'
            tail = f'"tail worse by {_percent(parameters.tail_margin)}"'
            return _rejection(pairs, f"{bulk} and {tail}", parameters.beta)
        case Verdict.UNDECIDED:
            return f"{_budget(pairs, parameters)} is spent{_in_vain(pairs, parameters)}"


def explain_missing_verdict(pairs: int) -> str:
    """Explain why pairs that ended early give no verdict."""
    return f"{_count_pairs(pairs)} did not suffice for a verdict, and the budget is not spent"


def explain_contradiction(estimated: str) -> str:
    """Explain why pairs that rule out a change of one statistic do not give `no change`."""
    return f"{estimated} alone shows no change, but the other statistics indicate one"


def explain_hidden_change(
    interval: Interval, changes: Mapping[str, float], estimated: str, *, upwards: bool
) -> str | None:
    """Explain why the interval does not show a change that is proven; None where it does.

    The interval is that of one statistic of five, so that it can contain 0 where others prove a change: a tail, for
    example.

    Args:
        interval: Of the estimated statistic.
        changes: Relative change of each statistic, by name.
        estimated: Name of the estimated one.
        upwards: Whether the proven change is one to larger values.
    """
    low, high = interval
    above, below = low is not None and low > 0, high is not None and high < 0
    if above if upwards else below:
        return None
    place = "lies on the other side of 0" if above or below else "contains 0"
    listed = ", ".join(f"{name} {100 * change:+.2f} %" for name, change in changes.items())
    return (
        f"the interval describes {estimated} alone and {place}; the evidence combines all statistics of all pairs "
        f"({listed})"
    )


def hidden_change_note(reason: str | None) -> tuple[Note, ...]:
    """Note for a reader who sees a change beside an interval that does not show it."""
    return () if reason is None else (Note(code=HIDDEN_CHANGE, message=reason),)


def unsteady_note(is_unsteady: bool) -> tuple[Note, ...]:
    """Note for a reader where no single difference explains all pairs."""
    if not is_unsteady:
        return ()
    message = "the difference changed during the measurement: no single one explains all pairs, so there is no interval"
    hint = "look at the pairs in the report; measure again with `cooldown`, or on a device that does nothing else"
    return (Note(code=UNSTEADY, message=message, hint=hint, trust=False),)


def _rejection(pairs: int, hypothesis: str, level: float) -> str:
    return f"{_count_pairs(pairs)} reject {hypothesis} at the {_percent(level)} level"


def _budget(pairs: int, parameters: Parameters) -> str:
    if pairs < parameters.max_pairs and parameters.max_seconds is not None:
        return f"the budget of {parameters.max_seconds:g} s ({_count_pairs(pairs)})"
    return f"the budget of {_count_pairs(parameters.max_pairs)}"


def _in_vain(pairs: int, parameters: Parameters) -> str:
    fewest = fewest_pairs(level_on_the_way(parameters.alpha))
    if pairs < fewest:
        return f"; {_count_pairs(fewest)} are the fewest that can show a change at {_percent(parameters.alpha)}"
    return f", and neither shows a change nor rules out one of {_percent(parameters.margin)} or more"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _count_pairs(pairs: int) -> str:
    return f"{pairs} pair{'s' if pairs != 1 else ''}"
