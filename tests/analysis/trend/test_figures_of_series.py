"""Changes in any of the five figures of a launch, and regressions that a single comparison proves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from harness.analysis.trend.changes import TrendReader, find_changes
from harness.core.change import ChangeKind, Trend
from harness.core.comparison import STATISTICS
from harness.core.effect import Effect
from harness.core.series import FigureEffect, SeriesPoint
from harness.core.verdict import Verdict
from tests.analysis.compare.simulated_launches import QUIET, Change, changed, coin, figures, iterations
from tests.analysis.trend.made_series import KEY, clear_points, figures_point, made_point, series

ERRORS = (0.002, 0.002, 0.002, 0.004, 0.01)


def points_with(levels: Sequence[Sequence[float]], *, first: int = 1) -> list[SeriesPoint]:
    """Return points whose five figures have given log ratios, with a tenth of their errors as noise."""
    points = []
    for order, row in enumerate(levels, start=first):
        noise = np.cos(2.4 * order + np.arange(len(STATISTICS)))
        effects = tuple(
            FigureEffect(log_ratio=level + 0.1 * error * float(wave), standard_error=error)
            for level, error, wave in zip(row, ERRORS, noise, strict=True)
        )
        point = made_point(order, effects[1].log_ratio, ERRORS[1])
        points.append(point.model_copy(update={"figures": effects}))
    return points


def with_verdict(point: SeriesPoint, verdict: Verdict = Verdict.REGRESSION) -> SeriesPoint:
    return point.model_copy(update={"verdict": verdict})


TAIL = (0.0, 0.0, 0.0, 0.02, 0.18)


def test_a_change_of_the_tail_alone_is_a_step() -> None:
    (change,) = find_changes(series(points_with([(0.0,) * 5] * 20 + [TAIL] * 10))).changes
    assert (change.kind, change.before, change.after) == (ChangeKind.STEP, "c20", "c21")
    assert change.figure in {"mean", "p90"}
    assert change.effect.log_ratio == pytest.approx(TAIL[STATISTICS.index(change.figure)], abs=0.002)


def test_a_change_of_every_figure_is_one_change_of_the_better_quartile() -> None:
    (change,) = find_changes(series(points_with([(0.0,) * 5] * 20 + [(0.03,) * 5] * 10))).changes
    assert change.figure == "p25"


def test_the_figures_of_a_rate_are_named_by_their_mirrors() -> None:
    points = points_with([(0.0,) * 5] * 20 + [(0.0, 0.0, 0.0, -0.02, -0.18)] * 10)
    (change,) = find_changes(series(points, higher_is_better=True)).changes
    assert change.kind is ChangeKind.STEP
    assert change.figure in {"mean", "p10"}


def test_a_tail_that_is_back_recovers_the_tail_and_not_the_step_before_it() -> None:
    both = tuple(0.03 + part for part in TAIL)
    points = points_with([(0.0,) * 5] * 20 + [(0.03,) * 5] * 15 + [both] * 15 + [(0.03,) * 5] * 15)
    step, tail, back = find_changes(series(points)).changes
    assert (step.figure, tail.kind, back.kind) == ("p25", ChangeKind.STEP, ChangeKind.RECOVERY)
    assert back.recovers == (tail.identity,)


def test_points_with_one_figure_are_continued_by_points_with_five() -> None:
    old = clear_points([0.0] * 20)
    assert not find_changes(series([*old, *points_with([(0.0,) * 5] * 20, first=21)])).changes
    later = points_with([(0.0,) * 5] * 10 + [TAIL] * 10, first=21)
    (change,) = find_changes(series([*old, *later])).changes
    assert (change.before, change.after) == ("c30", "c31")
    (change,) = find_changes(series([*old, *points_with([(0.03,) * 5] * 10, first=21)])).changes
    assert (change.before, change.after, change.figure) == ("c20", "c21", "p25")


def test_a_tail_of_recorded_size_is_found_where_the_quartile_shows_nothing() -> None:
    chance = np.random.default_rng(1)
    points = []
    for order in range(1, 41):
        treatment = coin(chance, 20)
        launches = iterations(QUIET, chance, 20)
        if order > 20:
            launches = changed(launches, treatment, Change(tail=0.2), chance)
        logs = np.log(figures(launches))
        sides = np.where(treatment[0::2], 1, -1)[:, None]
        points.append(figures_point(order, sides * (logs[0::2] - logs[1::2])))
    (change,) = find_changes(series(points)).changes
    assert change.figure in {"mean", "p90"}
    assert not find_changes(series([point.model_copy(update={"figures": ()}) for point in points])).changes


def test_a_regression_that_the_series_does_not_show_is_a_suspicion() -> None:
    points = [*points_with([(0.0,) * 5] * 10), *points_with([(0.008,) * 5], first=11)]
    points[-1] = with_verdict(points[-1])
    trend = find_changes(series(points))
    assert trend.changes == ()
    assert trend.suspicion is not None
    assert (trend.suspicion.kind, trend.suspicion.first_with) == (ChangeKind.STEP, "c11")
    assert trend.suspicion.effect.log_ratio == pytest.approx(0.008, abs=0.003)


def test_a_regression_of_the_first_commit_is_a_suspicion_against_the_control() -> None:
    (point,) = points_with([(0.007,) * 5])
    suspicion = find_changes(series([with_verdict(point)])).suspicion
    assert suspicion is not None
    assert (suspicion.last_without, suspicion.first_with) == ("c0", "c1")


def test_a_regression_below_the_smallest_size_is_no_suspicion() -> None:
    points = points_with([(0.003, 0.003, 0.003, 0.003, 0.003)] * 5)
    assert find_changes(series([with_verdict(point) for point in points])).suspicion is None


def test_a_known_change_explains_the_regressions_behind_it() -> None:
    points = points_with([(0.0,) * 5] * 10 + [(0.03,) * 5] * 10)
    trends = suspicions_of([with_verdict(point) if point.order > 10 else point for point in points])
    assert all(trend.suspicion is None for trend in trends[11:])


def test_a_suspicion_lasts_while_every_comparison_is_a_regression() -> None:
    points = points_with([(0.0,) * 5] * 10 + [(0.0065,) * 5] * 4)
    trends = suspicions_of([with_verdict(point) if point.order > 10 else point for point in points])
    assert [trend.suspicion is not None for trend in trends[10:13]] == [True, False, False]


def test_a_change_covers_the_suspicions_that_it_explains() -> None:
    points = points_with([(0.0,) * 5] * 10 + [(0.0065,) * 5] * 25)
    trends = suspicions_of([with_verdict(point) if point.order == 11 else point for point in points])
    suspicion = trends[10].suspicion
    assert suspicion is not None
    (change,) = trends[-1].changes
    assert change.covers == (suspicion.identity,)
    assert change.identity != suspicion.identity


def suspicions_of(points: Sequence[SeriesPoint]) -> list[Trend]:
    """Return what a series shows after each of its points."""
    reader = TrendReader(KEY)
    trends = []
    for point in points:
        reader.add(point)
        trends.append(reader.trend())
    return trends


def test_two_measurements_of_the_first_commit_show_a_difference_from_the_control() -> None:
    points = [made_point(1, 0.661, 0.002), made_point(1, 0.638, 0.002)]
    (change,) = find_changes(series(points)).changes
    assert (change.before, change.after) == ("c0", "c1")
    assert change.effect.log_ratio == pytest.approx(0.65, abs=0.02)


def test_a_single_measurement_of_the_first_commit_is_measured_again() -> None:
    trend = find_changes(series([made_point(1, 0.661, 0.002)]))
    assert not trend.changes
    assert trend.outlier is not None


def test_neighbouring_steps_do_not_share_their_sizes() -> None:
    levels = [0.661, 0.638, *[0.003 * (number % 2) for number in range(10)]]
    points = [made_point(order, level, 0.002) for order, level in enumerate(levels, start=1)]
    for end in range(5, len(points) + 1):
        step, back = find_changes(series(points[:end])).changes
        assert step.effect.log_ratio == pytest.approx(0.65, abs=0.02)
        assert back.effect.log_ratio == pytest.approx(-0.65, abs=0.02)
        assert (back.before, back.after) == ("c2", "c3")


@pytest.mark.parametrize("gap", [2, 3, 5])
def test_steps_close_to_each_other_are_measured_each_by_itself(gap: int) -> None:
    points = clear_points([0.0] * 20 + [0.3] * gap + [0.1] * 20)
    step, back = find_changes(series(points)).changes
    assert (step.before, step.after, back.after) == ("c20", "c21", f"c{21 + gap}")
    assert step.effect.log_ratio == pytest.approx(0.3, abs=0.003)
    assert back.effect.log_ratio == pytest.approx(-0.2, abs=0.003)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_reader_goes_on_where_another_one_stopped() -> None:
    points = points_with([(0.0,) * 5] * 150 + [(0.02,) * 5] * 150 + [TAIL] * 100 + [(0.0,) * 5] * 50)
    points = [with_verdict(point) if point.order % 7 == 0 else point for point in points]
    whole = TrendReader(KEY)
    reader = TrendReader(KEY)
    for point in points:
        whole.add(point)
        reader = TrendReader(KEY, reader.progress)
        reader.add(point)
    assert reader.trend() == whole.trend()
    assert len(reader.trend().changes) == 3
    assert reader.trend() == find_changes(series(points))


def test_what_a_reader_keeps_does_not_grow_with_the_history() -> None:
    points = points_with([(0.0,) * 5] * 800)
    sizes = []
    reader = TrendReader(KEY)
    for point in points:
        reader.add(point)
        sizes.append(len(reader.progress) if point.order in {400, 800} else 0)
    assert 0 < sizes[799] < 1.05 * sizes[399]


def test_a_reader_refuses_the_progress_of_other_rules() -> None:
    progress = TrendReader(KEY).progress.replace('"version":1', '"version":0')
    with pytest.raises(ValueError, match="version 0"):
        TrendReader(KEY, progress)


def test_identical_programs_are_a_point_in_every_figure() -> None:
    same = made_point(11, 0.0, None, pairs=0).model_copy(update={"effect": Effect(log_ratio=0.0)})
    points = [*points_with([(0.0,) * 5] * 10), same, *points_with([TAIL] * 5, first=12)]
    (change,) = find_changes(series(points)).changes
    assert (change.before, change.after) == ("c11", "c12")
