"""Differences between stored results: arithmetic on what was measured at two times, and what else differs."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from statistics import median
from typing import Final

from harness.core.build import CONTENT, PREBUILT, BuildInfo
from harness.core.metric import Metric, convert, main_metric
from harness.core.reproduction import Reproduction
from harness.core.result import Result
from harness.core.values import Value
from harness.presentation.numbers import format_change, format_quantity
from harness.presentation.tables import Column, make_cells

WHAT_IS_UNKNOWN: Final = (
    "Descriptive only, no verdict: the two were measured at different times, and load, temperature, clock frequency "
    "and the place of the program in memory may have differed. `harness compare` decides whether one is slower."
)
"""What such a comparison cannot know."""

_SELECTING: Final = frozenset(
    {
        *("--info", "-b", "--benchmark-file", "--only", "--skip", "--seed", "--resume"),
        *("--commit", "--control", "--treatment", "--program", "--control-program", "--treatment-program"),
    }
)
"""Flags whose effect on a result is compared by itself, or that have none."""


class MeasuredLevel(Value):
    """Level of a metric in one result, in the unit of the difference.

    Attributes:
        uid: Identifier of the result.
        started: Unix seconds.
        median: Median of all samples.
        low: Smallest median of a launch; null where single samples are not known.
        high: Largest median of a launch.
        launches: Number of launches with samples.
        trusted: Whether nothing speaks against the numbers.
    """

    uid: str
    started: float
    median: float
    low: float | None
    high: float | None
    launches: int
    trusted: bool


class ResultDifference(Value):
    """One benchmark on one device, now and at an earlier time.

    Attributes:
        model: Model name.
        identifier: The benchmark's name within the model.
        device: Name of the device, now.
        metric: Name of the main metric, now; null where there is no number.
        unit: Its unit, now.
        earlier: The earlier level; null where there is none.
        now: The present level; null where there is none.
        relative_change: Change of the median; 0.02 is 2 % more. Null without both, where another tool measured one, and
            where the earlier one is not above 0.
        unlike: What is known to differ besides the time, in words; and why a level is missing.
    """

    model: str
    identifier: str
    device: str | None
    metric: str | None
    unit: str | None
    earlier: MeasuredLevel | None
    now: MeasuredLevel | None
    relative_change: float | None
    unlike: tuple[str, ...]


def describe_difference(earlier: Result | None, now: Result) -> ResultDifference:
    """Return the difference of the main metric between two results of one benchmark.

    Args:
        earlier: The earlier result; None where there is none.
        now: The present result.
    """
    metric = main_metric(now.metrics) if now.ok else None
    unit = metric.unit if metric is not None else ""
    level_now = _level(now, metric, unit)
    before = earlier.metric(metric.name) if earlier is not None and earlier.ok and metric is not None else None
    level_earlier = _level(earlier, before, unit) if earlier is not None else None
    elsewhere = now.origin is not None or (earlier is not None and earlier.origin is not None)
    both = level_now is not None and level_earlier is not None and level_earlier.median > 0 and not elsewhere
    return ResultDifference(
        model=now.benchmark.model,
        identifier=now.benchmark.identifier,
        device=now.device.name if now.device is not None else None,
        metric=metric.name if metric is not None else None,
        unit=metric.unit if metric is not None else None,
        earlier=level_earlier,
        now=level_now,
        relative_change=level_now.median / level_earlier.median - 1
        if both and level_now is not None and level_earlier is not None
        else None,
        unlike=(*_find_unlike(earlier, now, before), *_find_no_ratio(level_earlier)),
    )


def build_columns(differences: Sequence[ResultDifference]) -> list[Column]:
    """Return the columns of a table of differences; changes of what cannot be compared are not shown as numbers."""
    titles = [f"{difference.model}/{difference.identifier}" for difference in differences]
    metrics = [difference.metric or "" for difference in differences]
    changes = [
        "" if difference.relative_change is None else format_change(difference.relative_change)
        for difference in differences
    ]
    return [
        Column("benchmark", make_cells(titles)),
        Column("device", make_cells([difference.device or "" for difference in differences]), distinguishing=True),
        Column("metric", make_cells(metrics), weight=50, distinguishing=True),
        Column("earlier", make_cells(_format_levels(differences, "earlier")), right=True),
        Column("launches from ... to", make_cells(_format_ranges(differences, "earlier")), weight=60, right=True),
        Column("now", make_cells(_format_levels(differences, "now")), right=True),
        Column("launches from ... to", make_cells(_format_ranges(differences, "now")), weight=60, right=True),
        Column("difference", make_cells(changes), right=True),
        Column("unlike", make_cells(["; ".join(difference.unlike) for difference in differences])),
    ]


def _side(difference: ResultDifference, name: str) -> MeasuredLevel | None:
    return difference.now if name == "now" else difference.earlier


def _format_levels(differences: Sequence[ResultDifference], side: str) -> list[str]:
    return [
        "" if (level := _side(each, side)) is None else format_quantity(level.median, each.unit or "")
        for each in differences
    ]


def _format_ranges(differences: Sequence[ResultDifference], side: str) -> list[str]:
    return [_format_range(_side(each, side), each.unit or "") for each in differences]


def _format_range(level: MeasuredLevel | None, unit: str) -> str:
    if level is None or level.low is None or level.high is None:
        return ""
    if level.launches < 2:
        return "1 launch"
    return f"{format_quantity(level.low, unit)} ... {format_quantity(level.high, unit)}"


def _level(result: Result, metric: Metric | None, unit: str) -> MeasuredLevel | None:
    """Return the level of a metric in a unit; None where it has no median, or its unit does not convert."""
    factor = convert(1.0, metric.unit, unit) if metric is not None else None
    if metric is None or metric.median is None or factor is None:
        return None
    launches: dict[int, list[float]] = {}
    if len(metric.launches) == len(metric.samples):
        for index, sample in zip(metric.launches, metric.samples, strict=True):
            launches.setdefault(index, []).append(sample * factor)
    medians = [median(samples) for samples in launches.values()]
    return MeasuredLevel(
        uid=result.uid,
        started=result.started,
        median=metric.median * factor,
        low=min(medians, default=None),
        high=max(medians, default=None),
        launches=len(medians),
        trusted=result.trusted,
    )


def _find_no_ratio(earlier: MeasuredLevel | None) -> list[str]:
    return ["of an earlier figure that is not above 0 there is no ratio"] if earlier and earlier.median <= 0 else []


def _find_unlike(earlier: Result | None, now: Result, before: Metric | None) -> list[str]:
    """List what differs besides the time."""
    if earlier is None:
        return ["no earlier result", *_find_failure("now", now)]
    unlike = [*_find_failure("earlier", earlier), *_find_failure("now", now)]
    for name, each in (("earlier", earlier), ("now", now)):
        if each.origin is not None:
            unlike.append(f"{name}: {each.origin.words}")
    if not unlike and before is None:
        unlike.append("the earlier result lacks the metric")
    unlike += _find_unlike_surroundings(earlier, now)
    unlike += [
        f"{name}: not to be trusted"
        for name, each in (("earlier", earlier), ("now", now))
        if each.ok and not each.trusted
    ]
    return unlike


def _find_failure(name: str, result: Result) -> list[str]:
    return [] if result.ok else [f"{name}: {result.outcome.words}"]


def _find_unlike_surroundings(earlier: Result, now: Result) -> list[str]:
    unlike: list[str] = []
    if earlier.benchmark.digest != now.benchmark.digest:
        unlike.append("another definition of the benchmark")
    if earlier.device is not None and now.device is not None:
        if earlier.device.identity != now.device.identity:
            unlike.append(f"another device ({earlier.device.name})")
        elif earlier.device.os != now.device.os:
            unlike.append(f"another system ({earlier.device.os})")
    if earlier.build is not None and now.build is not None:
        unlike += _find_unlike_builds(earlier.build, now.build)
    if (earlier.comparison is None) != (now.comparison is None):
        unlike.append(f"{'now' if earlier.comparison is None else 'earlier'}: in turns with a control")
    commands = (earlier.reproduction, now.reproduction)
    if commands[0] is not None and commands[1] is not None and _find_other_flags(commands[0], commands[1]):
        unlike.append("other flags")
    if {file.md5 for file in earlier.files.values()} != {file.md5 for file in now.files.values()}:
        unlike.append("other files")
    if earlier.harness_version != now.harness_version:
        unlike.append(f"another harness ({earlier.harness_version})")
    return unlike


def _find_unlike_builds(earlier: BuildInfo, now: BuildInfo) -> Iterator[str]:
    are_given = earlier.source == now.source == PREBUILT
    if earlier.commit != now.commit:
        yield f"another {'program' if are_given else 'commit'} ({earlier.commit_label})"
    elif _identify_programs(earlier) != _identify_programs(now):
        yield "other programs" if are_given else "another build of the commit"
    if earlier.options != now.options:
        yield "other build options"


def _identify_programs(build: BuildInfo) -> Hashable:
    """Return what identifies the runner and its programs, whether they were compared, and copied for that, or not."""
    if build.source == PREBUILT:
        return frozenset((name, digest) for name, digest in build.flags.items() if name != CONTENT)
    return build.flags.get(CONTENT, build.digest)


def _find_other_flags(earlier: Reproduction, now: Reproduction) -> bool:
    """Return whether two commands of one kind differ in flags that change what is measured."""
    commands = (earlier.command, now.command)
    return commands[0][:2] == commands[1][:2] and len({_drop_selection(command) for command in commands}) > 1


def _drop_selection(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without flags that choose benchmarks and programs, or what chance decides."""
    kept: list[str] = []
    is_kept = True
    for word in command:
        if word.startswith("-"):
            is_kept = word.partition("=")[0] not in _SELECTING
        if is_kept:
            kept.append(word)
    return tuple(kept)
