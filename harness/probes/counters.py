"""Counted events, such as instructions and page faults: of a launch, and of one iteration.

A counter runs from the start of a program to its end, so that it includes loading the model, warming up, and the end.
What an iteration needs is the difference of two launches that differ in their number of iterations only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.percent import in_percent
from harness.core.probe import Artifact
from harness.core.protocols import ProbedLaunch, ProbeReading

EVENTS: Final = (
    *("instructions", "cycles", "cache-misses", "branch-misses"),
    *("task-clock", "page-faults", "context-switches", "cpu-migrations"),
)
"""Events that are counted unless others are named. The first four need counters of the processor."""

COUNTS: Final = "counts"
"""Name of the file that a probe which counts writes in each launch."""

_LONGEST_FILE: Final = 1 << 20
_NAME: Final = re.compile(r"[^A-Za-z0-9_./:=]+")
_LONGEST_NAME: Final = 80
_NEVER_NONE: Final = frozenset({"task-clock", "cpu-clock", "instructions", "cycles"})
"""Events that each iteration needs some of, whereas one may go by without a page fault."""

_COMPLETE: Final = 0.995
"""Share of the time from which on an event counts as counted all the time: shares are printed as rounded percents."""


class EventCount(NamedTuple):
    """Count of one event in one launch.

    Attributes:
        event: Its name, without modifiers.
        value: Its value, extrapolated where it was counted for a part of the time; None where it was not counted.
        unit: `ms` of a time, else empty.
        running: Share of the time for which it was counted.
        absence: Why it was not counted, in the words of the tool.
        user_only: Whether only the program itself was observed, and not what the kernel did for it.
    """

    event: str
    value: float | None
    unit: str = ""
    running: float = 1.0
    absence: str = ""
    user_only: bool = False


class CountedLaunch(NamedTuple):
    """Launch with its counts.

    Attributes:
        counts: Counts of its events.
        iterations: Timed iterations that the program reported; None where it did not.
    """

    counts: tuple[EventCount, ...]
    iterations: int | None


def plan_counting(benchmark: Benchmark, pairs: int) -> tuple[Benchmark, ...]:
    """Return pairs of launches, of a single iteration and of all; one launch where iterations cannot be chosen."""
    if benchmark.commands or benchmark.app is not None:
        return (benchmark,)
    short = benchmark.model_copy(update={"iterations": 1, "min_iterations": 1, "time_limit_s": None})
    return (short, benchmark) * pairs


def parse_counting(
    probe: str,
    launches: Sequence[ProbedLaunch],
    parse: Callable[[str], Iterable[EventCount]],
    events: Sequence[str] = (),
) -> ProbeReading:
    """Read the files `COUNTS` of launches that `plan_counting` planned, and keep them.

    Args:
        probe: Name of the probe.
        launches: The launches, in their order.
        parse: Parses the counts of one file.
        events: Events that were asked for, of a tool that leaves out those that it did not count.

    Raises:
        BenchmarkFailed: Nothing was counted at all.
    """
    texts = [_read(launch.files[COUNTS]) for launch in launches]
    counted = []
    for text, launch in zip(texts, launches, strict=True):
        counts = tuple(parse(text))
        known = {count.event for count in counts}
        absent = (EventCount(name, None, absence="not counted") for name in events if name not in known)
        counted.append(CountedLaunch((*counts, *absent), launch.iterations))
    artifact = Artifact(name=f"{probe}.csv", content="".join(texts).encode())
    return replace(read_counts(counted), artifacts=(artifact,))


def read_counts(launches: Sequence[CountedLaunch]) -> ProbeReading:
    """Return the counts of launches that `plan_counting` planned, and of one iteration where that can be told.

    Raises:
        BenchmarkFailed: Nothing was counted at all.
    """
    if not any(count.value is not None for launch in launches for count in launch.counts):
        raise BenchmarkFailed("nothing was counted", hint="name other events (`events`); `perf list` lists them")
    observations: list[tuple[Observation, ...]] = []
    hidden = _find_hidden(launches)
    for index, launch in enumerate(launches):
        is_short = len(launches) > 1 and index % 2 == 0
        before = launches[index - 1] if len(launches) > 1 and not is_short else None
        observations.append(() if is_short else tuple(_observe(launch, before, hidden)))
    return ProbeReading(tuple(observations), tuple(_list_notes(launches, observations, hidden)))


def _find_hidden(launches: Sequence[CountedLaunch]) -> tuple[str, ...]:
    """Return the events of which a launch of all iterations counted no more than one of a single iteration."""
    hidden: dict[str, None] = {}
    for short, whole in zip(launches[::2], launches[1::2], strict=False):
        before = {count.event: count.value for count in short.counts}
        for count in whole.counts if (whole.iterations or 0) > (short.iterations or 0) else ():
            earlier = before.get(count.event)
            if count.value is not None and earlier is not None and count.value <= earlier:
                hidden[count.event] = None
    return tuple(event for event in hidden if event in _NEVER_NONE)


def _observe(launch: CountedLaunch, short: CountedLaunch | None, hidden: Collection[str]) -> Iterator[Observation]:
    earlier = {} if short is None else {count.event: count.value for count in short.counts}
    added = None
    if short is not None and launch.iterations is not None and short.iterations is not None:
        added = launch.iterations - short.iterations
    for count in launch.counts:
        if count.value is None:
            continue
        metric = name_metric(count.event)
        yield Observation(type="RUN", metric=metric, unit=count.unit, samples=(count.value,))
        before = earlier.get(count.event)
        if added is not None and added > 0 and before is not None and count.event not in hidden:
            # Two launches differ a little in what they do beside their iterations: less than that is nothing.
            each = max(0.0, count.value - before) / added
            yield Observation(type="NET", metric=metric, unit=count.unit, samples=(each,))


def name_metric(event: str) -> str:
    """Return the name of the metric of an event: `page_faults`."""
    return _NAME.sub("_", event.replace("-", "_")).strip("_")[:_LONGEST_NAME] or "event"


def _list_notes(
    launches: Sequence[CountedLaunch], observations: Sequence[tuple[Observation, ...]], hidden: Sequence[str]
) -> Iterator[Note]:
    counts = [count for launch in launches for count in launch.counts]
    absent = {count.event: count.absence for count in counts if count.value is None}
    if absent:
        yield Note(
            code="counters_absent",
            message=f"{_join(absent)}: {' and '.join(sorted(set(absent.values())))} by this device",
            hint="processors in virtual machines often hide their counters: measure on the machine itself",
        )
    partial = {count.event: count.running for count in counts if count.value is not None and count.running < _COMPLETE}
    if partial:
        least = min(partial.values())
        yield Note(
            code="counters_shared",
            message=f"{_join(partial)}: counted for {in_percent(least)} of the time at least, and extrapolated, "
            "because the processor has fewer counters than events",
            hint="name fewer events (`events`)",
        )
    if any(count.user_only for count in counts):
        yield Note(
            code="counters_user_only",
            message="events in the kernel were not counted: this user may observe programs only",
            hint="`sudo sysctl kernel.perf_event_paranoid=1` allows it until the next start",
        )
    if hidden:
        yield Note(
            code="counters_hidden",
            message=f"{_join(hidden)}: not known of one iteration: launches differ by more than all of them need",
            hint="raise `iter`, so that iterations outweigh loading the model",
        )
    elif not any(observation.type == "NET" for each in observations for observation in each):
        yield Note(
            code="counters_of_launch",
            message="counts are of whole launches, with loading the model: those of one iteration are not known, "
            "because the number of iterations cannot be chosen or is not reported",
        )


def _join(names: Sequence[str] | dict[str, str] | dict[str, float]) -> str:
    shown = list(names)
    more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
    return f"{', '.join(shown[:8])}{more}"


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_LONGEST_FILE).decode(errors="replace")
