"""Speeds of measurements relative to each other: a first look. Only a comparison can show a difference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from harness.core.metric import Direction, Metric, convert, main_metric
from harness.core.result import Result
from harness.presentation.numbers import format_factor
from harness.presentation.text import Line, Span, Tone, make_printable

_CLOSE: Final = 1.05
"""Launches of one program may differ so much and still count as quiet (`harness.analysis.quality.BETWEEN_LIMIT`)."""


def compute_speeds(results: Iterable[Result]) -> dict[str, float]:
    """Return by uid how many times as fast each result is as the first that did the same work in the same place."""
    speeds: dict[str, float] = {}
    for rivals in _group_rivals(results):
        reference = main_metric(rivals[0].metrics)
        for result in rivals:
            ratio = _ratio(main_metric(result.metrics), reference)
            if ratio is not None:
                speeds[result.uid] = ratio
    return speeds


def describe_fastest(results: Sequence[Result]) -> Iterator[Line]:
    """Yield one line for each group of rivals: the fastest trusted result, and its lead over the next and the first."""
    speeds = compute_speeds(results)
    for rivals in _group_rivals(results):
        ranked = sorted((result for result in rivals if result.uid in speeds), key=lambda result: -speeds[result.uid])
        trusted = [result for result in ranked if result.trusted]
        if len(ranked) < 2:
            continue
        field = f"fastest of {_field_name(ranked[0], results)}: "
        if len(trusted) < 2:
            yield Line.of(f"{field}unknown, because {len(ranked) - len(trusted)} of {len(ranked)} cannot be trusted")
            continue
        parts = [field, *_describe_lead(trusted, rivals[0], speeds)]
        if ranked[0] is not trusted[0]:
            parts += [" (", _name(ranked[0]), " looks faster, but cannot be trusted)"]
        yield Line.of(*parts)


def find_fastest(results: Sequence[Result]) -> frozenset[str]:
    """Return the uids of the results that may be called fastest."""
    speeds = compute_speeds(results)
    fastest: set[str] = set()
    for rivals in _group_rivals(results):
        trusted = [result.uid for result in rivals if result.trusted and result.uid in speeds]
        top = max((speeds[uid] for uid in trusted), default=0.0)
        fastest.update(uid for uid in trusted if len(trusted) > 1 and top / speeds[uid] < _CLOSE)
    return frozenset(fastest)


def _describe_lead(ranked: Sequence[Result], first: Result, speeds: dict[str, float]) -> list[str | Span]:
    winner, runner_up = ranked[0], ranked[1]
    lead = speeds[winner.uid] / speeds[runner_up.uid]
    if lead < _CLOSE:
        return [_name(winner), " and ", _name(runner_up), ", too close to call"]
    parts: list[str | Span] = [_name(winner), f", {format_factor(lead)} as fast as ", _name(runner_up)]
    if first.uid not in {winner.uid, runner_up.uid} and first.trusted:
        parts += [f" and {format_factor(speeds[winner.uid])} as fast as ", _name(first)]
    return parts


def _field_name(result: Result, results: Iterable[Result]) -> str:
    """Name the rivals: a model's results on one device."""
    devices = {other.device.identity for other in results if other.device is not None}
    place = f" on {result.device.name}" if result.device is not None and len(devices) > 1 else ""
    return make_printable(result.benchmark.model + place)


def _name(result: Result) -> Span:
    return Span(make_printable(result.benchmark.identifier), Tone.STRONG)


def _group_rivals(results: Iterable[Result]) -> list[list[Result]]:
    """Group results with a time or rate by all that must be equal for a fair comparison, in order of their firsts."""
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        main = main_metric(result.metrics)
        if result.ok and main is not None and main.is_timed and main.median:
            device = result.device.identity if result.device else None
            inputs = tuple(sorted(result.benchmark.inputs.items()))
            groups.setdefault((device, result.benchmark.model, inputs, main.name), []).append(result)
    return list(groups.values())


def _ratio(metric: Metric | None, reference: Metric | None) -> float | None:
    if metric is None or reference is None or not metric.median or not reference.median:
        return None
    value = convert(metric.median, metric.unit, reference.unit)
    if not value:
        return None
    return value / reference.median if metric.direction is Direction.HIGHER else reference.median / value
