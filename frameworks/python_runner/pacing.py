"""Paced iterations: when each begins, and which samples of a long run are kept.

Random intervals are those of the native runner (`pacing.cpp`): SplitMix64 from the seed, its upper 53 bits plus one as
u in (0, 1], and -ln(u) times the mean.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MOST_SAMPLES: Final = 100_000
"""Samples that are kept; `harness.core.scenario` says the same to those who read them."""

_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class ArrivalSchedule:
    """Arrival of iterations.

    Attributes:
        interval_s: Seconds between two of them; at random their mean.
        seed: Seed of random intervals; None for fixed ones.
    """

    interval_s: float
    seed: int | None = None

    def due_times_ns(self) -> Iterator[int]:
        """Yield when each iteration is due, since the first."""
        if self.seed is None:
            yield from (round(number * self.interval_s * 1e9) for number in itertools.count())
            return
        due = 0.0
        for word in _split_mix(self.seed):
            yield round(due)
            due -= math.log(((word >> 11) + 1) / 2**53) * self.interval_s * 1e9


@dataclass(frozen=True, slots=True)
class PacedSample:
    """Sample of one iteration.

    Attributes:
        wall_ns: Its wall clock.
        cpu_ns: Its CPU clock.
        start_ns: When it began, since the loop did.
        response_ns: From when it was due until it ended; None without an arrival.
        tokens_per_s: Rate at which it decoded; None where nothing is generated.
    """

    wall_ns: int
    cpu_ns: int
    start_ns: int
    response_ns: int | None
    tokens_per_s: float | None = None


@dataclass(slots=True)
class KeptSamples:
    """Samples in order, at most `MOST_SAMPLES`: when they are full every second one goes, of old and of further ones.

    Attributes:
        samples: The kept ones.
        stride: Every how many-th iteration is kept.
        count: Number of all iterations.
    """

    samples: list[PacedSample] = field(default_factory=list)
    stride: int = 1
    count: int = 0

    def add(self, sample: PacedSample) -> None:
        """Add the sample of the next iteration."""
        if self.count % self.stride == 0:
            if len(self.samples) == MOST_SAMPLES:
                self.samples = self.samples[::2]
                self.stride *= 2
            if self.count % self.stride == 0:
                self.samples.append(sample)
        self.count += 1


def sleep_until(moment_ns: int) -> None:
    """Sleep until the monotonic clock shows a time: pauses are pauses, in which clocks may go down."""
    while (left_ns := moment_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)


def _split_mix(seed: int) -> Iterator[int]:
    state = seed & _MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        word = state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        yield word ^ (word >> 31)
