"""Throttling as samples show it: figures that become worse while they are measured and stay so, as on a hot device.

No median of such samples is *the* figure: it tells how much of the measurement was spent hot. The rule is that of
`harness.analysis.level_changes`, with a margin of 10 %, applied twice: to the medians of five and more launches, and to
the samples within launches. A series that returns to its best level within a quarter of its length was disturbed by
something else. So was one of times that are less than two seconds together: no device becomes hot so soon.

A neighbour that takes a core for a minute looks the same. The figure is as untrue then, but it is not called throttled:
where the machine shows contention (`harness.analysis.contention`), and the device tells nothing of heat, that is what
the note says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from harness.analysis.contention import Loss, describe_contention
from harness.analysis.device_quality import FREQUENCY_LIMIT, HOT_C, frequency_drop
from harness.analysis.level_changes import FEWEST, Level, find_levels
from harness.core.metric import Direction, Metric, convert
from harness.core.note import CONTENDED, THROTTLED, Note
from harness.core.order_statistics import median
from harness.core.percent import in_percent
from harness.core.result import Launch

MARGIN: Final = math.log(1.1)
"""Smallest loss that makes a figure untrue. Launches of a machine in a bad hour differ by less than that."""

_LARGEST_PASSING: Final = 0.25
"""Share of a series that may be worse without throttling, where it ends as well as it was."""
_SHORTEST_S: Final = 2.0
_FEWEST_IN_LAUNCH: Final = 10
"""Samples of one launch among several, below which only a gap would show anything."""
_LISTED: Final = 10


class Throttling(Struct, frozen=True):
    """Loss of a series of figures that were measured one after the other.

    Attributes:
        place: Number of the figures before the loss.
        count: Number of all figures.
        before: Best level before it, in their unit; of a loss that stays the best one of all.
        after: Level at the end, or the worst one where it recovered.
        steps: How often the level became worse.
        recovered: Whether the last level is as good as the best one was.
    """

    place: int
    count: int
    before: float
    after: float
    steps: int
    recovered: bool

    @property
    def change(self) -> float:
        """Relative change of the figure: -0.5 is half of it."""
        return self.after / self.before - 1


class _Loss(NamedTuple):
    """Level that is worse than the best one before it, and whether it is also worse than the one right before it."""

    best: Level
    level: Level
    is_step: bool


def cost_sign(metric: Metric) -> int:
    """Return the sign that makes costs of the logarithms of a metric's values: more is worse."""
    return -1 if metric.direction is Direction.HIGHER else 1


def find_throttling(values: Sequence[float], sign: int, margin: float = MARGIN) -> Throttling | None:
    """Return how figures in measured order become worse and stay so; None where they do not.

    Args:
        values: The figures, in measured order. Nothing is known of figures that are not all above zero.
        sign: 1 where lower ones are better, else -1.
        margin: Smallest loss, as a log ratio.
    """
    if len(values) < FEWEST or min(values) <= 0:
        return None
    levels = find_levels([sign * math.log(value) for value in values], margin)
    return judge_levels(levels, sign, margin)


def judge_levels(levels: Sequence[Level], sign: int, margin: float) -> Throttling | None:
    """Return the loss that levels show; None where none lasts.

    Args:
        levels: All levels of a series, in order.
        sign: Sign of the costs (see `cost_sign`).
        margin: Smallest loss, as a log ratio.
    """
    losses: list[_Loss] = []
    best = levels[0]
    for previous, level in zip((levels[0], *levels), levels, strict=False):
        if level.cost - best.cost >= margin:
            losses.append(_Loss(best, level, is_step=level.cost > previous.cost))
        elif level.cost < best.cost:
            best = level
    if not losses:
        return None
    recovered = losses[-1].level is not levels[-1]
    count = levels[-1].end
    if recovered and sum(loss.level.end - loss.level.start for loss in losses) < _LARGEST_PASSING * count:
        return None
    if not recovered:  # what was worse before the figure became better than ever is not what stays
        losses = [loss for loss in losses if loss.best.cost - best.cost < margin]
    before = losses[0].best if recovered else best
    after = max((loss.level for loss in losses), key=lambda level: level.cost) if recovered else levels[-1]
    return Throttling(
        place=losses[0].level.start,
        count=count,
        before=math.exp(sign * before.cost),
        after=math.exp(sign * after.cost),
        steps=sum(loss.is_step for loss in losses),
        recovered=recovered,
    )


