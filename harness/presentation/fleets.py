"""One verdict for many devices: the same builds on several devices, or classes of them, in a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.comparison import Comparison
from harness.core.device import CLASS
from harness.core.metric import Metric
from harness.core.result import Result
from harness.presentation.text import Line, Span, Tone, make_printable
from harness.presentation.verdicts import VerdictCategory, categorise, sort_by_severity

_WORDS: Final = {
    VerdictCategory.NO_CHANGE: "unchanged",
    VerdictCategory.UNDECIDED: "undecided",
    VerdictCategory.FAILED: "failed",
    VerdictCategory.SKIPPED: "skipped",
}

VISIBLE_CHANGE: Final = "visible change"
"""Heading of the column of the smallest change that the pairs of a comparison would show."""
VISIBLE_CHANGE_LEGEND: Final = (
    f"{VISIBLE_CHANGE}: half of the interval; where nothing was found, a change above it would have been"
)


class Fleet(Struct, frozen=True):
    """Results of one benchmark and metric on several devices, for the same two builds.

    Attributes:
        title: The benchmark, with the metric where it is not the only one.
        noun: What the members are: devices, or classes of them.
        members: The results, most severe first.
    """

    title: str
    noun: str
    members: Sequence[Result]


def find_fleets(results: Sequence[Result]) -> list[Fleet]:
    """Return the benchmarks that were compared on two or more devices.

    Args:
        results: Of comparisons. A failure belongs to each metric of its benchmark; of several results of one device the
            most severe counts.
    """
    groups: dict[tuple[str, ...], dict[str, Result]] = {}
    for result in sort_by_severity(results):
        comparison = result.comparison
        if comparison is not None and result.device is not None:
            sides = (comparison.control.digest, result.build.digest if result.build is not None else "")
            key = (result.benchmark.digest, comparison.metric, *sides)
            groups.setdefault(key, {}).setdefault(result.device.identity, result)
    metrics: dict[str, set[str]] = {}
    for digest, metric, *_ in groups:
        metrics.setdefault(digest, set()).add(metric)
    for result in results:
        if result.comparison is None and result.device is not None:
            for known, group in groups.items():
                if known[0] == result.benchmark.digest:
                    group.setdefault(result.device.identity, result)
    return [
        _fleet(key[1] if len(metrics[key[0]]) > 1 else "", list(group.values()))
        for key, group in groups.items()
        if len(group) > 1
    ]


def describe_fleet(fleet: Fleet) -> Line:
    """Return the verdict of a fleet: `slower on 3 of 14 classes by 2.1 … 4.8 %; unchanged on 9; undecided on 2`."""
    worst = categorise(fleet.members[0])
    return Line.of(
        Span(f"{worst.mark} ", worst.tone),
        Span(make_printable(fleet.title), Tone.STRONG),
        Span(f": {summarise_fleet(fleet)}"),
    )


def summarise_fleet(fleet: Fleet) -> str:
    """Return how many members fall into each category, most severe first, and the sizes of their changes."""
    return "; ".join(_parts(fleet))


def visible_change(result: Result) -> float | None:
    """Return the smallest change that the pairs of a comparison show: half of its interval; None where it is open."""
    comparison = result.comparison
    if not result.ok or comparison is None or comparison.low is None or comparison.high is None:
        return None
    return None if comparison.is_exact else (comparison.high - comparison.low) / 2


def _fleet(metric: str, members: Sequence[Result]) -> Fleet:
    are_classes = all(member.device is not None and member.device.identity.startswith(CLASS) for member in members)
    title = members[0].benchmark.title
    return Fleet(
        title=f"{title}: {metric}" if metric else title,
        noun="classes" if are_classes else "devices",
        members=sort_by_severity(members),
    )


def _parts(fleet: Fleet) -> Iterator[str]:
    worse, better = _change_words(fleet.members)
    of_all = f" of {len(fleet.members)} {fleet.noun}"
    for category in VerdictCategory:
        members = [member for member in fleet.members if categorise(member) is category]
        if not members:
            continue
        word = {VerdictCategory.REGRESSION: worse, VerdictCategory.IMPROVEMENT: better}.get(category)
        yield f"{word or _WORDS[category]} on {len(members)}{of_all}{f' by {_range(members)}' if word else ''}"
        of_all = ""


def _change_words(members: Sequence[Result]) -> tuple[str, str]:
    comparison = next(_comparisons(members))
    metric = Metric(name=comparison.metric, type="", metric="", unit=comparison.unit)
    return ("slower", "faster") if metric.is_timed else ("worse", "better")


def _comparisons(members: Sequence[Result]) -> Iterator[Comparison]:
    return (member.comparison for member in members if member.comparison is not None)


def _range(members: Sequence[Result]) -> str:
    """Return the sizes of changes, from the smallest to the largest."""
    sizes = sorted(abs(comparison.difference or 0.0) for comparison in _comparisons(members))
    low, high = (f"{100 * size:.2g}" for size in (sizes[0], sizes[-1]))
    return f"{low} %" if low == high else f"{low} … {high} %"
