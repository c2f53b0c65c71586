"""Figures of results as foreign formats take them: a finite value, its interval, and a name that stays the same."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.device import ELSEWHERE
from harness.core.launch_interval import known_interval
from harness.core.metric import Direction, Metric, convert
from harness.core.result import Result

_LONGEST_NAME: Final = 250
"""Characters of a name; foreign databases have limits (Bencher: 1,024 for the whole name of a benchmark)."""


class ExportedFigure(Struct, frozen=True):
    """One figure of a result.

    Attributes:
        result: The result.
        metric: The metric.
        statistic: What `value` is: `median`, or `mean` where the program reported nothing else.
        value: The value in the unit of the metric; finite.
        low: Lower end of its interval, at most `value`; None where it is not known.
        high: Upper end, likewise.
    """

    result: Result
    metric: Metric
    statistic: str
    value: float
    low: float | None
    high: float | None

    @property
    def higher_is_better(self) -> bool:
        """True if larger values are better."""
        return self.metric.direction is Direction.HIGHER

    @property
    def name(self) -> str:
        """Name of the metric; that of the whole model goes without `NET`."""
        return shorten(self.metric.metric if self.metric.type == "NET" else self.metric.name)

    def scaled(self, factor: float) -> tuple[float, float | None, float | None] | None:
        """Return value, lower and upper end times a factor; None where the value is not finite then."""
        value, low, high = (None if number is None else number * factor for number in (self.value, self.low, self.high))
        if value is None or not math.isfinite(value):
            return None
        ends = [end if end is not None and math.isfinite(end) else None for end in (low, high)]
        return value, ends[0], ends[1]


class Omissions:
    """Count of what a format cannot say, by kind, in the order in which it was met."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, singular: str, plural: str = "") -> None:
        """Count one thing, such as `failed result`."""
        self._counts[singular, plural or f"{singular}s"] += 1

    def describe(self) -> str:
        """Return the counts: `1 failed result, 12 times of operators`; empty if nothing was left out."""
        return ", ".join(f"{count} {words[count != 1]}" for words, count in self._counts.items())


def select_figures(results: Sequence[Result], omissions: Omissions, *, failures: bool) -> Iterator[ExportedFigure]:
    """Yield the figures about the whole model of results that are ok, in their order.

    Args:
        results: The results.
        omissions: Counts everything else: results without figures, texts, times of operators, values not finite.
        failures: Whether the format says itself which results failed; then they are not counted.
    """
    for result in results:
        if result.ok:
            chosen = [figure for metric in result.metrics for figure in _select(result, metric, omissions)]
            if not chosen:
                omissions.add("result without a figure", "results without a figure")
            yield from chosen
        elif not failures:
            kind = "skipped" if result.outcome.is_skipped else "failed"
            omissions.add(f"{kind} result")


def _select(result: Result, metric: Metric, omissions: Omissions) -> Iterator[ExportedFigure]:
    statistic = "mean" if metric.median is None else "median"
    value = metric.summary.get("mean") if metric.median is None else metric.median
    if metric.is_of_operator:
        omissions.add("time of an operator", "times of operators")
    elif metric.info is not None:
        omissions.add("text")
    elif value is None or not math.isfinite(value):
        omissions.add("metric without a finite value", "metrics without a finite value")
    else:
        interval = known_interval(metric)
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        low = low if low is not None and math.isfinite(low) and low <= value else None
        high = high if high is not None and math.isfinite(high) and high >= value else None
        yield ExportedFigure(result, metric, statistic, value, low, high)


def name_series(result: Result) -> str:
    """Return the name under which figures of a benchmark on a device are followed: `mv2/xnnpack_fp32-t1/Pixel 9 (id)`.

    It depends on nothing but benchmark and device, so that it is the same in each file. The identity tells devices of
    one name apart; that of a device on which another tool measured begins with `elsewhere:`.
    """
    benchmark, device = result.benchmark, result.device
    identifier = benchmark.identifier.removeprefix(f"{benchmark.model}-") or benchmark.identifier
    place = "no device" if device is None else f"{shorten(device.name)} ({shorten(device.identity)})"
    if result.origin is not None and (device is None or not device.identity.startswith(ELSEWHERE)):
        place = f"{place} {ELSEWHERE}"
    return "/".join((shorten(benchmark.model), shorten(identifier), place))


def shorten(text: str) -> str:
    """Return a name of bearable length: the end of a longer one is a part of its SHA-256, so that names stay apart."""
    if len(text) <= _LONGEST_NAME:
        return text
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]
    return f"{text[: _LONGEST_NAME - 13]}…{digest}"


def fixed_unit(unit: str, time: str) -> tuple[float, str]:
    """Return the factor to the unit in which every file has figures of a kind, and its name.

    A unit that followed the size of a value would break a series where it changes.

    Args:
        unit: Unit of the metric.
        time: Unit of times.
    """
    factor = convert(1.0, unit, time)
    if factor is not None:
        return factor, time
    return 1.0, "bytes" if unit == "B" else shorten(unit)
