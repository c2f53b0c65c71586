"""Long runs: the figure at ten seconds, the steady state, the time until throttling, and the curve of the whole run.

Levels and throttling follow `harness.analysis.level_changes` and `harness.analysis.throttling`, with a margin of 5 %:
a run of minutes in one launch has more samples than noise.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from harness.analysis.contention import Loss, describe_contention
from harness.analysis.level_changes import MARGIN, find_levels
from harness.analysis.throttling import Throttling, cost_sign, describe_heat, judge_levels
from harness.core.long_run import EARLY_S, MOST_WINDOWS, LongRun, StableLevel, Window
from harness.core.metric import START_TIME, Direction, Metric, convert
from harness.core.note import CONTENDED, Note
from harness.core.order_statistics import median, quantile
from harness.core.percent import in_percent
from harness.core.result import Launch
from harness.core.scenario import SUSTAINED

TIME_TO_THROTTLING: Final = "time_to_throttling"

_FIGURES: Final = ("decode_rate", "latency")

_AROUND_S: Final = 2.0
"""Half of the width of the window around ten seconds."""
_FEWEST_AROUND: Final = 5
_LAST: Final = 0.2
"""Share of a run that its steady state is taken from at least: so it does not depend on how long the first part was,
and a change right before the end is no steady state."""
_FEWEST_IN_WINDOW: Final = 5
"""Samples that a window has on average at least, so that its percentiles mean something."""


def analyse_long_run(metrics: Sequence[Metric], launches: Sequence[Launch] = (), cores: int = 0) -> LongRun | None:
    """Return the figure of a long run over time; None where a result has none, or not when its executions began.

    Args:
        metrics: Metrics of a result. Of those of a long run it is about the decode rate of generations, else the
            latency, else the first time or rate of each execution.
        launches: Launches of the result, with the state of the device before and after each.
        cores: CPUs of the device, for states that do not name the number.
    """
    by_name = {metric.metric: metric for metric in metrics if metric.type == SUSTAINED and metric.samples}
    starts = by_name.pop(START_TIME, None)
    factor = convert(1.0, starts.unit, "s") if starts is not None else None
    figure = _choose(by_name, len(starts.samples)) if starts is not None else None
    if starts is None or figure is None or factor is None:
        return None
    times = [factor * start for start in starts.samples]
    if any(later < earlier for earlier, later in pairwise(times)) or min(figure.samples) <= 0:
        return None
    return _analyse(figure, times, metrics, [launch for launch in launches if launch.index in figure.launches], cores)


def derive_metrics(run: LongRun) -> Iterator[Metric]:
    """Yield the figures of a long run as metrics, for tables and series: `SUSTAINED steady_latency` and others."""
    name = run.metric.removeprefix(f"{SUSTAINED} ")
    figures = (
        (f"{name}_at_{EARLY_S:g}s", run.unit, run.direction, run.early),
        (f"steady_{name}", run.unit, run.direction, run.steady),
        (TIME_TO_THROTTLING, "s", Direction.HIGHER, None if run.contention else run.throttled_after_s),
    )
    for metric, unit, direction, value in figures:
        if value is not None:
            yield Metric(
                name=f"{SUSTAINED} {metric}",
                type=SUSTAINED,
                metric=metric,
                unit=unit,
                direction=direction,
                summary={"n": 1.0, "mean": value, "p50": value},
            )


def note_long_run(run: LongRun, launches: Sequence[Launch]) -> Iterator[Note]:
    """Note a device that throttled in its long run: that is what the run is for, and no doubt of other figures.

    Args:
        run: The run.
        launches: The launch of the long run, with the state of the device before and after it.
    """
    if run.throttled_after_s is None or run.change is None:
        return
    word = "higher" if run.change > 0 else "lower"
    end = "; it recovered later" if run.recovered else ""
    change = (
        f"{run.metric} became {in_percent(abs(run.change))} {word} after {run.throttled_after_s:.3g} s of "
        f"{run.end_s:.3g} s"
    )
    if run.contention:
        yield Note(
            code=CONTENDED,
            message=f"{run.contention} while {change}{end}: not taken for heat, and its levels are not those of this "
            "device",
            hint="measure the long run again on a machine that does nothing else",
        )
        return
    yield Note(
        code="throttles",
        message=f"{change}{end}: in steady use the device is not as fast as at first{describe_heat(launches)}",
    )


def _choose(by_name: Mapping[str, Metric], executions: int) -> Metric | None:
    timed = {name: metric for name, metric in by_name.items() if metric.is_timed and len(metric.samples) == executions}
    return next((timed[name] for name in (*_FIGURES, *timed) if name in timed), None)


def _analyse(
    figure: Metric, times: Sequence[float], metrics: Sequence[Metric], launches: Sequence[Launch], cores: int
) -> LongRun:
    sign, values = cost_sign(figure), figure.samples
    levels = find_levels([sign * math.log(value) for value in values], MARGIN)
    throttling = judge_levels(levels, sign, MARGIN)
    ends = [*(times[level.start] for level in levels[1:]), times[-1]]
    since_s = times[-1] - _LAST * (times[-1] - times[0])
    if len(levels) > 1:
        since_s = min(since_s, times[levels[-1].start])
    since = bisect_left(times, since_s)
    return LongRun(
        metric=figure.name,
        unit=figure.unit,
        direction=figure.direction or Direction.LOWER,
        count=len(values),
        end_s=times[-1],
        early=_find_early(times, values),
        steady=median(values[since:]),
        steady_since_s=since_s,
        throttled_after_s=times[throttling.place] if throttling is not None else None,
        change=throttling.change if throttling is not None else None,
        recovered=throttling is not None and throttling.recovered,
        contention=_find_contention(throttling, figure, metrics, launches, cores) if throttling is not None else "",
        levels=tuple(
            StableLevel(start_s=times[level.start], end_s=end, value=median(values[level.start : level.end]))
            for level, end in zip(levels, ends, strict=True)
        ),
        windows=tuple(_divide(times, values)),
    )


def _find_contention(
    throttling: Throttling, figure: Metric, metrics: Sequence[Metric], launches: Sequence[Launch], cores: int
) -> str:
    """Return what others took, where that and not heat explains a loss; else an empty text."""
    place, count = throttling.place, throttling.count
    loss = Loss(range(place), range(place, count), frozenset(figure.launches), 1 - place / count)
    return "" if describe_heat(launches) else describe_contention(loss, figure, metrics, launches, cores)


def _find_early(times: Sequence[float], values: Sequence[float]) -> float | None:
    """Return the median around ten seconds; of the nearest samples where executions take long."""
    if times[-1] < EARLY_S:
        return None
    start, end = bisect_left(times, EARLY_S - _AROUND_S), bisect_left(times, EARLY_S + _AROUND_S)
    if end - start >= _FEWEST_AROUND:
        return median(values[start:end])
    nearest = sorted(range(len(times)), key=lambda place: abs(times[place] - EARLY_S))[:_FEWEST_AROUND]
    return median([values[place] for place in nearest])


def _divide(times: Sequence[float], values: Sequence[float]) -> Iterator[Window]:
    """Yield windows that are equally long, without those in which nothing began."""
    count = max(1, min(MOST_WINDOWS, len(values) // _FEWEST_IN_WINDOW))
    length = (times[-1] - times[0]) / count
    bounds = [times[0] + number * length for number in range(count)]
    places = [*(bisect_left(times, bound) for bound in bounds), len(values)]
    for bound, (start, end) in zip(bounds, pairwise(places), strict=True):
        if end > start:
            ordered = sorted(values[start:end])
            yield Window(
                start_s=bound,
                end_s=bound + length,
                count=end - start,
                p10=quantile(ordered, 0.1),
                median=quantile(ordered, 0.5),
                p90=quantile(ordered, 0.9),
            )
