"""Rules that raise alarms on a series of commits, each with the launches of ten pairs a commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from harness.analysis.trend.changes import find_changes
from harness.core.change import Change
from harness.core.comparison import STATISTICS
from tests.analysis.compare.simulated_launches import Array, coin
from tests.analysis.trend.made_series import figures_point, paired_figures, series

_MEDIAN, _MEAN = STATISTICS.index("median"), STATISTICS.index("mean")
_FEWEST_RUNS, _RUNS, _LATEST = 5, 12, 2

Rule = Callable[[Sequence[Array], float, int], list[int]]
"""Numbers of the commits at which it raises an alarm, from figures (launches, 5) of each commit; commits from a number
on are slower by so much."""


def harness_rule(windows: Sequence[Array], effect: float, since: int) -> list[int]:
    """This harness: a ratio to the pinned control from pairs in tossed order, then its changes for the worse."""
    return [
        number for number, _ in harness_changes(windows, [effect * (i >= since) for i in range(len(windows))], since)
    ]


def harness_changes(windows: Sequence[Array], effects: Sequence[float], seed: int) -> list[tuple[int, Change]]:
    """Return the changes for the worse that this harness finds, with the numbers of the commits that showed them.

    Args:
        windows: Figures (launches, 5) of each commit.
        effects: How much slower each commit is.
        seed: Of the coins.
    """
    chance = np.random.default_rng(seed)
    points = []
    for number, (window, effect) in enumerate(zip(windows, effects, strict=True)):
        sides = np.where(coin(chance, len(window))[0::2], 1, -1)[:, None] * paired_figures(window)
        points.append(figures_point(number + 1, sides + np.log1p(effect)))
    changes = find_changes(series(points)).changes
    return [(int(change.detected_with[1:]) - 1, change) for change in changes if change.is_worse]


def tail_rule(windows: Sequence[Array], control_windows: Sequence[Array], seed: int) -> list[int]:
    """This harness, where treatments have launches of their own: figures of pairs of control and treatment."""
    chance = np.random.default_rng(seed)
    points = []
    for number, (treatment, control) in enumerate(zip(windows, control_windows, strict=True)):
        first = coin(chance, len(treatment))[0::2, None]
        pairs = np.where(first, treatment[0::2], treatment[1::2]), np.where(first, control[1::2], control[0::2])
        points.append(figures_point(number + 1, np.log(pairs[0]) - np.log(pairs[1])))
    return [int(change.detected_with[1:]) - 1 for change in find_changes(series(points)).changes if change.is_worse]


def threshold(windows: Sequence[Array], effect: float, since: int) -> list[int]:
    """5 % on the ratio of means, all of the treatment before all of the control."""
    above = [_mean_ratio(window, effect * (number >= since)) > 1.05 for number, window in enumerate(windows)]
    return _risings(above)


def fai_pep(windows: Sequence[Array], effect: float, since: int) -> list[int]:
    """FAI-PEP's delay detector as it was meant: the last two runs above the widest of those among the twelve before."""
    runs = [_differences(window, effect * (number >= since)) for number, window in enumerate(windows)]
    alarms = []
    for number in range(len(runs)):
        earlier = sorted(widest for _, widest in runs[max(0, number - _RUNS + 1) : max(0, number - _LATEST + 1)])
        if len(earlier) < _FEWEST_RUNS:
            alarms.append(False)
            continue
        limit = earlier[len(earlier) * 9 // 10] + int((earlier[-1] - earlier[0]) / 10)
        alarms.append(all(middle > limit for middle, _ in runs[number - _LATEST + 1 : number + 1]))
    return _risings(alarms)


def _differences(window: Array, effect: float) -> tuple[float, float]:
    """Treatment's median minus control's, and treatment's p90 minus control's p10, in ns."""
    half = len(window) // 2
    treatment, control = window[:half, _MEDIAN] * (1 + effect), window[half:, _MEDIAN]
    middle = float(np.median(treatment) - np.median(control))
    return middle, float(np.percentile(treatment, 90) - np.percentile(control, 10))


def _mean_ratio(window: Array, effect: float) -> float:
    half = len(window) // 2
    return float(window[:half, _MEAN].mean() * (1 + effect) / window[half:, _MEAN].mean())


def _risings(alarms: Sequence[bool]) -> list[int]:
    """Return the commits at which an alarm begins."""
    return [number for number, (before, now) in enumerate(pairwise([False, *alarms])) if now and not before]


RULES: dict[str, Rule] = {
    "harness": harness_rule,
    "FAI-PEP's delay detector": fai_pep,
    "5 % threshold, blocked": threshold,
}
