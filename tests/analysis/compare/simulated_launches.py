"""Launches on machines that are not quiet, for tests and benchmarks of decisions.

The kinds follow what 9,500 launches of a MobileNetV2 runner showed on a quiet machine, beside a bursty neighbour and on
a crowded one: iterations vary by 2 % (crowded: more than half of them are pre-empted), neighbouring launches by 0.5 to
1.7 %, whole minutes by 2 to 6 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.core.comparison import Pair

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Machine:
    """Disturbances of a simulated machine.

    Attributes:
        name: What the tables call it.
        iteration: Robust spread of the iterations of a launch.
        launch: Spread of neighbouring launches, Student t with 3 degrees of freedom.
        wander: Spread of a level that moves slowly (autocorrelation 0.98 from launch to launch).
        burst: Share of launches that begin a burst, in which everything takes 5 to 40 % longer for five launches or so.
        preempted: Share of iterations that take twice as long.
        drift: How much slower the last launch is than the first, approached exponentially: a device that warms up.
        wave: Every other launch is slower by this: what beats a fixed alternating order.
    """

    name: str
    iteration: float = 0.02
    launch: float = 0.005
    wander: float = 0.02
    burst: float = 0.0
    preempted: float = 0.0
    drift: float = 0.0
    wave: float = 0.0


QUIET = Machine("quiet")
BURSTY = Machine("bursty", iteration=0.027, launch=0.009, wander=0.06, burst=0.03)
CROWDED = Machine("crowded", iteration=0.04, launch=0.0165, wander=0.04, burst=0.03, preempted=0.55)
WARMING = Machine("warming", launch=0.009, burst=0.02, drift=0.10)
WAVING = Machine("waving", wave=0.02)
MACHINES = (QUIET, BURSTY, CROWDED, WARMING, WAVING)


@dataclass(frozen=True, slots=True)
class Change:
    """Effect of the treatment on its iterations.

    Attributes:
        every: Relative change of every iteration.
        tail: Relative change of one iteration in ten.
    """

    every: float = 0.0
    tail: float = 0.0


def iterations(machine: Machine, chance: np.random.Generator, launches: int, each: int = 20) -> Array:
    """Simulate iterations of launches of one program in the order of time, in ms: shape (launches, each)."""
    level = machine.launch * chance.standard_t(3, launches) / np.sqrt(3)
    level += _wander(machine.wander, chance, launches)
    level += _bursts(machine.burst, chance, launches)
    level += np.log1p(machine.drift) * (1 - np.exp(-3 * np.arange(launches) / launches))
    level += np.log1p(machine.wave) * (np.arange(launches) % 2)
    inside = machine.iteration * chance.standard_t(5, (launches, each))
    inside += np.log(2) * (chance.random((launches, each)) < machine.preempted)
    return np.asarray(8.0 * np.exp(level[:, None] + inside))


def changed(samples: Array, treatment: NDArray[np.bool_], change: Change, chance: np.random.Generator) -> Array:
    """Return the same launches, with a change in those of the treatment."""
    factor = 1 + change.every + change.tail * (chance.random(samples.shape) < 0.1)
    return np.asarray(np.where(treatment[:, None], samples * factor, samples))


def figures(samples: Array) -> Array:
    """Return the five statistics of each launch, shape (launches, 5), like `launch_statistics` for many at once."""
    low, quartile, median, p90 = np.percentile(samples, [0, 25, 50, 90], axis=1)
    return np.stack([low, quartile, median, samples.mean(axis=1), p90], axis=1)


def coin(chance: np.random.Generator, launches: int) -> NDArray[np.bool_]:
    """Return a random mask of the treatment's launches: one of each pair of neighbours."""
    first = chance.random(launches // 2) < 0.5
    return np.stack([first, ~first], axis=1).ravel()


def pairs_of(launches: Array, treatment: NDArray[np.bool_], seconds: float = 0.2) -> list[Pair]:
    """Return neighbouring launches as pairs."""
    made = []
    for index in range(len(launches) // 2):
        first, second = (tuple(launches[2 * index + slot].tolist()) for slot in (0, 1))
        control_figures, treatment_figures = (second, first) if treatment[2 * index] else (first, second)
        made.append(
            Pair(
                index=index,
                control_first=not treatment[2 * index],
                control=control_figures,
                treatment=treatment_figures,
                control_launch=index,
                treatment_launch=index,
                seconds=2 * seconds,
            )
        )
    return made


def simulated_pairs(machine: Machine, change: Change, seed: int, pairs: int = 100) -> list[Pair]:
    """Return the pairs of a comparison on a machine, up to its budget."""
    chance = np.random.default_rng(seed)
    samples = iterations(machine, chance, 2 * pairs)
    treatment = coin(chance, 2 * pairs)
    return pairs_of(figures(changed(samples, treatment, change, chance)), treatment)


def _wander(spread: float, chance: np.random.Generator, launches: int) -> Array:
    steps = spread * np.sqrt(1 - 0.98**2) * chance.standard_normal(launches)
    level = np.empty(launches)
    now = spread * chance.standard_normal()
    for index, step in enumerate(steps):
        now = 0.98 * now + step
        level[index] = now
    return level


def _bursts(share: float, chance: np.random.Generator, launches: int) -> Array:
    level = np.zeros(launches)
    for start in np.flatnonzero(chance.random(launches) < share):
        level[start : start + chance.geometric(0.2)] += np.log1p(chance.uniform(0.05, 0.40))
    return level
