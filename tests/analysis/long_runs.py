"""Long runs of a made-up phone: a figure over seconds, with levels, noise and a tail."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from harness.analysis.summary import collect
from harness.core.metric import Metric, Observation

Levels = Sequence[tuple[float, float]]
"""Seconds from which on a level holds, and the median of the figure then."""


def run_long(
    levels: Levels, seconds: float, *, rate: bool = False, pause_s: float = 0.0, seed: int = 1
) -> list[Metric]:
    """Return the metrics of a long run: latencies in nanoseconds from levels in milliseconds, or decode rates.

    Args:
        levels: Its levels, the first from second 0 on.
        seconds: How long it is.
        rate: Whether the levels are tokens per second, of generations of 32 tokens.
        pause_s: Time between two executions.
        seed: Seed of the noise.
    """
    chance = random.Random(seed)
    starts, values, now = [], [], 0.0
    while now < seconds:
        level = [value for since, value in levels if since <= now][-1]
        noise = math.exp(abs(chance.gauss(0, 0.03)) + (0.5 if chance.random() < 0.02 else 0.0))
        starts.append(now * 1e9)
        values.append(level / noise if rate else 1e6 * level * noise)
        now += (32 / values[-1] if rate else values[-1] / 1e9) + pause_s
    name, unit = ("decode_rate", "tokens/s") if rate else ("latency", "ns")
    observations = [
        Observation(type="SUSTAINED", metric=name, unit=unit, samples=tuple(values)),
        Observation(type="SUSTAINED", metric="start_time", unit="ns", samples=tuple(starts)),
    ]
    return list(collect([observations])[0])
