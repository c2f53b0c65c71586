"""Ranks of programs that do the same work, in cells and in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.core.result import Result
from harness.presentation.text import Line, Span, Tone, make_printable

if TYPE_CHECKING:
    from harness.core.ranking import Rank


def format_rank(result: Result) -> Span:
    """Return the rank, or the range of ranks that pairs leave possible; empty where there is none."""
    rank = result.rank
    if rank is None:
        return Span("")
    if rank.best is None:
        return Span("-", Tone.MUTED)
    return Span(rank.words, Tone.GOOD if rank.best == rank.worst == 1 else Tone.NORMAL)


def format_ratio(result: Result) -> Span:
    """Return how many times as long it takes as the fastest."""
    rank = result.rank
    if rank is None or rank.ratio is None:
        return Span("")
    return Span(_format(rank.ratio), Tone.STRONG)


def format_ratio_interval(result: Result) -> str:
    """Return the interval of that ratio; empty for the fastest itself."""
    rank = result.rank
    if rank is None or rank.ratio is None or rank.fastest == result.benchmark.identifier:
        return ""
    low, high = ("?" if end is None else _format_end(end) for end in (rank.low, rank.high))
    return f"{low} - {high}"


def order_by_rank(results: Sequence[Result]) -> list[Result]:
    """Return results with those of each ranking together, by rank and then those that have none; others stay in place.

    Args:
        results: In the order of measurement, which within a ranking is that of the specification.
    """
    rankings: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        device = result.device.identity if result.device is not None else ""
        key = (result.uid,) if result.rank is None else (result.run, device, result.rank.ranking)
        rankings.setdefault(key, []).append(result)
    return [result for members in rankings.values() for result in sorted(members, key=_place)]


def _place(result: Result) -> tuple[float, ...]:
    rank = result.rank
    if rank is None or rank.best is None or rank.worst is None:
        return (math.inf,)
    return rank.best, rank.worst, rank.ratio or 1.0


def describe_ranks(results: Sequence[Result]) -> Iterator[Line]:
    """Yield lines for each ranking: the fastest, ranks that are shared and why, and those that have none."""
    rankings: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.rank is not None:
            device = result.device.identity if result.device is not None else ""
            rankings.setdefault((device, result.rank.ranking), []).append(result)
    for (_, title), members in rankings.items():
        yield from _describe_ranking(make_printable(title), members)


def _describe_ranking(title: str, members: Sequence[Result]) -> Iterator[Line]:
    ranked = [(result, result.rank) for result in members if result.rank is not None and result.rank.best is not None]
    if not ranked:
        yield Line.of(f"{title}: nothing is ranked, because no two of {len(members)} are known to do the same work")
    leaders = [result for result, rank in ranked if rank.best == 1]
    if len(leaders) == 1:
        yield Line.of(f"fastest of {title}: ", _name(leaders[0]))
    elif leaders:
        yield Line.of(f"{title}: ", *_join(leaders), " share the first rank")
    for result, rank in ranked:
        if rank.best != rank.worst and (reason := _explain_shared(rank)):
            yield Line.of("  ", _name(result), f": {reason}")
    if ranked:
        yield Line.of(Span(_describe_rules(ranked[0][1], max(rank.rounds for _, rank in ranked)), Tone.MUTED))


def _explain_shared(rank: Rank) -> str:
    """Explain why others share its rank."""
    parts = []
    if rank.equivalent:
        names = ", ".join(map(make_printable, rank.equivalent))
        parts.append(f"within {100 * rank.parameters.margin:.3g} % of {names}")
    if rank.undecided:
        names = ", ".join(map(make_printable, rank.undecided))
        parts.append(f"not told apart from {names} within the budget")
    return "; ".join(parts)


def _describe_rules(rank: Rank, rounds: int) -> str:
    parameters = rank.parameters
    return (
        f"{rounds} round{'' if rounds == 1 else 's'} in random order (seed {parameters.seed}); the probability that "
        f"any program is wrongly called faster is at most {100 * parameters.alpha:.3g} %"
    )


def _format(ratio: float) -> str:
    return f"{ratio:.3f}×" if ratio < 10 else f"{ratio:.1f}×"


def _format_end(ratio: float) -> str:
    """Format an end so that one beside 1 does not read as 1: an interval contains 1 or it does not."""
    if ratio == 1 or _format(ratio) != _format(1.0):
        return _format(ratio)
    return f"{1 + float(f'{ratio - 1:.1g}'):.10g}×"


def _name(result: Result) -> Span:
    return Span(make_printable(result.benchmark.identifier), Tone.STRONG)


def _join(results: Sequence[Result]) -> list[str | Span]:
    joined: list[str | Span] = []
    for number, result in enumerate(results):
        if number:
            joined.append(" and " if number == len(results) - 1 else ", ")
        joined.append(_name(result))
    return joined
