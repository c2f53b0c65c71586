"""The best compromises between speed, size and fidelity: which results another one beats in everything.

Only programs of one model on one device are rivals, and only where the same statistic of the same examples ranks their
outputs: a phone is no worse program than a host, and decibels are no shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from harness.core.evaluation import Statistic
from harness.core.launch_interval import known_interval
from harness.core.metric import Direction, convert, main_metric
from harness.core.result import Result
from harness.presentation.text import Line, Span, Tone, make_printable

ACCURACY: Final = "top1_accuracy"
FIDELITY: Final = "sqnr"
"""Statistics by which outputs are ranked: the first where examples have labels, else the second."""

_WORDS: Final = {ACCURACY: "accuracy", FIDELITY: "SQNR"}

_LARGEST_ERROR: Final = "max_absolute_error"


class Range(Struct, frozen=True):
    """Estimate of something of which less is better, and where it may lie."""

    value: float
    low: float
    high: float


class _Field(NamedTuple):
    """All that two results must have in common to be rivals."""

    model: str
    device: str
    statistic: str
    examples: str


class Compromise(Struct, frozen=True):
    """Result with what it costs.

    Attributes:
        result: The result.
        field: All that its rivals have in common with it.
        costs: Latency in nanoseconds, size in bytes, and loss: the negative of the statistic that ranks outputs.
    """

    result: Result
    field: _Field
    costs: tuple[Range, Range, Range]

    def is_dominated_by(self, other: Compromise) -> bool:
        """Return whether a rival is at least as good in everything, and provably better in something.

        At least as good is meant of the estimates: where intervals overlap, nothing is known to speak against it.
        """
        if self.field != other.field:
            return False
        return _is_worse(list(zip(self.costs, other.costs, strict=True)))

    def is_spared_by_chance(self, other: Compromise) -> bool:
        """Return whether only a smaller loss keeps a rival from dominating it, though the intervals of both overlap."""
        *pairs, (loss, its_loss) = zip(self.costs, other.costs, strict=True)
        if self.field != other.field or its_loss.value <= loss.value or its_loss.low > loss.high:
            return False
        return _is_worse(pairs)


def _is_worse(costs: Sequence[tuple[Range, Range]]) -> bool:
    """Return whether no own cost is estimated below that of a rival, and one is provably above it."""
    return all(its.value <= own.value for own, its in costs) and any(its.high < own.low for own, its in costs)


def find_compromises(results: Sequence[Result]) -> list[Compromise]:
    """Return the results that can be drawn: with a latency, a program and finite outputs."""
    return [compromise for result in results if (compromise := _compromise(result)) is not None]


def find_rankable(results: Sequence[Result]) -> list[Compromise]:
    """Return those of them that take part in a ranking: a latency that cannot be trusted proves nothing."""
    return [compromise for compromise in find_compromises(results) if compromise.result.trusted]


def group_rivals(compromises: Sequence[Compromise]) -> list[list[Compromise]]:
    """Group compromises that can be compared with each other, in the order of their firsts."""
    groups: dict[_Field, list[Compromise]] = {}
    for compromise in compromises:
        groups.setdefault(compromise.field, []).append(compromise)
    return list(groups.values())


def find_dominated(compromises: Sequence[Compromise]) -> dict[str, Result]:
    """Return by uid which other result is better than a dominated one; of several, the first of all that are not."""
    dominated: dict[str, Result] = {}
    best = [own for own in compromises if not any(own.is_dominated_by(other) for other in compromises)]
    for own in compromises:
        better = next((other for other in best if own.is_dominated_by(other)), None)
        if better is not None:
            dominated[own.result.uid] = better.result
    return dominated


def describe_compromises(results: Sequence[Result]) -> Iterator[Line]:
    """Yield for rivals a line with the best compromises, and one for each result that another one dominates.

    Those that cannot be trusted take no part; how many these are is told where there could have been rivals.
    """
    compromises = find_rankable(results)
    rivals = [own for group in group_rivals(find_compromises(results)) if len(group) > 1 for own in group]
    doubtful = sum(not own.result.trusted for own in rivals)
    if doubtful:
        of_all = f"{doubtful} of {len(rivals)} cannot be trusted"
        lacks_rivals = all(len(group) < 2 for group in group_rivals(compromises))
        yield Line.of(
            f"best compromises: unknown, because {of_all}"
            if lacks_rivals
            else f"{of_all}, and {'takes' if doubtful == 1 else 'take'} no part in best compromises"
        )
    dominated = find_dominated(compromises)
    for group in group_rivals(compromises):
        if len(group) < 2:
            continue
        best = [_name(own.result) for own in group if own.result.uid not in dominated]
        measure = _WORDS[group[0].field.statistic]
        spans: list[str | Span] = [f"best compromises of speed, size and {measure}{_place(group[0], compromises)}: "]
        for number, name in enumerate(best):
            spans += [", " if number else "", Span(name, Tone.STRONG)]
        yield Line.of(*spans)
        yield from _describe_spared(group, dominated, measure)
        for own in group:
            if (better := dominated.get(own.result.uid)) is not None:
                yield Line.of(
                    Span(_name(own.result), Tone.STRONG), " is dominated by ", Span(_name(better), Tone.STRONG),
                    f", which is at least as fast and as small, and has no lower {measure}",
                )  # fmt: skip


def _describe_spared(group: Sequence[Compromise], dominated: Mapping[str, Result], measure: str) -> Iterator[Line]:
    """Yield a line for each best compromise that a difference which may be chance keeps from being dominated."""
    for own in group:
        better = next((other for other in group if own.is_spared_by_chance(other)), None)
        if better is not None and own.result.uid not in dominated:
            yield Line.of(
                Span(_name(own.result), Tone.STRONG), f" is among them for its {measure} alone, which is not shown to "
                "be higher than that of ", Span(_name(better.result), Tone.STRONG),
            )  # fmt: skip


def program_size(result: Result) -> int | None:
    """Return the size of the model's files in bytes; None where none is known."""
    sizes = [file.size_bytes for key, file in result.files.items() if key.startswith("files.")]
    return sum(sizes) if sizes else None


