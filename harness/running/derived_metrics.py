"""Metrics derived from what one launch reported: its energy, and the time of each operator in one iteration."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from harness.core.command import Completed
from harness.core.metric import ENERGY, LATENCY, Observation, convert
from harness.core.note import Note
from harness.core.order_statistics import median
from harness.core.percent import in_percent

ITERATING: Final = 0.9
"""Share of a launch that iterations must take before the energy of one is derived. Loading draws another power than
iterating; if it drew none at all, the energy of an iteration would come out a tenth too low."""

_OVERLAPPING: Final = 1.1
"""Iterations one after the other cannot take longer than the launch; the rest is for clocks that differ."""

_NUMBER: Final = re.compile(r" #\d+$")
"""What runners write behind the name of an operator."""

_UNAVAILABLE: Final = "this kind of device does not report energy"


def derive_energy(
    completed: Sequence[Completed], observations: Sequence[Observation], warmup: int
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Derive the energy metrics of a launch that succeeded.

    Args:
        completed: Its commands.
        observations: What its program reported. Energy that the program reports itself is not derived.
        warmup: Warm-up iterations that it is known to have made; those that are not known are not iterations then.

    Returns:
        `RUN energy`, the sum of all parts; each part with its name as the type; `NET energy`, where the launch consists
        of iterations as good as alone. All in millijoules. A note `energy_unavailable` says why there is none,
        `energy_per_iteration` why there is no `NET energy`.
    """
    reason = next((step.energy_unavailable or _UNAVAILABLE for step in completed if not step.energy_mj), None)
    if reason is not None:
        return (), (Note(code="energy_unavailable", message=f"energy is not known: {reason}"),)
    parts = _parts(completed)
    whole_mj = math.fsum(parts.values())
    derived = [_energy("RUN", whole_mj), *(_energy(name, part_mj) for name, part_mj in parts.items())]
    iteration_mj, notes = _energy_of_iteration(whole_mj, sum(step.wall_s for step in completed), observations, warmup)
    if iteration_mj is not None:
        derived.insert(1, _energy("NET", iteration_mj))
    reported = {observation.name for observation in observations}
    return tuple(observation for observation in derived if observation.name not in reported), notes


def sum_operators(observations: Sequence[Observation]) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Sum the calls of each operator in each iteration.

    A program that reports every call by the operator's name alone reports `conv` as often in an iteration as the model
    has such layers. The operator's time in an iteration is their sum; a median over all of them is the time of no layer
    and of no iteration.

    Args:
        observations: Everything that one launch reported.

    Returns:
        The observations, and a note `repeated_operator` on operators that have more samples than iterations, but no
        multiple of them. Those stay as they are, and so does everything where no iterations are reported.
    """
    iterations = sum(len(observation.samples) for observation in observations if observation.name == LATENCY)
    counts = Counter[str]()
    for observation in observations:
        counts[observation.name] += len(observation.samples) if observation.is_of_operator else 0
    repeated = {name: count for name, count in counts.items() if 0 < iterations < count}
    uneven = [name for name, count in repeated.items() if count % iterations]
    even = repeated.keys() - uneven
    summed = tuple(
        _sum_calls(observation, repeated[observation.name] // iterations) if observation.name in even else observation
        for observation in observations
    )
    return summed, tuple(_uneven_note(name, repeated[name], iterations) for name in uneven)


def operator_medians(observations: Iterable[Observation]) -> dict[str, float]:
    """Return the median of each operator by name, in microseconds, in the order in which they were reported.

    A program that summarises its samples itself reports the median as `p50`.
    """
    medians: dict[str, float] = {}
    for observation in observations:
        typical = median(observation.samples) if observation.samples else (observation.summary or {}).get("p50")
        microseconds = None if typical is None else convert(typical, observation.unit, "us")
        if observation.is_of_operator and microseconds is not None:
            medians[observation.type] = microseconds
    return medians


def sum_by_kind(medians: Mapping[str, float]) -> dict[str, float]:
    """Return the times of operators summed over those of one kind, whose names differ in their number only."""
    sums: dict[str, float] = {}
    for name, microseconds in medians.items():
        kind = _NUMBER.sub("", name)
        sums[kind] = sums.get(kind, 0.0) + microseconds
    return sums


def _parts(completed: Sequence[Completed]) -> Mapping[str, float]:
    parts: defaultdict[str, float] = defaultdict(float)
    for step in completed:
        for name, energy_mj in step.energy_mj.items():
            parts[name] += energy_mj
    return parts


def _energy_of_iteration(
    whole_mj: float, wall_s: float, observations: Sequence[Observation], warmup: int
) -> tuple[float | None, tuple[Note, ...]]:
    """Multiply the launch's mean power by the time of an iteration.

    It is not visible from outside when warm-up ends and timed iterations begin; but both draw the same power. So it is
    enough to know that the launch does little else.
    """
    latencies = tuple(_seconds(observations))
    if not latencies or wall_s <= 0:
        return None, ()
    mean_s = math.fsum(latencies) / len(latencies)
    share = mean_s * (len(latencies) + warmup) / wall_s
    if ITERATING <= share <= _OVERLAPPING:
        return whole_mj * mean_s / wall_s, ()
    reason, hint = "they overlap", None
    if share < ITERATING:
        reason, hint = f"less than {in_percent(ITERATING)} is too little", "ask for more iterations (`iter`)"
    message = (
        f"the energy of an iteration is not known: iterations took {in_percent(share)} of the launch, and {reason}"
    )
    return None, (Note(code="energy_per_iteration", message=message, hint=hint),)


def _seconds(observations: Sequence[Observation]) -> Iterator[float]:
    """Yield the latency of each timed iteration."""
    for observation in observations:
        if observation.name == LATENCY:
            factor = convert(1.0, observation.unit, "s")
            yield from (sample * factor for sample in observation.samples if factor is not None)


def _energy(type_: str, energy_mj: float) -> Observation:
    return Observation(type=type_, metric=ENERGY, unit="mJ", samples=(energy_mj,))


def _sum_calls(observation: Observation, calls: int) -> Observation:
    """Sum the samples of this many calls in a row."""
    samples = observation.samples
    sums = tuple(sum(samples[place : place + calls]) for place in range(0, len(samples), calls))
    return observation.model_copy(update={"samples": sums})


def _uneven_note(name: str, count: int, iterations: int) -> Note:
    return Note(
        code="repeated_operator",
        message=f"{name} was reported {count} times in {iterations} iterations: its time in one is not known, and its "
        "figures and shares are those of single calls",
        hint="let the program report each operator equally often in every iteration, and none of the warm-up",
    )