def note_throttling(
    metric: Metric, launches: Sequence[Launch] = (), metrics: Sequence[Metric] = (), cores: int = 0
) -> Iterator[Note]:
    """Note where the samples of a metric fall as those of a device that throttles, or beside other programs.

    Args:
        metric: A time or rate.
        launches: Launches that count, with the state of the device before and after each, which tells causes.
        metrics: All metrics of the result: CPU times tell causes too.
        cores: CPUs of the device, for states that do not name the number.
    """
    if not metric.samples or min(metric.samples) <= 0:
        return
    by_launch = _split(metric)
    throttling, words = _find_between(metric, by_launch), "launches"
    if throttling is not None:
        loss = _locate_between(throttling, metric, by_launch)
    else:
        within = _find_within(metric, by_launch)
        if within is None:
            return
        index, throttling = within
        words = "samples" if len(by_launch) == 1 else "samples of a launch"
        loss = _locate_within(throttling, metric, index)
    contention = describe_contention(loss, metric, metrics, launches, cores)
    heat = describe_heat(launches)
    change = f"{metric.name} {_describe(throttling, words)}"
    if contention and not heat:
        yield Note(
            code=CONTENDED,
            message=f"{contention} while {change}: not taken for heat{_list_samples(metric)}",
            hint="no median of these samples is the figure of this device: measure on a machine that does nothing else",
            trust=False,
        )
        return
    beside = f"; {contention}" if contention else ""
    yield Note(
        code=THROTTLED,
        message=f"{change}, as on a device that throttles{_list_samples(metric)}{heat}{beside}",
        hint="no median of these samples is the figure of this device: let it cool down (`cooldown`) and measure "
        "again, or ask for `sustained` to know what remains when it is hot",
        trust=False,
    )


def _split(metric: Metric) -> Mapping[int, Sequence[float]]:
    by_launch: dict[int, list[float]] = {}
    for launch, sample in zip(metric.launches, metric.samples, strict=True):
        by_launch.setdefault(launch, []).append(sample)
    return by_launch


def _find_between(metric: Metric, by_launch: Mapping[int, Sequence[float]]) -> Throttling | None:
    if _is_too_short(metric.unit, metric.samples):
        return None
    return find_throttling([median(samples) for samples in by_launch.values()], cost_sign(metric))


def _locate_between(throttling: Throttling, metric: Metric, by_launch: Mapping[int, Sequence[float]]) -> Loss:
    worse = frozenset(tuple(by_launch)[throttling.place :])
    first = next(place for place, launch in enumerate(metric.launches) if launch in worse)
    return Loss(range(first), range(first, len(metric.samples)), worse, share=1.0)


def _locate_within(throttling: Throttling, metric: Metric, index: int) -> Loss:
    start = metric.launches.index(index)
    place, end = start + throttling.place, start + throttling.count
    return Loss(range(start, place), range(place, end), frozenset((index,)), 1 - throttling.place / throttling.count)


def _find_within(metric: Metric, by_launch: Mapping[int, Sequence[float]]) -> tuple[int, Throttling] | None:
    """Return the loss within most launches, or within one after which all launches stay worse, and its launch."""
    sign = cost_sign(metric)
    fewest = FEWEST if len(by_launch) == 1 else _FEWEST_IN_LAUNCH
    losses = {
        index: loss
        for index, samples in by_launch.items()
        if len(samples) >= fewest
        and not _is_too_short(metric.unit, samples)
        and (loss := find_throttling(samples, sign)) is not None
    }
    if not losses:
        return None
    first, loss = next(iter(losses.items()))
    later = [median(samples) for index, samples in by_launch.items() if index > first]
    stays = all(sign * math.log(value / loss.before) >= MARGIN for value in later)
    return (first, loss) if 2 * len(losses) > len(by_launch) or (stays and not loss.recovered) else None


def _is_too_short(unit: str, samples: Sequence[float]) -> bool:
    """Return whether samples took too little time for heat; of rates it is not known."""
    factor = convert(1.0, unit, "s")
    return factor is not None and factor * math.fsum(samples) < _SHORTEST_S


def _describe(throttling: Throttling, words: str) -> str:
    direction = "higher" if throttling.change > 0 else "lower"
    end = "recovered later" if throttling.recovered else "stayed so"
    steps = f" in {throttling.steps} steps" if throttling.steps > 1 else ""
    return (
        f"became {in_percent(abs(throttling.change))} {direction}{steps} after {throttling.place} of "
        f"{throttling.count} {words} and {end}"
    )


def _list_samples(metric: Metric) -> str:
    """List samples where they are few."""
    if len(metric.samples) > _LISTED:
        return ""
    listed = ", ".join(f"{sample:.3g}" for sample in metric.samples)
    return f" ({f'{listed} {metric.unit}'.rstrip()})"


def describe_heat(launches: Sequence[Launch]) -> str:
    """Say what the device itself tells of heat, after a semicolon; empty where it tells nothing."""
    evidence = []
    throttled = sum(launch.throttled for launch in launches)
    if throttled:
        evidence.append(
            f"lowered its clock because of heat in {throttled} of {len(launches)} launch"
            f"{'es' if len(launches) != 1 else ''}"
        )
    if (drop := frequency_drop(launches)) > FREQUENCY_LIMIT:
        evidence.append(f"ran at a clock frequency up to {in_percent(drop)} lower")
    temperatures = [
        state.temperature_c
        for launch in launches
        for state in (launch.before, launch.after)
        if state is not None and state.temperature_c is not None
    ]
    if temperatures and max(temperatures) >= HOT_C:
        evidence.append(f"reached {max(temperatures):.0f} degrees Celsius")
    return f"; the device itself {', '.join(evidence)}" if evidence else ""