def rank_statistic(result: Result) -> Statistic | None:
    """Return the statistic that ranks the outputs of a result."""
    measured = result.evaluation.measured if result.evaluation is not None else None
    if measured is None or measured.is_faulty:
        return None
    return measured.statistic(ACCURACY) or measured.statistic(FIDELITY)


def _compromise(result: Result) -> Compromise | None:
    main, size, quality = main_metric(result.metrics), program_size(result), rank_statistic(result)
    evaluation = result.evaluation
    if not result.ok or result.origin is not None or evaluation is None:
        return None
    if main is None or main.median is None or size is None or quality is None:
        return None
    latency = convert(main.median, main.unit, "ns")
    loss = _loss(result, quality)
    if latency is None or loss is None or main.direction is Direction.HIGHER:
        return None
    interval = known_interval(main)
    scale = latency / main.median if main.median else 1.0
    time = Range(latency, latency, latency)
    if interval is not None:
        time = Range(latency, interval.low * scale, interval.high * scale)
    device = result.device.identity if result.device is not None else ""
    field = _Field(result.benchmark.model, device, quality.name, evaluation.data.digest)
    return Compromise(result, field, (time, Range(size, size, size), loss))


def _loss(result: Result, quality: Statistic) -> Range | None:
    """Return the negative of a statistic; None where it has no value, unless that is because outputs are identical."""
    if quality.value is None:
        return Range(-math.inf, -math.inf, -math.inf) if _is_identical(result) else None
    low = quality.value if quality.low is None else quality.low
    high = quality.value if quality.high is None else quality.high
    return Range(-quality.value, -high, -low)


def _is_identical(result: Result) -> bool:
    measured = result.evaluation.measured if result.evaluation is not None else None
    largest = measured.statistic(_LARGEST_ERROR) if measured is not None else None
    return largest is not None and largest.value == 0


def _place(first: Compromise, compromises: Sequence[Compromise]) -> str:
    """Return in words what a group of rivals is of, as far as that tells it from others."""
    parts = [f" of {make_printable(first.field.model)}"] if len({own.field.model for own in compromises}) > 1 else []
    if first.result.device is not None and len({own.field.device for own in compromises}) > 1:
        parts.append(f" on {make_printable(first.result.device.name)}")
    return "".join(parts)


def _name(result: Result) -> str:
    return make_printable(result.benchmark.identifier)
