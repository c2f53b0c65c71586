"""Metrics: what a launch observed, and what a result keeps of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from typing import Final

from harness.core.values import Value

LATENCY: Final = "NET latency"
"""Name of the metric that nearly every result is about: the latency of the whole model."""


class Direction(StrEnum):
    """Which way is better."""

    LOWER = "lower"
    HIGHER = "higher"


class Observation(Value):
    """What one launch said about one metric: samples, a ready summary, or a text.

    Attributes:
        type: What was observed: `NET` for the whole model, an operator's name, `RUN` for the launch itself.
        metric: `latency`, `cpu_time`, `load_time`, `peak_memory`, ...
        unit: `ns`, `us`, `ms`, `s`, `bytes`, ...; empty for a count or a ratio.
        samples: Values in the order they were measured.
        summary: Statistics the program computed itself; then there are no samples.
        info: A text instead of numbers.
    """

    type: str
    metric: str
    unit: str = ""
    samples: tuple[float, ...] = ()
    summary: dict[str, float] | None = None
    info: str | None = None

    @property
    def name(self) -> str:
        """FAI-PEP's key, for example `NET latency`."""
        return f"{self.type} {self.metric}"


class ControlSide(Value):
    """The control's half of a metric that was compared, in the metric's unit; the names are FAI-PEP's.

    Attributes:
        control_values: The control's samples, in measured order.
        control_launches: For each the index of the control's launch it came from.
        control_summary: The control's statistics.
        diff_summary: Treatment minus control, statistic by statistic; percentile X minus percentile 100 - X.
    """

    control_values: tuple[float, ...] = ()
    control_launches: tuple[int, ...] = ()
    control_summary: dict[str, float | None] = {}
    diff_summary: dict[str, float | None] = {}


class Metric(Value):
    """One metric of a result, over all its launches.

    Attributes:
        name: `<type> <metric>`, for example `NET latency`; unique in a result.
        type: What was measured: `NET` for the whole model, an operator's name, `RUN` for the launch itself.
        metric: `latency`, `cpu_time`, `load_time`, `peak_memory`, ...
        unit: `ns`, `us`, `ms`, `s`, `bytes`, ...; empty for a count, a ratio or a text.
        direction: Which way is better; None for a text.
        samples: Every value, in measured order.
        launches: For each sample the index of the launch it came from (same length as `samples`).
        summary: Statistics by FAI-PEP's names (see `harness.analysis.summary`), in `unit`; `n` counts the samples.
        info: The text of a metric that is one.
        control: The same metric of the control, when the result is that of a treatment.
    """

    name: str
    type: str
    metric: str
    unit: str
    direction: Direction | None = Direction.LOWER
    samples: tuple[float, ...] = ()
    launches: tuple[int, ...] = ()
    summary: dict[str, float | None] = {}
    info: str | None = None
    control: ControlSide | None = None

    @property
    def median(self) -> float | None:
        """Its median, in `unit`; None where there is none."""
        return self.summary.get("p50")

    @property
    def timed(self) -> bool:
        """Whether it is a time or a rate."""
        return convert(1.0, self.unit, "s") is not None or self.unit.endswith("/s")


def main_metric(metrics: Sequence[Metric]) -> Metric | None:
    """The metric that a result is about: `NET latency`, else the first time or rate, else the first with a median."""
    numbers = [metric for metric in metrics if metric.summary]
    named = (metric for metric in numbers if metric.name == LATENCY)
    timed = (metric for metric in numbers if metric.timed)
    others = (metric for metric in numbers if metric.median is not None)
    return next(chain(named, timed, others), None)


_HIGHER = re.compile(
    r"throughput|accuracy|per_sec|/s\b|\bfps\b|\bips\b|top[-_ ]?\d|top_?k|recall|precision|f1|auc|map\b|sqnr|snr|psnr|"
    r"cosine|agreement|correct|bandwidth",
    re.IGNORECASE,
)


def direction_of(metric: str, unit: str) -> Direction:
    """Which way is better, from the names in use in the field: rates and accuracies up, everything else down."""
    return Direction.HIGHER if _HIGHER.search(metric) or _HIGHER.search(unit) else Direction.LOWER


_NANOSECONDS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9}


def convert(value: float, unit: str, to: str) -> float | None:
    """The value in another unit of the same kind (time only), or None where the units do not convert."""
    if unit == to:
        return value
    if unit in _NANOSECONDS and to in _NANOSECONDS:
        return value * _NANOSECONDS[unit] / _NANOSECONDS[to]
    return None
