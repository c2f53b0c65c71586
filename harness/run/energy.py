"""What the energy of one launch is as metrics: of the whole, of each part that was measured, and of one iteration."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from harness.core.command import Completed
from harness.core.metric import ENERGY, LATENCY, Observation, convert
from harness.core.note import Note

ITERATING: Final = 0.9
"""Share of a launch that iterations must take before its energy says something about one of them. Loading draws another
power than iterating; were it none at all, the energy of an iteration would be told a tenth too low."""

_OVERLAPPING: Final = 1.1
"""Iterations that take turns cannot take longer than the launch; the rest is for clocks that differ."""

_UNTOLD: Final = "this kind of device does not tell energy"


def energy_told(
    completed: Sequence[Completed], said: Sequence[Observation], warmup: int
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """The energy of a launch that went well.

    Args:
        completed: Its commands.
        said: What its program said. What that calls energy itself is not told a second time.
        warmup: Warm-up iterations that it is known to have made; those that are not known are not iterations then.

    Returns:
        `RUN energy`, the sum of all parts; each part with its name as the type; `NET energy`, where the launch consists
        of iterations as good as alone. All in millijoules. A note `energy_unavailable` says why there is none,
        `energy_per_iteration` why there is no `NET energy`.
    """
    reason = next((one.energy_unavailable or _UNTOLD for one in completed if not one.energy_mj), None)
    if reason is not None:
        return (), (Note(code="energy_unavailable", message=f"energy is not known: {reason}"),)
    parts = _parts(completed)
    whole_mj = math.fsum(parts.values())
    found = [_observation("RUN", whole_mj), *(_observation(name, part_mj) for name, part_mj in parts.items())]
    each_mj, notes = _of_iteration(whole_mj, sum(one.wall_s for one in completed), said, warmup)
    if each_mj is not None:
        found.insert(1, _observation("NET", each_mj))
    names = {one.name for one in said}
    return tuple(one for one in found if one.name not in names), notes


def _parts(completed: Sequence[Completed]) -> Mapping[str, float]:
    parts: defaultdict[str, float] = defaultdict(float)
    for one in completed:
        for name, energy_mj in one.energy_mj.items():
            parts[name] += energy_mj
    return parts


def _of_iteration(
    whole_mj: float, wall_s: float, said: Sequence[Observation], warmup: int
) -> tuple[float | None, tuple[Note, ...]]:
    """The launch's mean power for as long as an iteration takes.

    Nobody sees from outside when warm-up ends and timed iterations begin; but both draw the same power. So it is enough
    to know that the launch does little else.
    """
    latencies = tuple(_seconds(said))
    if not latencies or wall_s <= 0:
        return None, ()
    mean_s = math.fsum(latencies) / len(latencies)
    share = mean_s * (len(latencies) + warmup) / wall_s
    if ITERATING <= share <= _OVERLAPPING:
        return whole_mj * mean_s / wall_s, ()
    why, hint = "they overlap", None
    if share < ITERATING:
        why, hint = f"less than {ITERATING:.0%} says little about them", "ask for more iterations (`iter`)"
    message = f"the energy of an iteration is not known: iterations took {share:.0%} of the launch, and {why}"
    return None, (Note(code="energy_per_iteration", message=message, hint=hint),)


def _seconds(said: Sequence[Observation]) -> Iterator[float]:
    """The latency of each timed iteration."""
    for one in said:
        if one.name == LATENCY:
            factor = convert(1.0, one.unit, "s")
            yield from (sample * factor for sample in one.samples if factor is not None)


def _observation(of: str, energy_mj: float) -> Observation:
    return Observation(type=of, metric=ENERGY, unit="mJ", samples=(energy_mj,))
