"""Quality of the numbers of a result: whether they can be believed, and what to do when they cannot.

Every limit is a choice, with what was measured for it: 9,500 launches of a MobileNetV2 runner on a machine that was
quiet, had a bursty neighbour, or was crowded. There the iterations of a launch had a standard deviation of 2.0 %, 2.7 %
and 89 %, and the lower quartiles of neighbouring launches of the same program one of 0.5 %, 0.9 % and 1.7 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from harness.analysis.device_quality import assess_device, note_discarded_for_heat
from harness.analysis.throttling import note_throttling
from harness.core.metric import DECODE_RATE, LATENCY, Direction, Metric, main_metric
from harness.core.note import THROTTLED, Note
from harness.core.order_statistics import median, median_deviation, median_of_ordered, quantile
from harness.core.percent import in_percent
from harness.core.result import Launch

WITHIN_LIMIT: Final = 0.10
"""Robust spread of the iterations of a launch: four times that beside a bursty neighbour, far from a crowded machine's.
At 50 iterations their median is then still known to 2 %."""

BETWEEN_LIMIT: Final = 0.05
"""Distance of the launch medians: chance makes 4 % of five launches that vary by 1.7 %. A real difference of 5 % is
what a reader would act on, so launches of one program must not show it."""

TREND_LIMIT: Final = 0.05
"""Change from the first to the last third of a launch: twice what chance makes of 50 iterations that spread by 5 %."""

FEWEST_SAMPLES: Final = 5
"""Below, neither spread nor trend can be seen: of 3 samples the spread is known to a factor of 2 at best."""

STEP_LIMIT: Final = 0.02
"""Step of a clock, relative to the median: the precision for which launches are added unless another is asked for."""

_SMALLEST_THIRD: Final = 3
"""Samples that a third of a launch needs for a meaningful median."""


def assess_quality(
    metrics: Sequence[Metric], launches: Sequence[Launch], cores: int, threads: int | None = None
) -> tuple[Note, ...]:
    """Return the notes on the quality of a result's main metric; none unless that is a time or a rate.

    Noise between launches is no doubt where the median has an interval over them, which shows it.

    Args:
        metrics: The result's metrics.
        launches: Its launches, with the state of the device before and after each.
        cores: CPUs of the device, for states that do not name the number that their `busy` is a share of.
        threads: Threads that were asked for, for programs that do not report how many they used.

    Returns:
        Notes `impossible`, `few_samples`, `steps`, `noisy`, `warming_up`, `slowing_down`, `throttled`, `contended`,
        `frequency`, `hot`, `slept`, `low_power`, `brightness`, `busy` and `spoilt_by_heat`.
    """
    main = main_metric(metrics)
    if main is None or not main.is_timed:
        return ()
    sample_notes = (*_impossible(main), *_few_samples(main), *_steps(main), *_noisy(main), *_trending(main))
    counting = [launch for launch in launches if launch.discarded is None]
    device_notes = assess_device(counting, cores, _threads_by_load(metrics, threads))
    throttling = tuple(note_throttling(main, counting, metrics, cores))
    if any(note.code == THROTTLED for note in throttling):  # it tells what the device says of heat
        device_notes = tuple(note for note in device_notes if note.code != THROTTLED)
    return (*throttling, *sample_notes, *device_notes, *note_discarded_for_heat(launches))


def find_impossible(metrics: Sequence[Metric]) -> Note | None:
    """Return why a latency, or a rate of decoding, cannot have been measured: its median is zero or less.

    Other times and rates may be: frames that were dropped in a second, how far sound is ahead.
    """
    main = main_metric(metrics)
    if main is None or main.name not in {LATENCY, DECODE_RATE} or main.median is None or main.median > 0:
        return None
    return next(_impossible(main), None)


def split_by_launch(metric: Metric) -> tuple[Sequence[float], ...]:
    """Return the samples of each launch that has any, in order."""
    by_launch: dict[int, list[float]] = {launch: [] for launch in metric.launches}
    for launch, sample in zip(metric.launches, metric.samples, strict=True):
        by_launch[launch].append(sample)
    return tuple(by_launch.values())


def spread(samples: Sequence[float]) -> float:
    """Return the robust relative spread: 1.4826 MAD / |median|, for normal samples the coefficient of variation.

    Half of the samples may be anything without moving it far (Rousseeuw and Croux, JASA 88, 1993).
    """
    ordered = sorted(samples)
    return _relative(1.4826 * median_deviation(ordered), median_of_ordered(ordered))


def within_launches(metric: Metric) -> float:
    """Return the spread of the iterations, in the median of the launches; 0 where no launch has three samples."""
    spreads = [spread(samples) for samples in split_by_launch(metric) if len(samples) >= _SMALLEST_THIRD]
    if spreads:
        return median(spreads)
    deviation, center = metric.summary.get("MAD"), metric.summary.get("p50")
    if metric.samples or deviation is None or center is None:
        return 0.0
    return _relative(1.4826 * deviation, center)


def between_launches(metric: Metric) -> float:
    """Return the distance of the largest from the smallest launch median, relative to their median; 0 for one launch.

    The range grows with the number of launches by chance alone, so of ten and more the outer tenths are left out.
    """
    medians = sorted(median(samples) for samples in split_by_launch(metric))
    if len(medians) < 2:
        return 0.0
    outer = len(medians) // 10
    return _relative(medians[-1 - outer] - medians[outer], median_of_ordered(medians))


def trend(metric: Metric) -> float:
    """Return how much slower launches begin than they end: 0.1 is 10 % slower, -0.1 is 10 % faster, 0 is steady.

    Three quarters of the launches must agree, each by more than the spread of its last third.
    """
    changes = sorted(_change(samples) for samples in split_by_launch(metric) if len(samples) >= 3 * _SMALLEST_THIRD)
    if not changes:
        return 0.0
    change = max(quantile(changes, 0.25), 0.0) + min(quantile(changes, 0.75), 0.0)
    return -change if metric.direction is Direction.HIGHER else change


def _impossible(metric: Metric) -> Iterator[Note]:
    wrong = [sample for sample in metric.samples or (() if metric.median is None else (metric.median,)) if sample <= 0]
    if wrong:
        ends = [f"{end:g} {metric.unit}".rstrip() for end in dict.fromkeys((min(wrong), max(wrong)))]
        which = f"between {' and '.join(ends)}" if len(ends) > 1 else ends[0]
        count = f"{len(wrong)} of {max(1, len(metric.samples))} samples"
        yield Note(
            code="impossible",
            message=f"{metric.name} was {which} in {count}: no time, and no rate, is zero or less",
            hint="check how the program measures time: the clock may have been set, or is too coarse",
            trust=False,
        )


def _few_samples(metric: Metric) -> Iterator[Note]:
    count = len(metric.samples) or metric.summary.get("n")
    if count is not None and count < FEWEST_SAMPLES:
        yield Note(
            code="few_samples",
            message=f"{metric.name} has {count:g} sample{'s' if count != 1 else ''}: its noise cannot be assessed",
            hint=f"raise `iter` or `repeat` to at least {FEWEST_SAMPLES} samples",
            trust=count > 1,
        )


def _steps(metric: Metric) -> Iterator[Note]:
    """Note samples that come in steps: their median moves by whole ones, however many launches agree on it."""
    distinct, center = sorted(set(metric.samples)), metric.median
    if center is None or center <= 0 or len(metric.samples) < max(FEWEST_SAMPLES, 2 * len(distinct)):
        return
    gaps = (larger - smaller for smaller, larger in pairwise(distinct) if not math.isclose(smaller, larger))
    step = min(gaps, default=None)  # numbers that are close differ by the rounding of a conversion
    if step is None:
        message = f"every sample of {metric.name} is the same: what its clock rounds away is not seen"
    elif step > STEP_LIMIT * center:
        message = (
            f"{metric.name} comes in steps of {in_percent(step / center, 1)} of its median, and may be wrong by one"
        )
    else:
        return
    yield Note(
        code="steps",
        message=message,
        hint="read a finer clock and print all its digits, or let each iteration run the model many times",
        trust=step is None or step <= BETWEEN_LIMIT * center,
    )


def _noisy(metric: Metric) -> Iterator[Note]:
    within, between = within_launches(metric), between_launches(metric)
    reasons = []
    if within > WITHIN_LIMIT:
        reasons.append(f"spreads by {in_percent(within, 1)} within a launch (limit {in_percent(WITHIN_LIMIT)})")
    if between > BETWEEN_LIMIT:
        reasons.append(f"differs by {in_percent(between, 1)} from launch to launch (limit {in_percent(BETWEEN_LIMIT)})")
    if reasons:
        yield Note(
            code="noisy",
            message=f"{metric.name} {' and '.join(reasons)}",
            hint="close other programs, name CPUs with `--cpus`, let the device cool down, "
            "and measure more launches (`repeat`)",
            trust=metric.interval is not None,
        )


def _trending(metric: Metric) -> Iterator[Note]:
    change = trend(metric)
    if change > TREND_LIMIT:
        error = _error_by_warm_up(metric)
        is_doubtful = error > BETWEEN_LIMIT
        yield Note(
            code="warming_up",
            message=f"{metric.name} is {_describe_slowness(change)} in the first third of a launch "
            f"{'as' if change >= 1 else 'than'} in the last: the warm-up was not over",
            hint="raise `warmup`",
            trust=not is_doubtful,
            error=error if is_doubtful else None,
        )
    elif change < -TREND_LIMIT:
        yield Note(
            code="slowing_down",
            message=f"{metric.name} is {in_percent(-change, 1)} faster in the first third of a launch than in the last",
            hint="the device may be heating up: raise `cooldown`, or measure more launches with fewer iterations",
        )


def _describe_slowness(change: float) -> str:
    return f"{1 + change:.3g} times as slow" if change >= 1 else f"{in_percent(change, 1)} slower"


def _error_by_warm_up(metric: Metric) -> float:
    """Return by how much slower the median is than the ends of the launches, where the warm-up may be over."""
    long_enough = (samples for samples in split_by_launch(metric) if len(samples) >= 3 * _SMALLEST_THIRD)
    center, end = metric.median, median([median(samples[-(len(samples) // 3) :]) for samples in long_enough])
    if center is None or center <= 0 or end <= 0:
        return 0.0
    return end / center - 1 if metric.direction is Direction.HIGHER else center / end - 1


def _threads_by_load(metrics: Sequence[Metric], threads: int | None) -> int | None:
    """Return the number of threads that others may have slowed; 0 where two clocks of the program show it exactly."""
    medians = {metric.name: metric.median for metric in metrics}
    used = medians.get("RUN threads", medians.get("RUN threads_observed"))
    count = threads if used is None else round(used)
    return 0 if count == 1 and medians.get("NET cpu_time") is not None else count


def _change(samples: Sequence[float]) -> float:
    third = len(samples) // 3
    first, last = samples[:third], samples[-third:]
    end = median(last)
    change = (median(first) - end) / abs(end) if end else 0.0
    return change if abs(change) > spread(last) else 0.0


def _relative(deviation: float, center: float) -> float:
    if deviation == 0:
        return 0.0
    ratio = deviation / abs(center) if center else math.inf
    return math.inf if math.isnan(ratio) else ratio  # beyond the range of doubles: as noisy as can be
