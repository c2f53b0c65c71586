"""Coverage and width of the intervals at the stop, and what they say beside verdict and estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from harness.analysis.compare.decision import SequentialTest
from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import MACHINES, Array, Machine, coin, figures, iterations, pairs_of
from tests.benchmarks.figures import claim

PARAMETERS = Parameters(seed=0)
LAUNCHES = 2 * PARAMETERS.max_pairs
TRIALS = 200
EFFECTS = (0.0, 0.005, 0.01, 0.02)
Streams = Callable[[], Iterator[Array]]
pytestmark = pytest.mark.benchmark


@dataclass
class Tally:
    """What intervals said at the stop, in comparisons of one effect.

    Attributes:
        pairs: Pairs that were taken.
        widths: Widths of the intervals that have two ends, in points.
        errors: Differences less the truth, in points.
        missed: Intervals without the truth.
        contradictions: Verdicts, differences and intervals that do not agree.
        verdicts: Every verdict.
    """

    pairs: list[int] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    missed: int = 0
    contradictions: int = 0
    verdicts: list[Verdict | None] = field(default_factory=list)

    def add(self, test: SequentialTest, truth: float) -> None:
        """Count one comparison that has stopped."""
        (low, high), difference, verdict = test.interval(), test.difference(), test.decided
        assert difference is not None
        self.pairs.append(test.pairs)
        self.verdicts.append(verdict)
        self.errors.append(100 * (difference - truth))
        if low is not None and high is not None:
            self.widths.append(100 * (high - low))
        below, above = low is not None and low > truth, high is not None and high < truth
        self.missed += below or above
        outside = (low is not None and difference < low) or (high is not None and difference > high)
        holds_zero = (low is None or low <= 0) and (high is None or high >= 0)
        changed = verdict is not None and verdict.is_change
        margin = PARAMETERS.margin
        leaves = verdict is Verdict.NO_CHANGE and (low is None or low < -margin or high is None or high > margin)
        self.contradictions += outside or leaves or holds_zero == changed

    def row(self, effect: float) -> str:
        """Return a row of the table."""
        share = {verdict: 100 * self.verdicts.count(verdict) / len(self.verdicts) for verdict in Verdict}
        return (
            f"| {100 * effect:+.1f} % | {share[Verdict.REGRESSION]:.0f} / {share[Verdict.IMPROVEMENT]:.1f} / "
            f"{share[Verdict.NO_CHANGE]:.0f} | {np.mean(self.pairs):.0f} | {100 * self.missed / len(self.pairs):.1f} | "
            f"{np.median(self.widths):.2f} | {np.mean(self.errors):+.2f} ± {np.std(self.errors):.2f} | "
            f"{self.contradictions} |"
        )


def windows_of(noise: str) -> Iterator[Array]:
    launches = recorded(0, noise).figures()
    for start in np.random.default_rng(1).integers(0, len(launches) - LAUNCHES + 1, TRIALS):
        yield launches[start : start + LAUNCHES]


def stopped(stream: Array, treatment: np.ndarray[tuple[int], np.dtype[np.bool_]], effect: float) -> SequentialTest:
    """Return the test of a comparison of a treatment that is slower by an effect, at its end."""
    test = SequentialTest(PARAMETERS, higher_is_better=False)
    for pair in pairs_of(np.where(treatment[:, None], stream * (1 + effect), stream), treatment):
        test.add(pair)
        if test.verdict() is not None:
            break
    return test


def simulated(machine: Machine) -> Iterator[Array]:
    for seed in range(TRIALS):
        yield figures(iterations(machine, np.random.default_rng(seed), LAUNCHES))


SOURCES: dict[str, Streams] = {
    **{f"recorded, {noise or 'shared'}": partial(windows_of, noise) for noise in ("", "busy", "bursty")},
    **{f"simulated, {machine.name}": partial(simulated, machine) for machine in MACHINES},
}


@pytest.mark.parametrize("source", SOURCES)
def test_intervals_at_the_stop(source: str) -> None:
    print(f"\n{source}: {TRIALS} comparisons")
    print("| effect | worse / better / no change % | pairs | missed % | width | error | contradictions |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    missed, contradictions = 0, 0
    for effect in EFFECTS:
        tally = Tally()
        for seed, stream in enumerate(SOURCES[source]()):
            tally.add(stopped(stream, coin(np.random.default_rng(seed), LAUNCHES), effect), effect)
        print(tally.row(effect), flush=True)
        missed += tally.missed
        contradictions += tally.contradictions
    claim("intervals that miss the truth", missed / (TRIALS * len(EFFECTS)), 0.05)
    claim("contradictions", contradictions, 0)
