"""Verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.analysis.compare.evidence import fewest_pairs
from harness.analysis.compare.final_test import level_on_the_way
from harness.core.comparison import Parameters
from harness.core.note import Note
from harness.core.verdict import Verdict

FIGURES_DIFFER: Final = "figures"
"""Code of the note that the figures of the launches changed by different amounts."""

HIDDEN_CHANGE: Final = "interval"
"""Code of a note in older results: the interval described one figure alone, and not the change that was proven."""

BELOW_MARGIN: Final = "below_margin"
"""Code of the note that a change is proven and smaller than a margin that somebody chose."""

UNSTEADY: Final = "unsteady"
"""Code of the note that the pairs refute every single difference."""


def explain_verdict(verdict: Verdict, pairs: int, parameters: Parameters) -> str:
    """Explain a verdict that pairs gave, after this many of them."""
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
            return f"{_budget(pairs, parameters)} is spent"


def explain_undecided(pairs: int, parameters: Parameters, *, excludes_change: bool, excludes_tail: bool) -> str:
    """Explain why this many pairs did not suffice.

    Args:
        pairs: Number of pairs.
        parameters: Of the comparison.
        excludes_change: Whether they rule out a change of the margin.
        excludes_tail: Whether they rule out a tail that is worse by its margin.
    """
    spent = explain_verdict(Verdict.UNDECIDED, pairs, parameters)
    fewest = fewest_pairs(level_on_the_way(parameters.alpha))
    margin = _percent(parameters.margin)
    if pairs < fewest:
        return f"{spent}; {_count_pairs(fewest)} are the fewest that can show a change at {_percent(parameters.alpha)}"
    if not excludes_change:
        return f"{spent}, and neither shows a change nor rules out one of {margin} or more"
    if not excludes_tail:
        tail = f"that the tail is worse by {_percent(parameters.tail_margin)} or more"
        return f"{spent}, and rules out a change of {margin} or more, but not {tail}"
    return spent


def explain_missing_verdict(pairs: int) -> str:
    """Explain why pairs that ended early give no verdict."""
    return f"{_count_pairs(pairs)} did not suffice for a verdict, and the budget is not spent"


def explain_contradiction() -> str:
    """Explain why pairs that rule out a change of the margin do not give `no change`."""
    return "together the figures show no change, but one of them by itself indicates one"


def explain_figures(changes: Mapping[str, float], figure: str) -> str:
    """Explain what difference and interval describe where no single difference is that of all figures.

    Args:
        changes: Relative change of each statistic, by name.
        figure: Name of the one that changed most.
    """
    listed = ", ".join(f"{name} {round(100 * change, 2) + 0.0:+.2f} %" for name, change in changes.items())
    return (
        f"the figures of the launches changed by different amounts ({listed}): difference and interval describe the "
        f"largest change, which is that of {figure}"
    )


def figures_note(reason: str | None) -> tuple[Note, ...]:
    """Note for a reader of a difference that is not that of all figures."""
    return () if reason is None else (Note(code=FIGURES_DIFFER, message=reason),)


def margin_note(verdict: Verdict, difference: float | None, parameters: Parameters) -> tuple[Note, ...]:
    """Note for a reader who chose a margin and expects changes below it to be tolerated (docs/decisions/0020)."""
    chosen = parameters.margin != Parameters.model_fields["margin"].default
    if not chosen or not verdict.is_change or difference is None or abs(difference) >= parameters.margin:
        return ()
    message = (
        f"the difference is smaller than the margin of {_percent(parameters.margin)}, but proven: the margin is what "
        f"`no change` rules out, and any proven change counts"
    )
    return (Note(code=BELOW_MARGIN, message=message, hint="judge by the interval whether the size matters"),)


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


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _count_pairs(pairs: int) -> str:
    return f"{pairs} pair{'s' if pairs != 1 else ''}"
