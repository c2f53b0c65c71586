"""Launches whose energy is metered, with the idle baseline beside them.

The baseline is metered anew for every launch, right before and right after it, by the same meter and in the same way,
so that a device that warms up or a slow change of its state moves both. docs/decisions/0080 says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.command import Command, Completed
from harness.core.metric import LATENCY, Observation, convert
from harness.core.power import LaunchMeter, PowerReading, PowerRequest
from harness.core.protocols import Clock, Session
from harness.core.result import Launch, Outcome
from harness.running.launch import LaunchRecord, launch, wait_until_ready
from harness.running.pacing import paced_iteration_s

TOO_SHORT: Final = "it was too short for the meter"
"""Reason of a discarded launch."""

_GRACE_S: Final = 30.0
"""Time that idling may take beyond its own: of a slow connection."""

_BESIDE: Final = 12.0
"""Iterations last this often as long as what a launch does beside them: then they are more than nine tenths of it."""

_MOST: Final = 10_000_000
"""Iterations of a launch."""


def launch_metered(
    index: int,
    commands: Sequence[Command],
    session: Session,
    clock: Clock,
    *,
    request: PowerRequest,
    meter: LaunchMeter | None,
) -> LaunchRecord:
    """Launch between two stretches of idling; errors as for `launch`.

    Args:
        index: Number of the launch.
        commands: The commands to start, in order.
        session: The held device.
        clock: Unix seconds.
        request: How to meter.
        meter: The external meter; None takes that of the device.
    """
    wait_until_ready(session)
    if meter is not None:
        unmetered = [replace(command, energy=False) for command in commands]
        record, reading = meter.record(lambda: launch(index, unmetered, session, clock))
        return _add_reading(record, reading, meter.name)
    idle = Command(("sleep", f"{request.baseline_s:g}"), timeout_s=request.baseline_s + _GRACE_S, cpus=(), energy=True)
    before = session.run(idle)
    record = launch(index, commands, session, clock)
    if record.launch.outcome is not Outcome.OK:
        return record
    return replace(record, idle=(before, session.run(idle)))


def lengthen(benchmark: Benchmark, launched: Launch, observations: Sequence[Observation]) -> Benchmark | None:
    """Return the benchmark with enough iterations for its meter; None where they are enough, or not ours to choose.

    Args:
        benchmark: As it was launched.
        launched: One launch of it.
        observations: What that reported.
    """
    request = benchmark.power
    if request is None or benchmark.commands:
        return None
    timed = next((observation for observation in observations if observation.name == LATENCY), None)
    spent_s = None if timed is None else convert(math.fsum(timed.samples), timed.unit, "s")
    if timed is None or not spent_s:
        return None
    latency_s = spent_s / len(timed.samples)
    iteration_s = paced_iteration_s(benchmark, latency_s)
    spent_s = iteration_s * len(timed.samples)
    warmup_s = max(0, benchmark.warmup) * latency_s
    beside_s = max(0.0, launched.wall_s - spent_s - warmup_s)
    least_s = max(request.window_s, _BESIDE * beside_s - warmup_s)
    least_s = min(least_s, benchmark.timeout_s / 2)
    if spent_s >= 0.95 * least_s:
        return None
    return benchmark.model_copy(
        update={"iterations": min(_MOST, math.ceil(least_s / iteration_s)), "time_limit_s": None}
    )


def _add_reading(record: LaunchRecord, reading: PowerReading, meter: str) -> LaunchRecord:
    """Return the record with the energy of an external meter: mean power of the load times the time of a command."""
    if reading.load_w is None:
        reason = reading.reason or f"{meter} recorded nothing"
        return replace(record, completed=tuple(replace(step, energy_unavailable=reason) for step in record.completed))
    load_w = reading.load_w
    completed = tuple(
        replace(step, energy_mj={meter: load_w * step.wall_s * 1000}, energy_unavailable=None)
        for step in record.completed
    )
    idle = tuple(
        Completed(Command(("idle",)), 0, wall_s=1.0, energy_mj={meter: power_w * 1000}) for power_w in reading.idle_w
    )
    return replace(record, completed=completed, idle=idle)
