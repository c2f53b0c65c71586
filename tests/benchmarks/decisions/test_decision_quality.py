"""False alarms, power and cost of every rule, in one table: on simulated machines and on recorded launches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from harness.core.comparison import Verdict
from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import MACHINES, Array, Machine, figures, iterations
from tests.benchmarks.decisions.peers import OURS, RULES, Rule
from tests.benchmarks.figures import claim

BUDGET = 100
"""Launches of a comparison: 50 pairs."""

TRIALS = 400
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.05)
MOST = max(rule.budgets for rule in RULES) * BUDGET
pytestmark = pytest.mark.benchmark


@dataclass(frozen=True, slots=True)
class Quality:
    """How often a rule said what, by effect, in shares of the trials."""

    false_alarms: float
    found: tuple[float, ...]
    pairs: tuple[float, ...]

    def row(self, name: str) -> str:
        power = " / ".join(f"{100 * share:.0f}" for share in self.found[1:])
        pairs = " / ".join(f"{count:.0f}" for count in self.pairs)
        return f"| {name} | {100 * self.false_alarms:.1f} | {power} | {pairs} |"


def quality(rule: Rule, streams: list[Array]) -> Quality:
    """Every stream is one comparison; an effect is a factor on the launches that the rule gives the treatment."""
    alarms, found, pairs = 0, [], []
    for effect in EFFECTS:
        verdicts, used = [], []
        for seed, stream in enumerate(streams):
            launches = rule.budgets * BUDGET
            treatment = rule.order(np.random.default_rng(seed), launches)
            slowed = np.where(treatment[:, None], stream[:launches] * (1 + effect), stream[:launches])
            verdict, count = rule.judge(slowed, treatment)
            verdicts.append(verdict)
            used.append(count)
        if effect == 0.0:
            alarms = sum(verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT) for verdict in verdicts)
        found.append(verdicts.count(Verdict.REGRESSION) / len(streams))
        pairs.append(float(np.mean(used)) / 2)
    return Quality(alarms / len(streams), tuple(found), tuple(pairs))


def table(title: str, streams: list[Array]) -> dict[str, Quality]:
    print(f"\n{title}: {len(streams)} comparisons of {BUDGET // 2} pairs")
    print("| rule | false alarms % | regression found at +0.5 / 1 / 2 / 5 %, % | mean pairs at 0 / 0.5 / 1 / 2 / 5 % |")
    print("| --- | --- | --- | --- |")
    told = {rule.name: quality(rule, streams) for rule in RULES}
    for name, one in told.items():
        print(one.row(name))
    return told


def simulated(machine: Machine) -> Iterator[Array]:
    for seed in range(TRIALS):
        yield 1e6 * figures(iterations(machine, np.random.default_rng(seed), MOST))


def chance_limit(alpha: float, trials: int) -> float:
    """The share of false alarms that an exact test stays below but in one case of a thousand."""
    return alpha + 3.1 * math.sqrt(alpha * (1 - alpha) / trials)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_rules_on_a_simulated_machine(machine: Machine) -> None:
    told = table(f"simulated, {machine.name}", list(simulated(machine)))
    claim("false alarms in either direction", told[OURS.name].false_alarms, chance_limit(0.02, TRIALS))
    if machine.name == "quiet":
        claim("regressions of 2 % that were missed", 1 - told[OURS.name].found[EFFECTS.index(0.02)], 0.01)


def test_rules_on_recorded_launches_of_equal_builds() -> None:
    """Windows of the recording overlap, so the shares are less certain than as many simulated trials."""
    stream = recorded(0).figures()
    starts = np.random.default_rng(1).integers(0, max(1, len(stream) - MOST + 1), TRIALS)
    told = table("recorded A/A, effects imposed", [stream[start : start + MOST] for start in starts])
    claim("false alarms in either direction", told[OURS.name].false_alarms, chance_limit(0.02, TRIALS))


@pytest.mark.parametrize("percent", [1, 2, 5])
def test_builds_that_are_really_slower(percent: int) -> None:
    trace = recorded(percent)
    launches, treatment = trace.figures(), trace.treatment()
    starts = range(0, len(launches) - BUDGET + 1, 2)
    verdicts, used = [], []
    for start in starts:
        window = slice(start, start + BUDGET)
        verdict, count = OURS.judge(launches[window], treatment[window])
        verdicts.append(verdict)
        used.append(count)
    shares = {verdict.value: round(100 * verdicts.count(verdict) / len(verdicts)) for verdict in Verdict}
    print(f"\nreally slower by {percent} %: {shares} % of {len(verdicts)} windows, {np.mean(used) / 2:.0f} pairs")
    claim("called faster", verdicts.count(Verdict.IMPROVEMENT) / len(verdicts), 0.05)
