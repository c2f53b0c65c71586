"""Statistics of scores of classes: divergence, agreement, accuracy and McNemar's test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.accuracy.gaps import HIGHER, LOWER, build_statistic
from harness.analysis.accuracy.intervals import (
    Interval,
    mcnemar_p_value,
    mean_interval,
    paired_difference_interval,
    proportion_interval,
)
from harness.analysis.accuracy.sample_sizes import examples_for_difference, examples_for_proportion
from harness.analysis.accuracy.scores import TOP, ScoreCounts
from harness.core.evaluation import McNemar, Statistic
from harness.core.examples import Scores

_INFINITE: Final = "the stage gives the probability 0 to a class to which the reference gives more"
_NO_EXAMPLES: Final = "no example has finite scores"


def agreement_statistics(counts: ScoreCounts, scores: Scores) -> tuple[Statistic, ...]:
    """Return divergences and agreements of a stage with its reference."""
    table = np.array(counts.divergences(scores), dtype=np.float64).reshape(-1, 2)
    divergences, entropies = table.T
    return (
        _mean("kl_divergence", divergences),
        _mean("cross_entropy", divergences + entropies),
        *(
            _share(f"top{top}_agreement", counts, [rank < top for rank in counts.agreement_ranks])
            for top in _tops(counts)
        ),
    )


def accuracy_statistics(counts: ScoreCounts) -> tuple[Statistic, ...]:
    """Return accuracies of a stage and of its reference on the same examples, and their difference; or nothing."""
    if not counts.label_ranks:
        return ()
    gained, lost, pairs = *_discordant(counts), len(counts.label_ranks)
    ends = paired_difference_interval(gained, lost, pairs)
    difference = build_statistic(("top1_accuracy_difference", "", HIGHER), pairs, (gained - lost) / pairs, ends)
    needed = examples_for_difference((gained + lost) / pairs)
    return (
        *(_accuracy(f"top{top}_accuracy", counts, 1, top) for top in _tops(counts)),
        *(_accuracy(f"reference_top{top}_accuracy", counts, 0, top) for top in _tops(counts)),
        difference.model_copy(update={"examples_for_a_point": needed}),
    )


def own_accuracy_statistics(counts: ScoreCounts) -> tuple[Statistic, ...]:
    """Return accuracies of a stage without a reference; nothing without labels."""
    return tuple(_accuracy(f"top{top}_accuracy", counts, 1, top) for top in _tops(counts) if counts.label_ranks)


def run_mcnemar(counts: ScoreCounts) -> McNemar | None:
    """Return McNemar's exact test of the top-1 accuracies; None without labels."""
    if not counts.label_ranks:
        return None
    gained, lost = _discordant(counts)
    return McNemar(reference_only=lost, stage_only=gained, p_value=mcnemar_p_value(gained, lost))


def _discordant(counts: ScoreCounts) -> tuple[int, int]:
    """Return on how many rows only the stage is right, and only the reference."""
    right = [(reference == 0, stage == 0) for reference, stage in counts.label_ranks]
    return right.count((False, True)), right.count((True, False))


def _tops(counts: ScoreCounts) -> tuple[int, ...]:
    """Return the numbers of choices: five of five classes would always be right."""
    return (1, TOP) if counts.classes > TOP else (1,)


def _accuracy(name: str, counts: ScoreCounts, side: int, top: int) -> Statistic:
    return _share(name, counts, [ranks[side] < top for ranks in counts.label_ranks])


def _share(name: str, counts: ScoreCounts, hits: Sequence[bool]) -> Statistic:
    """Return a share of rows. Rows of dense outputs are not independent: there the unit is the example."""
    if not counts.is_dense:
        share = sum(hits) / len(hits)
        statistic = build_statistic((name, "", HIGHER), len(hits), share, proportion_interval(sum(hits), len(hits)))
        return statistic.model_copy(update={"examples_for_a_point": examples_for_proportion(share)})
    misses: NDArray[np.float64] = 1.0 - np.array(hits, dtype=np.float64).reshape(-1, counts.rows).mean(axis=1)
    ends = mean_interval(misses)
    ends = ends and Interval(max(1 - ends.high, 0.0), 1 - ends.low)
    return build_statistic((name, "", HIGHER), len(misses), 1 - float(misses.mean()), ends)


def _mean(name: str, values: NDArray[np.float64]) -> Statistic:
    if not len(values):
        return build_statistic((name, "nat", LOWER), 0, None, reason=_NO_EXAMPLES)
    if not np.isfinite(values).all():
        return build_statistic((name, "nat", LOWER), len(values), math.inf, reason=_INFINITE)
    return build_statistic((name, "nat", LOWER), len(values), float(values.mean()), mean_interval(values))
