"""Which of several results is fastest, and by how much: a first look. Whether it is really so, a comparison says."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from rich.text import Text

from harness.core.metric import Direction, Metric, convert, main_metric
from harness.core.result import Result
from harness.presentation.numbers import factor
from harness.presentation.text import printable

_CLOSE: Final = 1.05
"""Launches of one program may differ so much and still count as quiet (`harness.analysis.quality.BETWEEN_LIMIT`)."""


def speeds(results: Iterable[Result]) -> dict[str, float]:
    """By uid: how many times as fast each result is as the first one that did the same work in the same place."""
    found: dict[str, float] = {}
    for first, *others in _rivals(results):
        reference = main_metric(first.metrics)
        for result in (first, *others):
            ratio = _ratio(main_metric(result.metrics), reference)
            if ratio is not None:
                found[result.uid] = ratio
    return found


def verdicts(results: Sequence[Result]) -> Iterator[Text]:
    """One line for each group of rivals: the fastest to be believed, and its distance to the next and the first."""
    ratios = speeds(results)
    for rivals in _rivals(results):
        ranked = sorted((one for one in rivals if one.uid in ratios), key=lambda one: -ratios[one.uid])
        believed = [one for one in ranked if one.trusted]
        if len(ranked) < 2:
            continue
        if len(believed) < 2:
            doubtful = f"cannot be told: {len(ranked) - len(believed)} of {len(ranked)} are not to be believed"
            yield Text(f"fastest of {_field_of(ranked[0], results)}: {doubtful}")
            continue
        line = _verdict(believed, rivals[0], ratios, _field_of(ranked[0], results))
        if ranked[0] is not believed[0]:
            line.append(" (").append_text(_name(ranked[0])).append(" looks faster, but is not to be believed)")
        yield line


def fastest(results: Sequence[Result]) -> frozenset[str]:
    """Uids of the results that may be called fastest."""
    ratios = speeds(results)
    best: set[str] = set()
    for rivals in _rivals(results):
        trusted = [one.uid for one in rivals if one.trusted and one.uid in ratios]
        top = max((ratios[uid] for uid in trusted), default=0.0)
        best.update(uid for uid in trusted if len(trusted) > 1 and top / ratios[uid] < _CLOSE)
    return frozenset(best)


def _verdict(ranked: Sequence[Result], first: Result, ratios: dict[str, float], field: str) -> Text:
    best, following = ranked[0], ranked[1]
    line = Text.assemble("fastest of ", field, ": ", _name(best))
    ahead = ratios[best.uid] / ratios[following.uid]
    if ahead < _CLOSE:
        return line.append_text(Text.assemble(" and ", _name(following), ", too close to call"))
    line.append(f", {factor(ahead)} as fast as ").append_text(_name(following))
    if first.uid not in {best.uid, following.uid} and first.trusted:
        line.append(f" and {factor(ratios[best.uid])} as fast as ").append_text(_name(first))
    return line


def _field_of(result: Result, results: Iterable[Result]) -> str:
    """Among whom somebody is fastest: a model's results on one device."""
    devices = {one.device.identity for one in results if one.device is not None}
    where = f" on {result.device.name}" if result.device is not None and len(devices) > 1 else ""
    return printable(result.benchmark.model + where)


def _name(result: Result) -> Text:
    return Text(printable(result.benchmark.identifier), style="bold")


def _rivals(results: Iterable[Result]) -> list[list[Result]]:
    """Results with a time or rate, by what must be equal for their speeds to compare; in the order of their firsts."""
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
