"""Dynamic energy: what a launch and an iteration take beyond the idle device (energy net of the baseline)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.command import Completed
from harness.core.metric import (
    DYNAMIC_ENERGY,
    ENERGY,
    ENERGY_METRICS,
    IDLE_POWER,
    MEAN_POWER,
    Observation,
)
from harness.core.note import Note

_UNSTEADY: Final = 0.25
"""Share of the dynamic power by which the baseline may differ from its two stretches."""


def derive_dynamic_energy(
    completed: Sequence[Completed], idle: Sequence[Completed], observations: Sequence[Observation]
) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Derive the energy of a launch net of its baseline: the time-weighted mean power of idling before and after it.

    A launch that took less than the baseline has a negative one: left out, the others would be a selection.

    Args:
        completed: The commands of the launch, with their energy.
        idle: The stretches of idling beside it.
        observations: Everything of the launch, with its derived energy.

    Returns:
        `RUN mean_power` and `RUN idle_power` in watts, `RUN dynamic_energy`, and `NET dynamic_energy` where there is
        `NET energy`, in millijoules. A note `baseline_unavailable` says why there is none, `idle_unsteady` that the
        stretches differ by much. Nothing without energy, which has a note of its own.
    """
    whole_mj = _find_energy(observations, "RUN")
    wall_s = math.fsum(step.wall_s for step in completed)
    if whole_mj is None or wall_s <= 0:
        return (), ()
    derived = [_observe("RUN", MEAN_POWER, "W", whole_mj / wall_s / 1000)]
    powers = tuple(_powers(idle))
    meters = {frozenset(step.energy_mj) for step in (*completed, *idle)}
    if not powers or len(powers) < len(idle) or len(meters) != 1:
        return _unreported(derived, observations), (_explain_missing(idle),)
    idle_w = math.fsum(power * step.wall_s for power, step in zip(powers, idle, strict=True)) / math.fsum(
        step.wall_s for step in idle
    )
    net_w = whole_mj / wall_s / 1000 - idle_w
    derived += [
        _observe("RUN", IDLE_POWER, "W", idle_w),
        _observe("RUN", DYNAMIC_ENERGY, "mJ", net_w * wall_s * 1000),
    ]
    iteration_mj = _find_energy(observations, "NET")
    if iteration_mj is not None and whole_mj > 0:
        iteration_s = iteration_mj / whole_mj * wall_s
        derived.insert(0, _observe("NET", DYNAMIC_ENERGY, "mJ", net_w * iteration_s * 1000))
    return _unreported(derived, observations), tuple(_unsteady_notes(powers, net_w))


def _powers(idle: Sequence[Completed]) -> Iterator[float]:
    """Yield the mean power of each stretch that was metered, in watts."""
    for step in idle:
        if step.ok and step.energy_mj and step.wall_s > 0:
            yield math.fsum(step.energy_mj.values()) / step.wall_s / 1000


def _explain_missing(idle: Sequence[Completed]) -> Note:
    reason = next((step.energy_unavailable for step in idle if not step.energy_mj), None)
    failed = next((step.describe() for step in idle if not step.ok), None)
    why = (failed and f"`sleep` {failed}") or reason or "its meters differ from those of the launch"
    return Note(
        code="baseline_unavailable",
        message=f"energy net of the idle baseline is not known: while the device idled, {why}",
        hint="a coarse meter needs a longer `baseline` in the `power` block",
    )


def _unsteady_notes(powers: Sequence[float], net_w: float) -> Iterator[Note]:
    error_w = (max(powers) - min(powers)) / 2
    if error_w > _UNSTEADY * abs(net_w):
        stretches = " and ".join(f"{power:.3g} W" for power in powers)
        yield Note(
            code="idle_unsteady",
            message=f"the idle device took {stretches} beside a launch that took {net_w:.2g} W more: the energy net of "
            "it is not known well",
            hint="let nothing else run, and take a longer `baseline` in the `power` block",
        )


def _find_energy(observations: Sequence[Observation], type_: str) -> float | None:
    name = f"{type_} {ENERGY}"
    found = next((observation for observation in observations if observation.name == name), None)
    return found.samples[0] if found is not None and found.unit == "mJ" and len(found.samples) == 1 else None


def _unreported(derived: Sequence[Observation], observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Leave out what the program reported itself."""
    reported = {observation.name for observation in observations if observation.metric in ENERGY_METRICS}
    return tuple(observation for observation in derived if observation.name not in reported)


def _observe(type_: str, metric: str, unit: str, value: float) -> Observation:
    return Observation(type=type_, metric=metric, unit=unit, samples=(value,))
