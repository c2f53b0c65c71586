"""What one launch says about its operators."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from harness.core.metric import LATENCY, Observation, convert
from harness.core.note import Note


def per_iteration(said: Sequence[Observation]) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """The same with a sample of each iteration for each operator.

    A program that tells every call by the operator's name alone tells a layer `conv` as often in an iteration as the
    model has such layers. What the operator takes of an iteration is their sum; a median over all of them is the time
    of no layer and of no iteration.

    Args:
        said: Everything that one launch said.

    Returns:
        The observations, and a note `repeated_operator` about operators of which there are more samples than iterations
        that are no multiple of them. Those stay as they are, and so does everything where no iterations are told.
    """
    iterations = sum(len(one.samples) for one in said if one.name == LATENCY)
    counts = Counter[str]()
    for one in said:
        counts[one.name] += len(one.samples) if one.is_of_operator else 0
    repeated = {name: count for name, count in counts.items() if 0 < iterations < count}
    uneven = [name for name, count in repeated.items() if count % iterations]
    summed = tuple(
        _summed(one, repeated[one.name] // iterations) if one.name in repeated.keys() - uneven else one for one in said
    )
    return summed, tuple(_uneven(name, repeated[name], iterations) for name in uneven)


def operator_medians(observations: Iterable[Observation]) -> dict[str, float]:
    """The median of each operator by name, in microseconds, in the order in which they were told.

    A program that summarised its samples itself told the median as `p50`.
    """
    found: dict[str, float] = {}
    for one in observations:
        median = statistics.median(one.samples) if one.samples else (one.summary or {}).get("p50")
        microseconds = None if median is None else convert(median, one.unit, "us")
        if one.is_of_operator and microseconds is not None:
            found[one.type] = microseconds
    return found


def _summed(one: Observation, calls: int) -> Observation:
    """Samples of so many calls in a row as one."""
    together = tuple(sum(one.samples[place : place + calls]) for place in range(0, len(one.samples), calls))
    return one.model_copy(update={"samples": together})


def _uneven(name: str, count: int, iterations: int) -> Note:
    return Note(
        code="repeated_operator",
        message=f"{name} was told {count} times in {iterations} iterations: what it takes of one is not known, and its "
        "figures and shares are those of single calls",
        hint="let the program tell each operator equally often in every iteration, and none of the warm-up",
    )
