"""Speeds of measurements relative to each other, and which of them can be told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.launch_interval import known_interval
from harness.core.metric import Direction, Metric, convert, main_metric
from harness.core.result import Result
from harness.core.rivals import are_of_several_runs, group_rivals, has_several_frameworks
from harness.presentation.numbers import format_factors, format_percent
from harness.presentation.text import Line, Span, Tone, make_printable

APART: Final = 1.1
"""Ratio of two intervals' ends from which on the one is called faster. Each shows what moves the launches of its own
benchmark, and not how the machine changed in between: between the intervals of two runs of one program up to 400
launches apart lay 10 % in less than 2 % of cases, on recordings of a shared machine and beside a bursty neighbour
(`tests/benchmarks/decisions/test_launch_intervals.py`). For many benchmarks that is a bound for each pair, and the
intervals themselves are already those of 0.5 %."""

_NAMED: Final = 3
"""At most so many results of a list are named, and then the number of the others."""


class _Rival(Struct, frozen=True):
    """Result that can be ranked, with its speed as a range: of any unit that its rivals share."""

    result: Result
    slowest: float
    fastest: float
    measured_fastest: float
    """The same without what a doubt of known size may have cost it."""

    @property
    def name(self) -> Span:
        """Identifier of its benchmark."""
        return Span(make_printable(self.result.benchmark.identifier), Tone.STRONG)

    def lead_over(self, other: _Rival) -> tuple[float, float]:
        """Return how many times as fast as another it is, at least and at most."""
        return self.slowest / other.fastest, self.fastest / other.slowest

    def is_faster(self, other: _Rival) -> bool:
        """Return whether it can be told to be faster."""
        return self.lead_over(other)[0] >= APART

    def seems_faster(self, other: _Rival) -> bool:
        """Return whether its interval alone tells it to be faster."""
        return self.slowest / other.measured_fastest >= APART


def describe_fastest(results: Sequence[Result]) -> Iterator[Line]:
    """Yield lines for each group of rivals: the fastest with its lead, and which cannot be told apart or ranked.

    There are none for rivals of several runs: a machine changes between runs, and one of them may be there twice.
    """
    for group in group_rivals(results):
        if len(group) < 2:
            continue
        field, ranked = _field_name(group[0], results), _rank(group)
        if has_several_frameworks(group):
            names = _join([Span(make_printable(name)) for name in sorted({each.benchmark.framework for each in group})])
            yield Line.of(f"{field}: ", *names, " are not ranked here; `harness rank` does that, by pairs of launches")
            continue
        if are_of_several_runs(group):
            continue
        if len(ranked) < 2:
            why = "cannot be trusted" if not all(result.trusted for result in group) else "have no interval"
            yield Line.of(f"fastest of {field}: unknown, because {len(group) - len(ranked)} of {len(group)} {why}")
            continue
        yield _describe_leaders(field, ranked, group[0])
        yield from _describe_ties(ranked)
        known = {rival.result.uid for rival in ranked}
        for why, is_trusted in (("no interval", True), ("cannot be trusted", False)):
            unranked = [result for result in group if result.uid not in known and result.trusted is is_trusted]
            if unranked:
                names = _join([Span(make_printable(result.benchmark.identifier), Tone.STRONG) for result in unranked])
                yield Line.of("not ranked: ", *names, f" ({why})")


def find_fastest(results: Sequence[Result]) -> frozenset[str]:
    """Return the uids of the results that may be called fastest of one run; none where all of them may be."""
    fastest: set[str] = set()
    for group in group_rivals(results):
        if has_several_frameworks(group) or are_of_several_runs(group):
            continue
        ranked = _rank(group)
        leaders = _leaders(ranked)
        if len(leaders) < len(ranked):
            fastest.update(rival.result.uid for rival in leaders if rival.result.trusted)
    return frozenset(fastest)


def _rank(group: Sequence[Result]) -> list[_Rival]:
    """Return the rivals whose speed is known to an interval, the fastest first."""
    reference = main_metric(group[0].metrics)
    rivals = [rival for result in group if reference and (rival := _as_rival(result, reference)) is not None]
    return sorted(rivals, key=lambda rival: -rival.slowest * rival.fastest)


def _as_rival(result: Result, reference: Metric) -> _Rival | None:
    """Return a result as a rival; None where it has no interval, or a doubt of unknown size.

    A doubt of known size makes the median too slow by as much at most.
    """
    main, errors = main_metric(result.metrics), [note.error for note in result.notes if not note.trust]
    interval = known_interval(main) if main is not None else None
    if main is None or interval is None or interval.low <= 0 or None in errors:
        return None
    low, high = (convert(end, main.unit, reference.unit) for end in (interval.low, interval.high))
    if not low or not high:
        return None
    excess = 1 + max((error for error in errors if error is not None), default=0.0)
    if main.direction is Direction.HIGHER:
        return _Rival(result, low, high * excess, high)
    return _Rival(result, 1 / high, excess / low, 1 / low)


def _describe_tie(tied: Sequence[_Rival]) -> str:
    """Return that rivals cannot be told apart, and why where their intervals say otherwise."""
    first, last = tied[0], tied[-1]
    if first.seems_faster(last):
        return "cannot be told apart here, because of what their notes say"
    if first.slowest > last.measured_fastest:
        near = f"their intervals lie less than {format_percent(APART - 1)} apart"
        return f"cannot be told apart here: {near}, and the machine may have changed between them"
    return "cannot be told apart here"


def _leaders(ranked: Sequence[_Rival]) -> list[_Rival]:
    return [rival for rival in ranked if not ranked[0].is_faster(rival)]


def _describe_leaders(field: str, ranked: Sequence[_Rival], first: Result) -> Line:
    leaders = _leaders(ranked)
    names = _join([rival.name for rival in leaders])
    leading = {rival.result.uid for rival in leaders}
    slower = [rival for rival in ranked if rival.result.uid not in leading]
    if not slower:
        return Line.of(f"{field}: ", *names, f" {_describe_tie(leaders)}")
    parts: list[str | Span] = [f"fastest of {field}: ", *names]
    parts += [f", which {_describe_tie(leaders)}; ", leaders[0].name, " is "] if len(leaders) > 1 else [", "]
    compared = [slower[0], *(rival for rival in slower[1:] if rival.result is first)]
    for number, rival in enumerate(compared):
        lead = format_factors(*leaders[0].lead_over(rival))
        parts += [" and " if number else "", f"{lead} as fast as ", rival.name]
    return Line.of(*parts)


def _describe_ties(ranked: Sequence[_Rival]) -> Iterator[Line]:
    """Yield a line for each run of neighbours in the ranking, below its leaders, that cannot be told apart."""
    rest = ranked[len(_leaders(ranked)) :]
    run: list[_Rival] = []
    for rival in [*rest, None]:
        if run and (rival is None or run[0].is_faster(rival)):
            if len(run) > 1:
                yield Line.of(*_join([tied.name for tied in run]), f" {_describe_tie(run)}")
            run = []
        if rival is not None:
            run.append(rival)


def _join(names: Sequence[Span]) -> list[str | Span]:
    """Join names as in a sentence: `a, b and c`, or `a, b and 3 more`."""
    shown = list(names) if len(names) <= _NAMED + 1 else [*names[:_NAMED], Span(f"{len(names) - _NAMED} more")]
    joined: list[str | Span] = []
    for number, name in enumerate(shown):
        if number:
            joined.append(" and " if number == len(shown) - 1 else ", ")
        joined.append(name)
    return joined


def _field_name(result: Result, results: Iterable[Result]) -> str:
    """Name the rivals: a model's results on one device."""
    devices = {other.device.identity for other in results if other.device is not None}
    place = f" on {result.device.name}" if result.device is not None and len(devices) > 1 else ""
    return make_printable(result.benchmark.model + place)
