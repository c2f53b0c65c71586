"""False alarms and delays of series: this harness beside FAI-PEP's rule and a threshold, on the same launches."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.analysis.compare.recorded_launches import recorded
from tests.analysis.compare.simulated_launches import (
    BURSTY,
    CROWDED,
    QUIET,
    Array,
    Change,
    changed,
    figures,
    iterations,
)
from tests.benchmarks.bisect.series_rules import RULES, Rule, harness_changes, tail_rule
from tests.benchmarks.figures import claim

SERIES = 60
QUIET_COMMITS = 200
COMMITS = 80
SINCE = 40
LAUNCHES = 20
EFFECTS = (0.01, 0.02, 0.05)
DRIFT = 0.002
"""Each of so many commits is slower than the one before it by this."""
DRIFTING = 20
TAIL = 0.2
MACHINES = {"quiet": QUIET, "bursty": BURSTY, "crowded": CROWDED}
pytestmark = pytest.mark.benchmark


@cache
def samples(name: str) -> Array:
    """Return the iterations of launches on a simulated machine."""
    return iterations(MACHINES[name], np.random.default_rng(3), 20_000)


@cache
def launches(name: str, tail: float = 0.0) -> Array:
    """Return the figures of launches; a tenth of their iterations takes longer by `tail`."""
    if name == "recorded":
        return recorded(0).figures()
    every = np.ones(len(samples(name)), dtype=np.bool_)
    return 1e6 * figures(changed(samples(name), every, Change(tail=tail), np.random.default_rng(4)))


def windows(name: str, commits: int, seed: int, tail: float = 0.0) -> list[Array]:
    """Return the launches of each commit: neighbours in time, from random positions of the stream."""
    stream = launches(name, tail)
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


@pytest.mark.parametrize("name", ["recorded", *MACHINES])
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


def report(label: str, name: str, delays: list[int]) -> float:
    """Print the share of series in which a change was found, with the quartiles of the delays, and return the share."""
    quartiles = " / ".join(f"{value:.0f}" for value in np.percentile(delays, [25, 50, 75])) if delays else "-"
    share = len(delays) / SERIES
    print(f"\n{name} noise, {label}: found {share:.0%}, after {quartiles} commits (quartiles), {SERIES} series")
    return share


@pytest.mark.parametrize("name", ["recorded", *MACHINES])
def test_a_drift_is_found(name: str) -> None:
    effects = [DRIFT * min(DRIFTING, max(0, commit - SINCE + 1)) for commit in range(COMMITS)]
    delays = []
    for seed in range(SERIES):
        numbers = [number for number, _ in harness_changes(windows(name, COMMITS, seed), effects, seed)]
        first = next((number for number in numbers if number >= SINCE), None)
        if first is not None:
            delays.append(first - SINCE + 1)
    share = report(f"+{DRIFT:.1%} per commit over {DRIFTING} commits", name, delays)
    claim("drifts of +4 % in all that were not found", 1 - share, 0.05)


@pytest.mark.parametrize("name", list(MACHINES))
def test_a_longer_tail_is_found(name: str) -> None:
    delays = []
    for seed in range(SERIES):
        control, slower = windows(name, COMMITS, seed), windows(name, COMMITS, seed, TAIL)
        treatment = [*control[:SINCE], *slower[SINCE:]]
        first = next((number for number in tail_rule(treatment, control, seed) if number >= SINCE), None)
        if first is not None and first - SINCE <= 20:
            delays.append(first - SINCE)
    share = report(f"one iteration in ten +{TAIL:.0%}", name, delays)
    if name != "crowded":
        claim("longer tails that were not found", 1 - share, 0.05)
