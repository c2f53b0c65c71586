"""The picture of a series, read back as XML."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.alarm import AlarmReport
from harness.core.culprit import Candidate
from harness.core.effect import effect_of
from harness.core.series import FigureEffect
from harness.core.verdict import Verdict
from reporters.alarms.plot import HEIGHT, WIDTH, caption, fit_axes, picture
from reporters.alarms.window import MOST, choose_window, dots, on_one_scale
from tests.reporters.alarms.alarm_samples import (
    bisected_step,
    changed,
    closed,
    commit,
    confirmed_drift,
    found_step,
    measured,
    nasty_subjects,
    points,
    two_culprits,
)
from tests.reporters.alarms.any_alarm import reports

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "rect", "path", "text", "circle"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _parsed(report: AlarmReport) -> ElementTree.Element:
    return ElementTree.fromstring(picture(report).encode())


def _classes(root: ElementTree.Element, tag: str) -> list[str]:
    return [element.get("class", "") for element in root.iter(f"{SVG}{tag}")]


@pytest.mark.slow
@given(reports)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
def test_marks_of_any_alarm_lie_within_the_plot(report: AlarmReport) -> None:
    root = _parsed(report)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= TAGS
    assert not [name for element in root.iter() for name in element.attrib if "href" in name or name.startswith("on")]
    for element in root.iter():
        across = [float(element.get(name, "0")) for name in ("x", "cx")]
        down = [float(element.get(name, "0")) for name in ("y", "cy")]
        assert all(0 <= x <= WIDTH for x in across)
        assert all(0 <= y <= HEIGHT for y in down)
        numbers = [float(number) for number in NUMBER.findall(element.get("d", ""))]
        assert all(0 <= number <= WIDTH for number in numbers)


def test_texts_are_escaped() -> None:
    shown = [text for element in _parsed(nasty_subjects()).iter() if (text := element.text)]
    assert '"><script>x</script>' in shown
    assert "control &</svg>" in shown
    assert "<script" not in picture(nasty_subjects())


def test_each_commit_has_a_dot_and_each_verdict_a_name() -> None:
    report = bisected_step()
    root = _parsed(report)
    legend = {point.verdict for point in report.series}
    assert len(_classes(root, "circle")) == len(report.series) + len(legend)
    assert {verdict.value for verdict in legend} <= {element.text for element in root.iter(f"{SVG}text")}


def test_the_change_is_marked_and_the_culprit_named() -> None:
    root = _parsed(bisected_step())
    assert _classes(root, "rect") == ["paper", "band"]
    assert _classes(root, "path").count("mark") == 1
    assert [element.text for element in root.iter(f"{SVG}text") if element.get("class") == "name"] == [commit(25).short]


def test_the_band_lies_between_the_last_commit_without_and_the_first_with_the_change() -> None:
    view = choose_window(found_step())
    assert (view.before, view.after) == (22, 26)
    unmeasured = changed(found_step(), before=commit(100))
    assert (choose_window(unmeasured).before, choose_window(unmeasured).after) == (22, 26)


def test_a_culprit_that_was_not_measured_has_no_line() -> None:
    report = changed(bisected_step(), series=found_step().series)
    assert choose_window(report).culprits == ()
    assert "mark" not in _classes(_parsed(report), "path")


def test_levels_are_shown_only_for_an_open_change() -> None:
    before, after = choose_window(bisected_step()).levels
    assert (before.last, after.first) == (22, 26)
    assert after.change - before.change == pytest.approx(0.031, abs=0.002)
    assert choose_window(closed()).levels == ()


def test_a_level_ends_where_another_change_begins() -> None:
    series = tuple(points({18: 0.02, 24: 0.031, 30: 0.05}))
    before, after = choose_window(changed(found_step(), series=series)).levels
    assert (before.first, before.last) == (18, 22)
    assert (after.first, after.last) == (26, 29)
    assert (before.change, after.change) == pytest.approx((0.02, 0.051), abs=0.003)


def test_a_level_goes_on_behind_a_single_commit_that_is_off() -> None:
    series = list(points({24: 0.031}))
    series[15] = series[15].model_copy(update={"effect": effect_of(0.1)})
    before, _ = choose_window(changed(found_step(), series=tuple(series))).levels
    assert (before.first, before.last) == (11, 22)


def test_a_change_of_the_tail_is_drawn_in_its_figure() -> None:
    step = found_step()
    figures = tuple(FigureEffect(log_ratio=ratio, standard_error=0.001) for ratio in (0.0, 0.0, 0.0, 0.01, 0.1))
    series = tuple(point.model_copy(update={"figures": figures}) for point in step.series)
    for figure, expected in (("p90", 0.1), ("p10", 0.1), ("mean", 0.01)):
        change = step.alarm.change.model_copy(update={"figure": figure})
        dot, *_ = choose_window(changed(step, change=change).model_copy(update={"series": series})).dots
        assert dot.change == pytest.approx(math.expm1(expected))
    dot, *_ = choose_window(step.model_copy(update={"series": series})).dots
    assert dot.change == pytest.approx(step.series[0].effect.relative_change if step.series[0].effect else None)


def test_a_changed_control_does_not_look_like_a_change() -> None:
    view = choose_window(bisected_step())
    newest = [dot.change for dot in view.dots if dot.point.order > 30]
    assert newest == pytest.approx([0.031] * len(newest), abs=0.005)
    assert _classes(_parsed(bisected_step()), "path").count("switch") == 1
    assert "dashed" in caption(bisected_step())
    assert "dashed" not in caption(confirmed_drift())


def test_a_reused_control_keeps_its_position() -> None:
    series = [
        measured(name, order, control, effect_of(difference))
        for order, (name, control, difference) in enumerate(
            [("b", "a", 0.0), ("c", "a", 0.1), ("d", "c", 0.0), ("e", "c", 0.1), ("f", "a", 0.21)]
        )
    ]
    placed = on_one_scale(dots(series), lambda order: order)
    assert [dot.change for dot in placed] == pytest.approx([0.0, 0.1, 0.1, 0.21, 0.21])


@given(st.lists(st.floats(-0.05, 0.05), min_size=2, max_size=30), st.integers(1, 9))
def test_series_without_noise_are_joined_exactly(steps: list[float], week: int) -> None:
    levels = [1.0]
    for step in steps:
        levels.append(levels[-1] * (1 + step))
    series = [
        measured(
            str(number),
            number,
            str(control := number - ((number % week) or week)),
            effect_of(levels[number] / levels[control] - 1),
        )
        for number in range(week, len(levels))
    ]
    placed = on_one_scale(dots(series), lambda order: order)  # each commit is its own side: no neighbour blurs it
    assert [dot.change for dot in placed] == pytest.approx([level - 1 for level in levels[week:]])


def test_a_long_series_is_shown_around_its_change_and_stays_small() -> None:
    begun = two_culprits()
    whole = points({10: 0.021, 20: 0.012}, 1000)
    worst = [point.model_copy(update={"verdict": Verdict.IMPROVEMENT}) for point in whole]
    view = choose_window(changed(begun, series=tuple(worst)))
    assert len(view.dots) == MOST
    assert (view.before, view.after) == (7, 27)
    assert (view.first, view.last) == (1, MOST)
    assert len(picture(changed(begun, series=tuple(worst))).encode()) <= 40_000


def test_the_newest_points_are_shown_where_the_change_is_among_them() -> None:
    late = {"before": commit(200), "candidates": (Candidate(commit=commit(201)),)}
    view = choose_window(found_step().model_copy(update={"series": tuple(points({201: 0.031}, 230)), **late}))
    assert (view.first, view.last) == (30, 229)


def test_an_outlier_does_not_flatten_the_others() -> None:
    series = list(bisected_step().series)
    series[3] = series[3].model_copy(update={"effect": effect_of(40.0, 30.0, 50.0)})
    report = changed(bisected_step(), series=tuple(series))
    assert fit_axes(choose_window(report)).along.high < 6
    assert 'r="1.6"' in picture(report)


def test_an_unbounded_end_of_an_interval_reaches_the_edge() -> None:
    series = (measured("a", 1, "b", effect_of(0.01)),)
    root = _parsed(changed(found_step(), series=series))
    (spans,) = [element.get("d", "") for element in root.iter(f"{SVG}path") if element.get("class") == "spans"]
    _, bottom, top = (float(number) for number in NUMBER.findall(spans))
    assert (top, bottom) == (50.0, HEIGHT - 50)


def test_an_empty_series_has_a_message() -> None:
    empty = changed(found_step(), series=())
    nothing = measured("a", 1, "b", None)
    assert "no points" in picture(empty)
    assert "no points" in picture(changed(empty, series=(nothing,)))
