"""False alarms and delays of series: this harness beside FAI-PEP's rule and a threshold, on the same launches."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import BURSTY, CROWDED, QUIET, Array, figures, iterations
from tests.benchmarks.bisect.series_rules import RULES, Rule
from tests.benchmarks.figures import claim

SERIES = 60
QUIET_COMMITS = 200
COMMITS = 80
SINCE = 40
LAUNCHES = 20
EFFECTS = (0.01, 0.02, 0.05)
pytestmark = pytest.mark.benchmark


@cache
def launches(name: str) -> Array:
    if name == "recorded":
        return recorded(0).figures()
    machine = {"quiet": QUIET, "bursty": BURSTY, "crowded": CROWDED}[name]
    return 1e6 * figures(iterations(machine, np.random.default_rng(3), 20_000))


def windows(name: str, commits: int, seed: int) -> list[Array]:
    """Return the launches of each commit: neighbours in time, from random positions of the stream."""
    stream = launches(name)
    starts = np.random.default_rng(seed).integers(0, (len(stream) - LAUNCHES) // 2, commits)
    return [stream[2 * start : 2 * start + LAUNCHES] for start in starts]


def false_alarms(rule: Rule, name: str) -> float:
    """Return the false alarms per 100 commits without a change."""
    alarms = sum(
        len(rule(windows(name, QUIET_COMMITS, seed), 0.0, QUIET_COMMITS)) for seed in range(1000, 1000 + SERIES)
    )
    return 100 * alarms / (SERIES * QUIET_COMMITS)


def detection_rate(rule: Rule, name: str, effect: float) -> tuple[float, float]:
    """Return the share of steps that raise an alarm within 20 commits, and their median delay in commits."""
    delays = []
    for seed in range(SERIES):
        alarms = rule(windows(name, COMMITS, seed), effect, SINCE)
        first = next((alarm for alarm in alarms if alarm >= SINCE), None)
        if first is not None and first - SINCE <= 20:
            delays.append(first - SINCE)
    return len(delays) / SERIES, float(np.median(delays)) if delays else float("nan")


@pytest.mark.parametrize("name", ["recorded", "quiet", "bursty", "crowded"])
def test_rules_on_series(name: str) -> None:
    print(f"\n{name} noise, {SERIES} series, {LAUNCHES} launches a commit")
    print("| rule | false alarms per 100 commits | found within 20 commits at 1 / 2 / 5 %, % | median delay, commits |")
    print("| --- | --- | --- | --- |")
    alarms = {}
    for label, rule in RULES.items():
        alarms[label] = false_alarms(rule, name)
        rates = [detection_rate(rule, name, effect) for effect in EFFECTS]
        shares = " / ".join(f"{100 * share:.0f}" for share, _ in rates)
        delays = " / ".join(f"{delay:.0f}" for _, delay in rates)
        print(f"| {label} | {alarms[label]:.2f} | {shares} | {delays} |")
    claim("false alarms per 100 commits", alarms["harness"], 0.03)
