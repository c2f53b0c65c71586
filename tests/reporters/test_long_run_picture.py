"""The picture of a long run: its curve, its levels, the figure at ten seconds, and where the device throttled."""

from __future__ import annotations

import pathlib

from harness.analysis.long_run import analyse_long_run
from harness.core.long_run import LongRun
from reporters.document.picture import Label, Path, Picture
from reporters.html.page import render
from reporters.html.pictures.long_run import HEIGHT, WIDTH, draw_long_run
from reporters.pages import ReportedRun
from tests.analysis.long_runs import Levels, run_long
from tests.presentation.test_scenarios import lasting


def analyse(levels: Levels, seconds: float) -> LongRun:
    run = analyse_long_run(run_long(levels, seconds))
    assert run is not None
    return run


def draw(levels: Levels, seconds: float) -> Picture:
    picture = draw_long_run(analyse(levels, seconds), "c0")
    assert picture is not None
    return picture


def texts(picture: Picture) -> set[str]:
    return {mark.text for mark in picture.marks if isinstance(mark, Label)}


def kinds(picture: Picture) -> list[str]:
    return [mark.kind for mark in picture.marks if isinstance(mark, Path)]


def test_levels_and_throttling_are_marked() -> None:
    picture = draw([(0, 20.0), (84, 30.0)], 200)
    assert {"seconds since the run began", "20.5 ms at 10 s · steady 30.6 ms from 84 s on"} <= texts(picture)
    assert any(text.startswith("throttled after 84 s, +") for text in texts(picture))
    assert kinds(picture).count("level") == 2
    assert kinds(picture).count("switch") == 1
    assert "It throttled after 84 seconds (+" in picture.description


def test_a_steady_run_has_one_level() -> None:
    picture = draw([(0, 20.0)], 60)
    assert kinds(picture).count("level") == 1
    assert "switch" not in kinds(picture)
    assert "It did not throttle." in picture.description


def test_labels_stay_inside() -> None:
    for since in (12, 100, 190):
        labels = [mark for mark in draw([(0, 20.0), (since, 30.0)], 200).marks if isinstance(mark, Label)]
        assert all(0 <= label.x <= WIDTH and 0 <= label.y <= HEIGHT for label in labels)


def test_a_single_execution_has_no_picture() -> None:
    run = analyse([(0, 20.0)], 60)
    assert draw_long_run(run.model_copy(update={"windows": run.windows[:1]}), "c0") is None
    assert draw_long_run(run.model_copy(update={"end_s": 0.0}), "c0") is None


def test_the_page_has_it() -> None:
    page = render(ReportedRun([lasting([(0, 20.0), (84, 30.0)], 200)], pathlib.Path("results"), finished=True))
    assert "throttled after 84 s" in page
    assert "Cold, warm and sustained" in page
