"""Launches of a real runner, recorded by `tests.benchmarks.decisions.record_traces`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.core.comparison import Pair
from harness.core.values import Value
from tests.analysis.compare.simulated_launches import Array, pairs_of

FOLDER = Path(__file__).parent / "traces"


class RecordedLaunch(NamedTuple):
    """One launch.

    Attributes:
        treatment: Whether it was the slowed side's.
        statistics_ns: `harness.core.comparison.STATISTICS` of its latency.
        seconds: From start to end.
    """

    treatment: bool
    statistics_ns: tuple[int, ...]
    seconds: float


class Trace(Value):
    """Recording, and how it was made.

    Attributes:
        made_by: The module that recorded it.
        machine: What it was recorded on.
        load_before_and_after: Load average of one minute.
        beside: What else the machine did.
        model: The program that was executed, with one thread.
        warmup: Warm-up iterations of each launch.
        iterations: Timed iterations of each launch.
        seed: Of the coin.
        slower_percent: How much of its execution time the treatment spun in addition; 0 is A/A.
        launches: In the order of time; neighbours are pairs.
    """

    made_by: str
    machine: str
    load_before_and_after: tuple[float, float]
    beside: str = ""
    model: str
    warmup: int
    iterations: int
    seed: int
    slower_percent: float
    launches: tuple[RecordedLaunch, ...]

    def figures(self) -> Array:
        """Return the statistics of each launch: shape (launches, 5), ns."""
        return np.array([launch.statistics_ns for launch in self.launches], dtype=np.float64)

    def treatment(self) -> NDArray[np.bool_]:
        """Return the mask of the treatment's launches."""
        return np.array([launch.treatment for launch in self.launches])

    def pairs(self) -> list[Pair]:
        """Return the pairs in the order in which they were measured."""
        return pairs_of(self.figures(), self.treatment())


def recorded(slower_percent: float, noise: str = "") -> Trace:
    """Load the recording of a treatment that was really slower by a known percentage.

    Args:
        slower_percent: 0, 1, 2 or 5.
        noise: What disturbed it: nothing in particular, `busy` (longer recordings, beside tests and compilers) or
            `bursty` (a neighbour on the same CPU; 0 and 1 only).
    """
    file = FOLDER / noise / f"mv2-xnnpack_q8-slower-{slower_percent:g}.json"
    return Trace.model_validate_json(file.read_text())
