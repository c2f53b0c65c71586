"""False alarms, power and cost of every rule, in one table: on simulated machines and on recorded launches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from harness.core.comparison import Parameters
from harness.core.verdict import Verdict
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import MACHINES, QUIET, WARMING, Array, Machine, figures, iterations
from tests.benchmarks.decisions.peers import OURS, RULES, Rule
from tests.benchmarks.figures import claim

PARAMETERS = Parameters(seed=0)
BUDGET = 2 * PARAMETERS.max_pairs
"""Launches of a comparison: what the harness spends at most, and what every other rule gets."""

TRIALS = 400
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.05)
MOST = max(rule.budgets for rule in RULES) * BUDGET
pytestmark = pytest.mark.benchmark


@dataclass(frozen=True, slots=True)
class Quality:
    """Rates of the verdicts of a rule by effect, in shares of the trials.

    Attributes:
        slower: Equal builds that were called different, with a slower treatment.
        faster: The same, with a faster treatment.
        found: Regressions, by effect.
        pairs: Pairs that were needed on average, by effect.
    """

    slower: float
    faster: float
    found: tuple[float, ...]
    pairs: tuple[float, ...]

    def row(self, name: str) -> str:
        power = " / ".join(f"{100 * share:.0f}" for share in self.found[1:])
        pairs = " / ".join(f"{count:.0f}" for count in self.pairs)
        return f"| {name} | {100 * self.slower:.1f} + {100 * self.faster:.1f} | {power} | {pairs} |"

    def missed(self, effect: float) -> float:
        """Return the share of the regressions by `effect` that were not found."""
        return 1 - self.found[EFFECTS.index(effect)]


def quality(rule: Rule, streams: list[Array]) -> Quality:
    """Every stream is one comparison; an effect is a factor on the launches that the rule gives the treatment."""
    slower, faster, found, pairs = 0.0, 0.0, [], []
    for effect in EFFECTS:
        verdicts, used = [], []
        for seed, stream in enumerate(streams):
            launches = rule.budgets * BUDGET
            treatment = rule.order(np.random.default_rng(seed), launches)
            slowed = np.where(treatment[:, None], stream[:launches] * (1 + effect), stream[:launches])
            verdict, count = rule.test(slowed, treatment)
            verdicts.append(verdict)
            used.append(count)
        if effect == 0.0:
            slower, faster = (
                verdicts.count(verdict) / len(verdicts) for verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT)
            )
        found.append(verdicts.count(Verdict.REGRESSION) / len(streams))
        pairs.append(float(np.mean(used)) / 2)
    return Quality(slower, faster, tuple(found), tuple(pairs))


def table(title: str, streams: list[Array]) -> dict[str, Quality]:
    print(f"\n{title}: {len(streams)} comparisons of {BUDGET // 2} pairs")
    print("| rule | false slower + faster % | found % of +0.5 / 1 / 2 / 5 % | mean pairs at 0 / 0.5 / 1 / 2 / 5 % |")
    print("| --- | --- | --- | --- |")
    qualities = {rule.name: quality(rule, streams) for rule in RULES}
    for name, rule_quality in qualities.items():
        print(rule_quality.row(name))
    return qualities


def simulated(machine: Machine) -> Iterator[Array]:
    for seed in range(TRIALS):
        yield 1e6 * figures(iterations(machine, np.random.default_rng(seed), MOST))


def windows(stream: Array) -> list[Array]:
    """Comparisons out of one recording, each with tosses of its own.

    They overlap, so the shares are less certain than those of as many simulated trials. Only FAI-PEP's history of five
    budgets can reach beyond the end of a recording, and goes on at its beginning.
    """
    starts = np.random.default_rng(1).integers(0, len(stream) - BUDGET + 1, TRIALS)
    return [stream.take(range(start, start + MOST), axis=0, mode="wrap") for start in starts]


def claim_few_false_alarms(rule_quality: Quality) -> None:
    limit = chance_limit(PARAMETERS.alpha, TRIALS)
    claim("equal builds called slower", rule_quality.slower, limit)
    claim("equal builds called faster", rule_quality.faster, limit)


def claim_power(rule_quality: Quality) -> None:
    claim("regressions of 1 % that were missed", rule_quality.missed(0.01), 0.05)
    claim("regressions of 2 % that were missed", rule_quality.missed(0.02), 0.01)


def chance_limit(alpha: float, trials: int) -> float:
    """The share of false alarms that an exact test stays below but in one case of a thousand."""
    return alpha + 3.1 * math.sqrt(alpha * (1 - alpha) / trials)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_rules_on_a_simulated_machine(machine: Machine) -> None:
    harness_quality = table(f"simulated, {machine.name}", list(simulated(machine)))[OURS.name]
    claim_few_false_alarms(harness_quality)
    if machine in (QUIET, WARMING):  # on the others the noise of a hundred pairs hides 1 %: the table says how often
        claim_power(harness_quality)


@pytest.mark.parametrize("noise", ["", "busy", "bursty"])
def test_rules_on_recorded_launches_of_equal_builds(noise: str) -> None:
    streams = windows(recorded(0, noise).figures())
    harness_quality = table(f"recorded A/A, {noise or 'shared'}, effects imposed", streams)[OURS.name]
    claim_few_false_alarms(harness_quality)
    claim_power(harness_quality)


@pytest.mark.parametrize(("noise", "percent"), [*itertools.product(("", "busy"), (1, 2, 5)), ("bursty", 1)])
def test_builds_that_are_really_slower(noise: str, percent: int) -> None:
    """The order was randomised when the launches were recorded, and cannot be randomised again."""
    trace = recorded(percent, noise)
    launches, treatment = trace.figures(), trace.treatment()
    starts = range(0, len(launches) - BUDGET + 1, 2)
    verdicts, used = [], []
    for start in starts:
        window = slice(start, start + BUDGET)
        verdict, count = OURS.test(launches[window], treatment[window])
        verdicts.append(verdict)
        used.append(count)
    shares = {verdict.value: round(100 * verdicts.count(verdict) / len(verdicts)) for verdict in Verdict}
    name = f"really slower by {percent} %, {noise or 'shared'}"
    print(f"\n{name}: {shares} % of {len(verdicts)} windows, {np.mean(used) / 2:.0f} pairs")
    claim("called faster", verdicts.count(Verdict.IMPROVEMENT) / len(verdicts), 0.05)
