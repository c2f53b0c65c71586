"""Changes found in series: steps, drifts and recoveries, and none without a change."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.trend.changes import find_changes
from harness.analysis.trend.segmentation import DetectionThresholds
from harness.core.change import Change, ChangeKind, Trend
from harness.core.series import Series, SeriesPoint
from tests.analysis.compare.simulated_launches import BURSTY, figures, iterations
from tests.analysis.trend.made_series import (
    KEY,
    at_level,
    clear_points,
    log_ratio_of_point,
    made_point,
    noisy_points,
    paired,
    recorded_noise,
    series,
)

STEP = [0.0] * 20 + [0.03] * 20
IDENTITY_OF_STEP = "222b61e870c95ad7-mobilene"
"""Identities are stored with alarms: one that changes raises an alarm a second time."""


def kinds(trend: Trend) -> list[ChangeKind]:
    return [change.kind for change in trend.changes]


def test_a_short_series_shows_no_change() -> None:
    assert find_changes(series([])) == Trend()
    begun = find_changes(series(clear_points([0.0])))
    assert not begun.changes
    assert begun.outlier is None


def test_a_step_is_found_once_with_its_position_and_size() -> None:
    (change,) = find_changes(series(clear_points(STEP))).changes
    assert change.kind is ChangeKind.STEP
    assert (change.before, change.after) == ("c20", "c21")
    assert change.effect.log_ratio == pytest.approx(0.03, abs=1e-3)
    assert change.effect.low_log_ratio is not None
    assert change.effect.high_log_ratio is not None
    assert change.effect.low_log_ratio < change.effect.log_ratio < change.effect.high_log_ratio
    assert change.score >= DetectionThresholds().score


def test_a_step_of_twelve_errors_is_found_with_the_second_commit() -> None:
    (change,) = find_changes(series(clear_points(STEP))).changes
    assert change.detected_with == "c22"


def test_an_improvement_is_found() -> None:
    trend = find_changes(series(clear_points([0.0] * 20 + [-0.03] * 10)))
    assert kinds(trend) == [ChangeKind.IMPROVEMENT]
    assert trend.level_log_ratio == pytest.approx(-0.03, abs=1e-3)


def test_an_increase_is_an_improvement_where_higher_is_better() -> None:
    points = clear_points(STEP)
    assert kinds(find_changes(series(points, higher_is_better=True))) == [ChangeKind.IMPROVEMENT]


def test_returning_to_the_former_level_is_a_recovery() -> None:
    step, recovery = find_changes(series(clear_points([*STEP, *[0.0] * 10]))).changes
    assert recovery.kind is ChangeKind.RECOVERY
    assert recovery.recovers == (step.identity,)
    assert (recovery.before, recovery.after) == ("c40", "c41")


def test_a_partial_return_recovers_only_the_last_step() -> None:
    levels = [0.0] * 15 + [0.02] * 15 + [0.05] * 15 + [0.02] * 15
    first, second, back = find_changes(series(clear_points(levels))).changes
    assert back.recovers == (second.identity,)
    assert first.identity not in back.recovers
    everything = find_changes(series(clear_points([*levels[:45], *[0.0] * 15]))).changes[-1]
    assert everything.recovers == (first.identity, second.identity)


def test_a_slow_drift_is_one_drift() -> None:
    levels = [0.0] * 30 + [0.002 * n for n in range(1, 21)] + [0.04] * 30
    (change,) = find_changes(series(clear_points(levels))).changes
    assert change.kind is ChangeKind.DRIFT
    assert change.before_order == pytest.approx(30, abs=2)
    assert change.after_order == pytest.approx(50, abs=2)
    assert change.effect.log_ratio == pytest.approx(0.04, abs=0.002)


def test_a_drift_keeps_its_identity_while_it_grows() -> None:
    levels = [0.0] * 30 + [0.002 * n for n in range(1, 21)]
    points = clear_points(levels)
    histories = [find_changes(series(points[:end])).changes for end in range(30, len(points) + 1)]
    identities = {change.identity for changes in histories for change in changes}
    assert len(identities) == 1
    assert [change.kind for change in histories[-1]] == [ChangeKind.DRIFT]
    assert histories[-1][0].after_order >= 48


def test_a_step_after_a_drift_is_a_separate_change() -> None:
    levels = [0.0] * 30 + [0.002 * n for n in range(1, 21)] + [0.04] * 20 + [0.08] * 10
    assert kinds(find_changes(series(clear_points(levels)))) == [ChangeKind.DRIFT, ChangeKind.STEP]


def test_commits_that_did_not_build_are_gaps() -> None:
    points = [point for point in clear_points(STEP) if point.order % 3 and not 17 <= point.order <= 23]
    (change,) = find_changes(series(points)).changes
    assert (change.before, change.after) == ("c16", "c25")


def test_a_single_outlier_is_suspicious_but_no_change() -> None:
    trend = find_changes(series(clear_points([*[0.0] * 20, 0.04])))
    assert not trend.changes
    assert trend.outlier is not None
    assert trend.outlier.commit == "c21"
    assert trend.outlier.log_ratio == pytest.approx(0.04, abs=1e-3)


def test_a_remeasured_suspicion_is_confirmed_or_dropped() -> None:
    points = clear_points([*[0.0] * 20, 0.04])
    confirmed = find_changes(series([*points, points[-1]]))
    assert [(change.before, change.after) for change in confirmed.changes] == [("c20", "c21")]
    refuted = find_changes(series([*points, at_level(points[-1], 0.0)]))
    assert not refuted.changes
    assert refuted.outlier is None


def test_a_spike_causes_no_change() -> None:
    assert not find_changes(series(clear_points([*[0.0] * 20, 0.3, *[0.0] * 20]))).changes


def test_a_difference_from_the_first_commit_on_is_found_against_the_control() -> None:
    (change,) = find_changes(series(clear_points([0.05] * 8))).changes
    assert (change.before, change.after) == ("c0", "c1")


def test_a_change_below_the_smallest_effect_is_not_reported() -> None:
    points = clear_points([0.0] * 40 + [0.004] * 60)
    assert not find_changes(series(points)).changes
    assert find_changes(series(points), DetectionThresholds(smallest_log_ratio=0.002)).changes


def test_identical_builds_are_ordinary_points() -> None:
    points = [
        made_point(point.order, 0.0, None, pairs=0) if point.order in (5, 6) else point for point in clear_points(STEP)
    ]
    assert [(change.before, change.after) for change in find_changes(series(points)).changes] == [("c20", "c21")]


def test_moving_the_control_to_a_slower_commit_shows_no_change() -> None:
    points = clear_points(STEP) + clear_points([0.0] * 20, control_order=30, first=41)
    trend = find_changes(series(points))
    assert [(change.before, change.after) for change in trend.changes] == [("c20", "c21")]
    assert trend.level_log_ratio == pytest.approx(0.0, abs=1e-3)


def test_moving_the_control_before_a_change_does_not_report_it_again() -> None:
    points = clear_points(STEP) + clear_points([0.03] * 20, control_order=10, first=41)
    assert [(change.before, change.after) for change in find_changes(series(points)).changes] == [("c20", "c21")]


def test_a_recovery_under_a_later_control_is_found() -> None:
    points = clear_points(STEP) + clear_points([-0.03] * 10, control_order=40, first=45)
    step, recovery = find_changes(series(points)).changes
    assert recovery.kind is ChangeKind.RECOVERY
    assert recovery.recovers == (step.identity,)


def test_a_change_after_moving_the_control_is_found() -> None:
    points = clear_points(STEP) + clear_points([0.0] * 10 + [0.03] * 10, control_order=40, first=41)
    assert [(change.before, change.after) for change in find_changes(series(points)).changes] == [
        ("c20", "c21"),
        ("c50", "c51"),
    ]


def test_points_are_sorted_by_history() -> None:
    newer, older = reversed(clear_points([0.0, 0.0]))
    with pytest.raises(ValueError, match="c1 is older than c2"):
        find_changes(series([newer, older]))
    with pytest.raises(ValueError, match="c1 is older than c2"):
        find_changes(series([newer, older.model_copy(update={"control": "another"})]))


piecewise_levels = st.lists(
    st.tuples(st.integers(1, 25), st.sampled_from([-0.03, 0.0, 0.01, 0.03, 0.2])), min_size=1, max_size=4
)


def make_points(stretches: list[tuple[int, float]], seed: int) -> list[SeriesPoint]:
    levels = [level for length, level in stretches for _ in range(length)]
    return noisy_points(levels, np.random.default_rng(9).standard_t(4, 2000) * 0.006, np.random.default_rng(seed))


@pytest.mark.exhaustive
@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(piecewise_levels, st.integers(0, 99))
def test_reported_changes_are_never_withdrawn(stretches: list[tuple[int, float]], seed: int) -> None:
    points = make_points(stretches, seed)
    histories = [
        [change.identity for change in find_changes(series(points[:end])).changes] for end in range(1, len(points) + 1)
    ]
    for before, after in pairwise(histories):
        assert after[: len(before)] == before
        assert len(after) <= len(before) + 1


@settings(deadline=None, max_examples=25)
@given(piecewise_levels, st.integers(0, 99))
def test_a_mirrored_metric_shows_the_same_changes(stretches: list[tuple[int, float]], seed: int) -> None:
    points = make_points(stretches, seed)
    mirrored = [at_level(point, -log_ratio_of_point(point)) for point in points]
    trend, mirrored_trend = find_changes(series(points)), find_changes(series(mirrored, higher_is_better=True))
    assert [describe_change(change) for change in trend.changes] == [
        describe_change(change) for change in mirrored_trend.changes
    ]


@settings(deadline=None, max_examples=25)
@given(piecewise_levels, st.integers(0, 99))
def test_changes_are_in_order_and_do_not_overlap(stretches: list[tuple[int, float]], seed: int) -> None:
    trend = find_changes(series(make_points(stretches, seed)))
    for change in trend.changes:
        assert change.before_order < change.after_order
        low, high = change.effect.low_log_ratio, change.effect.high_log_ratio
        assert low is not None
        assert high is not None
        assert low <= change.effect.log_ratio <= high
    for before, after in pairwise(trend.changes):
        assert before.after_order <= after.before_order
    assert Trend.model_validate_json(trend.model_dump_json()) == trend


def describe_change(change: Change) -> tuple[str, ChangeKind, str, str, tuple[str, ...]]:
    return change.identity, change.kind, change.before, change.after, change.recovers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "count"),
    [
        ("recorded", 33),
        *(pytest.param(noise, 100, marks=pytest.mark.exhaustive) for noise in ("recorded", "bursty")),
    ],
)
def test_series_without_changes_raise_few_false_alarms(noise: str, count: int) -> None:
    if noise == "recorded":
        ratios = recorded_noise()
    else:
        ratios = paired(figures(iterations(BURSTY, np.random.default_rng(1), 20_000)))
    false = sum(
        len(find_changes(series(noisy_points([0.0] * 200, ratios, np.random.default_rng(seed)))).changes)
        for seed in range(count)
    )
    promised = count / 50
    assert false <= promised + 3.1 * promised**0.5


@pytest.mark.slow
def test_two_percent_steps_are_detected_within_a_few_commits() -> None:
    delays = []
    for seed in range(40):
        points = noisy_points([0.0] * 30 + [0.02] * 15, recorded_noise(), np.random.default_rng(seed))
        changes = [change for change in find_changes(series(points)).changes if change.kind is ChangeKind.STEP]
        delays += [int(change.detected_with[1:]) - 31 for change in changes[:1]]
    assert len(delays) >= 38
    assert np.median(delays) <= 4


ERROR = 0.004


def first_changes(levels: list[float], error: float | None = ERROR) -> tuple[Change, ...]:
    """Return the changes of a series when it first has some, which a watcher acts on."""
    points = [made_point(number + 1, level, error) for number, level in enumerate(levels)]
    for known in range(min(31, len(points)), len(points) + 1):
        changes = find_changes(series(points[:known])).changes
        if changes:
            return changes
    return ()


def number(commit: str) -> int:
    return int(commit[1:])


@pytest.mark.slow
@pytest.mark.parametrize("step", [pytest.param(0.01, marks=pytest.mark.exhaustive), 0.015, 0.02, 0.03])
def test_the_culprit_lies_within_the_range_of_its_change(step: float) -> None:
    widths = []
    for seed in range(25):
        noise = np.random.default_rng(seed).normal(0, ERROR, 55)
        change, *_ = first_changes([float(deviation) + step * (place >= 30) for place, deviation in enumerate(noise)])
        assert number(change.last_without) < 31 <= number(change.first_with), seed
        widths.append(number(change.first_with) - number(change.last_without))
    assert np.median(widths) <= 1 + 2 * np.ceil((6.5 * ERROR / step) ** 2), "not more than noise asks for"


def test_ranges_include_commits_without_measurement() -> None:
    (change,) = first_changes([0.0] * 10 + [0.02] * 10, error=None)
    assert (change.last_without, change.first_with) == ("c10", "c11")


def test_ranges_of_neighbouring_changes_do_not_overlap() -> None:
    noise = np.random.default_rng(4).normal(0, ERROR, 60)
    levels = [float(deviation) + 0.03 * (place >= 20) + 0.03 * (place >= 32) for place, deviation in enumerate(noise)]
    points = [made_point(place + 1, level, ERROR) for place, level in enumerate(levels)]
    first, second = find_changes(series(points)).changes
    assert number(first.last_without) < 21 <= number(first.first_with)
    assert number(first.first_with) <= number(second.last_without) < 33 <= number(second.first_with)


def test_the_direction_is_known_although_the_newest_commit_was_not_measured() -> None:
    gains = [made_point(number, level, ERROR) for number, level in enumerate([0.0] * 10 + [-0.05] * 10, 1)]
    newest = made_point(21, 0.0, None)
    (change, *_) = find_changes(series([*gains, newest], higher_is_better=True)).changes
    assert change.kind is ChangeKind.STEP, "less of what should be more is worse"


def test_a_series_without_numbers_shows_no_change() -> None:
    assert find_changes(Series(key=KEY)).changes == ()
    without = made_point(1, 0.0, ERROR).model_copy(update={"effect": None})
    assert find_changes(series([without])) == Trend()


def test_a_change_has_its_metric_and_a_stable_identity() -> None:
    points = [point.model_copy(update={"title": "m/b"}) for point in clear_points(STEP)]
    (change,) = find_changes(series(points)).changes
    assert (change.title, change.benchmark, change.device) == ("m/b", KEY.benchmark, KEY.device)
    assert change.metric.name == KEY.metric
    assert change.identity == IDENTITY_OF_STEP
