"""Shape of a change in a series: where it is, how large in each figure, and between which commits it surely is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from harness.analysis.trend.progress import ChangeShape, CommitPlace
from harness.analysis.trend.samples import FigureTrack, Stretch
from harness.analysis.trend.segmentation import DetectionThresholds, Shape, find_change_point, fit_shape, fit_size

_OF_BRACKET: Final = 3.0
"""Standard errors by which a commit at an end of a bracket must differ from those beyond the change."""

_FEWEST: Final = 3
"""Fewest samples in which there may be a change."""


def allowed_starts(track: FigureTrack) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each sample whether a new level may begin with it: not between two samples of one commit."""
    return np.asarray(np.diff(track.orders, prepend=-math.inf) > 0)


def fit_change(
    kept: Stretch,
    figure: int,
    window: tuple[int, int],
    limits: tuple[int | None, int | None],
    thresholds: DetectionThresholds,
) -> ChangeShape:
    """Fit the one change between two numbers of samples.

    Args:
        kept: Samples of the series.
        figure: The figure that shows the change.
        window: Number of the first sample to use, and of the one behind the last.
        limits: Places in the history where the change before it ends, and where the one behind it begins.
        thresholds: Thresholds of detection.
    """
    part, shape = _fit_without_earlier_step(kept.tracks[figure].between(*window), thresholds)
    start, end = int(part.numbers[shape.start]), int(part.numbers[shape.end])
    before, after = (CommitPlace(commit=kept.sample(at).commit, order=kept.sample(at).order) for at in (start, end))
    first = int(part.numbers[0])
    sizes = [_size_in(track.between(first, window[1]), before.order, after.order) for track in kept.tracks]
    last_without, first_with = _surely_between(kept, figure, before, after, limits=limits, log_ratio=shape.log_ratio)
    return ChangeShape(
        first=first,
        start=start,
        end=end,
        before=before,
        after=after,
        last_without=last_without,
        first_with=first_with,
        is_drift=shape.is_drift,
        old=tuple(old for old, _ in sizes),
        log_ratios=tuple(size for _, size in sizes),
        error=shape.error,
    )


def _fit_without_earlier_step(track: FigureTrack, thresholds: DetectionThresholds) -> tuple[FigureTrack, Shape]:
    """Fit a change, with its old level taken from behind any step before it that was too young to be detected."""
    while True:
        shape = fit_shape(track.orders, track.levels, track.errors)
        old = track.between(int(track.numbers[0]), int(track.numbers[shape.start]) + 1)
        if shape.is_drift or old.numbers.size < _FEWEST:
            return track, shape
        change_point = find_change_point(old.levels, old.errors, old.is_exact, allowed_starts(old), thresholds)
        if change_point is None:
            return track, shape
        track = track.between(int(old.numbers[change_point.index]))


def _size_in(track: FigureTrack, before: int, after: int) -> tuple[float | None, float | None]:
    """Return the old level and the size of a change in a figure; None where the figure is not known on both sides."""
    if not track.numbers.size or track.orders[0] > before or track.orders[-1] < after:
        return None, None
    old, size, _ = fit_size(track.orders, track.levels, track.errors, (before, after))
    return old, size


def _surely_between(
    kept: Stretch,
    figure: int,
    before: CommitPlace,
    after: CommitPlace,
    *,
    limits: tuple[int | None, int | None],
    log_ratio: float,
) -> tuple[str, str]:
    """Return the commits between which a change surely is.

    The place where a series changes most is the likeliest, but a small step beside noise is easily taken for one a few
    commits away: that the best change point is m commits off has a chance of about that of a normal value beyond
    sqrt(m) size / (2 error) (Hinkley, Biometrika 57, 1970). A bracket reaches neither into the change beside it
    nor beyond a commit that is the same bytes as its control.
    """
    track = kept.tracks[figure]
    orders = {sample.commit: sample.order for sample in kept.samples if not sample.is_later_control}
    orders |= {before.commit: before.order, after.commit: after.order}
    commits = sorted(orders, key=orders.__getitem__)
    measured = track.errors[~track.is_exact]
    error = float(np.median(measured)) if measured.size else 0.0
    margin = math.ceil(min(len(commits), (2 * _OF_BRACKET * error / abs(log_ratio or math.inf)) ** 2))
    first, last = commits.index(before.commit), commits.index(after.commit)
    lowest = 0 if limits[0] is None else _first_at(commits, orders, limits[0])
    highest = len(commits) - 1 if limits[1] is None else _first_at(commits, orders, limits[1])
    exact = [number for number, commit in enumerate(commits) if commit in _same_bytes(kept, figure)]
    lowest = max([lowest, *(number for number in exact if number <= first)])
    highest = min([highest, *(number for number in exact if number >= last)])
    return commits[max(first - margin, min(first, lowest))], commits[min(last + margin, max(last, highest))]


def _same_bytes(kept: Stretch, figure: int) -> set[str]:
    """Return the commits that were not measured, because they are the same bytes as their control."""
    return {
        sample.commit
        for sample in kept.samples
        if not sample.is_later_control and sample.levels[figure] is not None and sample.errors[figure] is None
    }


def _first_at(commits: Sequence[str], orders: dict[str, int], order: int) -> int:
    """Return the number of the first commit at a place in the history or behind it."""
    return next((number for number, commit in enumerate(commits) if orders[commit] >= order), len(commits) - 1)
