"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.analysis.compare.estimate import Interval
from harness.analysis.compare.evidence import fewest_pairs
from harness.analysis.compare.final_test import level_on_the_way
from harness.core.comparison import Parameters, Verdict
from harness.core.note import Note

UNSHOWN: Final = "interval"
"""Code of the note that a change is proven which the interval does not show."""

UNSTEADY: Final = "unsteady"
"""Code of the note that the pairs refute every single difference."""


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


def contradicted(estimated: str) -> str:
    """Why pairs that rule out a change of one figure are no verdict of no change."""
    return f"{estimated} alone would be no change, but the other figures speak for one"


def unshown(interval: Interval, changes: Mapping[str, float], estimated: str, *, upwards: bool) -> str | None:
    """Why the interval does not show a change that is proven, in words; None where it does.

    The interval is that of one figure of five, so that it can hold 0 where others prove a change: a tail, for example.

    Args:
        interval: Of the estimated figure.
        changes: Relative change of each figure, by name.
        estimated: Name of the estimated one.
        upwards: Whether the proven change is one to larger values.
    """
    low, high = interval
    above, below = low is not None and low > 0, high is not None and high < 0
    if above if upwards else below:
        return None
    where = "lies on the other side of 0" if above or below else "holds 0"
    told = ", ".join(f"{name} {100 * change:+.2f} %" for name, change in changes.items())
    return (
        f"the interval is that of {estimated} alone and {where}; the evidence is that of all figures of all pairs "
        f"together ({told})"
    )


def unshown_note(why: str | None) -> tuple[Note, ...]:
    """The same for a reader who sees a change beside an interval that does not show it."""
    return () if why is None else (Note(code=UNSHOWN, message=why),)


def unsteady_note(unsteady: bool) -> tuple[Note, ...]:
    """What a reader must know where no single difference explains all pairs."""
    if not unsteady:
        return ()
    message = "the difference changed while it was measured: no single one explains all pairs, so there is no interval"
    hint = "look at the pairs in the report; measure again with `cooldown`, or on a device that does nothing else"
    return (Note(code=UNSTEADY, message=message, hint=hint, trust=False),)


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
