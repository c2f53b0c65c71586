"""Contention: whether a program lost its CPU to others while its figures became worse.

There are two witnesses. The CPU time of each execution: a program that was as long on a CPU as before, and longer in
all, waited for one; heat makes both longer. And what others used of the machine between the states around a launch.
Where a device tells neither, nothing is known, and nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.analysis.device_quality import BUSY_LIMIT, used_by_others
from harness.core.metric import Metric, convert
from harness.core.order_statistics import median
from harness.core.percent import in_percent
from harness.core.result import Launch
from harness.core.scenario import SUSTAINED

_CPU_TIME: Final = "cpu_time"
_WALL_TIMES: Final = ("generation_time", "latency")
"""Metrics of the time of an execution whose figure is a rate."""

_BOUND: Final = 0.8
"""CPU time relative to the time of an execution from which on the program does not wait for anything but a CPU, such as
an accelerator, whose heat would look the same."""
_EXPLAINED: Final = 0.5
"""Share of a loss that time without a CPU must explain."""
_SHORTEST_S: Final = 2.0
"""Below, programs replay what was measured elsewhere or before, and who used the machine meanwhile explains nothing."""
_FEWEST_WORSE: Final = 0.2
"""Smallest share of a launch that others are taken to have used it for; less is within what they always use."""


class Loss(Struct, frozen=True):
    """Samples before and after figures became worse.

    Attributes:
        before: Places of the samples before it, in the metric.
        after: Places of those after it.
        launches: Numbers of the launches that `after` is of.
        share: Share of these launches that is `after`.
    """

    before: range
    after: range
    launches: frozenset[int]
    share: float


def describe_contention(
    loss: Loss, figure: Metric, metrics: Sequence[Metric], launches: Sequence[Launch], cores: int
) -> str:
    """Say what others took while figures became worse; empty where nothing shows that they took anything.

    Args:
        loss: When the figure became worse.
        figure: The time or rate that did.
        metrics: All metrics of the result: among them may be the CPU time of each execution.
        launches: Launches that count, with the state of the device before and after each.
        cores: CPUs of the device, for states that do not name the number.
    """
    evidence = []
    if (share := _find_waiting(loss, figure, metrics)) is not None:
        evidence.append(f"the program was without a CPU for {in_percent(share)} of the time")
    if (used := _find_use(loss, launches, cores)) is not None:
        evidence.append(f"other programs used {in_percent(used)} of the machine's CPU time")
    return " and ".join(evidence)


def _find_waiting(loss: Loss, figure: Metric, metrics: Sequence[Metric]) -> float | None:
    """Return the share of time without a CPU after the loss; None where that does not explain it, or is not known."""
    is_long = figure.type == SUSTAINED
    by_name = {
        metric.metric: metric
        for metric in metrics
        if metric.launches == figure.launches and (metric.type == SUSTAINED) == is_long
    }
    cpu, times = by_name.get(_CPU_TIME), (by_name[name] for name in _WALL_TIMES if name in by_name)
    wall = figure if convert(1.0, figure.unit, "s") else next(times, None)
    if cpu is None or wall is None or (factor := convert(1.0, cpu.unit, wall.unit)) is None:
        return None
    cpu_before, cpu_after = (factor * median(_pick(cpu, places)) for places in (loss.before, loss.after))
    wall_before, wall_after = (median(_pick(wall, places)) for places in (loss.before, loss.after))
    if min(cpu_before, cpu_after) <= 0 or cpu_before < _BOUND * wall_before or wall_after <= wall_before:
        return None
    if math.log(cpu_after / cpu_before) > (1 - _EXPLAINED) * math.log(wall_after / wall_before):
        return None
    return max(0.0, 1 - cpu_after / wall_after)


def _find_use(loss: Loss, launches: Sequence[Launch], cores: int) -> float | None:
    """Return the share of the CPU time that others used; None where it is too small to explain a loss."""
    uses = [use for launch in launches if launch.index in loss.launches and (use := used_by_others(launch, cores))]
    total_s = sum(seconds for seconds, _ in uses)
    if total_s < _SHORTEST_S:
        return None
    share = sum(seconds * used for seconds, used in uses) / total_s
    return share if share > BUSY_LIMIT * max(loss.share, _FEWEST_WORSE) else None


def _pick(metric: Metric, places: range) -> Sequence[float]:
    return metric.samples[places.start : places.stop]
