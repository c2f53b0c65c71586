"""Where the time of one benchmark went: its operators, the longest first."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.metric import LATENCY, Metric, convert
from harness.core.result import Result


@dataclass(frozen=True, slots=True)
class Part:
    """One operator.

    Attributes:
        name: What it is called.
        median_us: Its median, in microseconds.
        share: Of the sum of all operators.
    """

    name: str
    median_us: float
    share: float


@dataclass(frozen=True, slots=True)
class Profile:
    """All operators of a benchmark.

    Attributes:
        parts: The longest first; what takes equally long stays in order of execution.
        covered: Their share of the latency; None where that is not known. Of means, which add up: when something else
            has the CPU now and then, it does so in a few operators of most iterations, and medians show nothing of it.
    """

    parts: tuple[Part, ...]
    covered: float | None


def profile(result: Result) -> Profile | None:
    """The operators of a result for which they were asked; None where there are none."""
    if not (result.ok and result.benchmark.operators):
        return None
    medians = {
        one.type: convert(one.median or 0.0, one.unit, "us") or 0.0 for one in result.metrics if one.is_of_operator
    }
    whole = sum(medians.values())
    if whole <= 0:
        return None
    ranked = sorted(medians.items(), key=lambda item: -item[1])
    parts = tuple(Part(name, median, median / whole) for name, median in ranked)
    return Profile(parts, _covered(result))


def _covered(result: Result) -> float | None:
    means = [_mean_us(one) for one in result.metrics if one.is_of_operator]
    whole = _mean_us(latency) if (latency := result.metric(LATENCY)) else None
    told = [mean for mean in means if mean is not None]
    return sum(told) / whole if whole and len(told) == len(means) else None


def _mean_us(metric: Metric) -> float | None:
    mean = metric.summary.get("mean")
    return None if mean is None else convert(mean, metric.unit, "us")
