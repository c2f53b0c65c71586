"""From series to signs: which commits a change is surely between."""

from __future__ import annotations

import numpy as np
import pytest

from harness.core.comparison import Verdict
from harness.core.trend import ChangeKind
from harness.flows.watch.detection import judge
from harness.watch.store.records import Placed, Point, Series, Sign

ERROR = 0.004


def placed(number: int, level: float, error: float | None = ERROR) -> Placed:
    point = Point(
        benchmark="b",
        title="m/b",
        device="board",
        control="c0",
        verdict=Verdict.UNDECIDED,
        log_ratio=level,
        error=error,
        pairs=10,
    )
    return Placed(position=number, commit=f"c{number}", control_position=0, point=point)


def first_signs(levels: list[float], error: float | None = ERROR) -> tuple[Sign, ...]:
    """The signs of a series when it first has some: a watcher acts on these."""
    points = [placed(number + 1, level, error) for number, level in enumerate(levels)]
    for known in range(min(31, len(points)), len(points) + 1):
        said = judge(Series(benchmark="b", device="board", metric="", points=tuple(points[:known])))
        if said.signs:
            return said.signs
    return ()


def number(commit: str) -> int:
    return int(commit[1:])


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.01, 0.015, 0.02, 0.03])
def test_the_commit_that_changed_something_is_between_the_ends_of_its_sign(step: float) -> None:
    widths = []
    for seed in range(25):
        noise = np.random.default_rng(seed).normal(0, ERROR, 55)
        sign, *_ = first_signs([float(one) + step * (place >= 30) for place, one in enumerate(noise)])
        assert number(sign.first) < 31 <= number(sign.last), seed
        widths.append(number(sign.last) - number(sign.first))
    assert np.median(widths) <= 1 + 2 * np.ceil((6.5 * ERROR / step) ** 2), "not more than noise asks for"


def test_what_was_not_measured_leaves_no_doubt() -> None:
    (sign,) = first_signs([0.0] * 10 + [0.02] * 10, error=None)
    assert (sign.first, sign.last) == ("c10", "c11")


def test_signs_of_neighbouring_changes_do_not_overlap() -> None:
    noise = np.random.default_rng(4).normal(0, ERROR, 60)
    levels = [float(one) + 0.03 * (place >= 20) + 0.03 * (place >= 32) for place, one in enumerate(noise)]
    points = tuple(placed(place + 1, level) for place, level in enumerate(levels))
    one, other = judge(Series(benchmark="b", device="board", metric="", points=points)).signs
    assert number(one.first) < 21 <= number(one.last) <= number(other.first) < 33 <= number(other.last)


def test_which_way_is_better_is_known_also_where_the_newest_commit_was_not_measured() -> None:
    gains = [placed(number, level) for number, level in enumerate([0.0] * 10 + [-0.05] * 10, 1)]
    measured = [
        one.model_copy(update={"point": one.point.model_copy(update={"higher_is_better": True})}) for one in gains
    ]
    newest = placed(21, 0.0, None)
    (sign, *_) = judge(Series(benchmark="b", device="board", metric="", points=(*measured, newest))).signs
    assert sign.kind == ChangeKind.STEP, "less of what should be more is worse"


def test_a_series_without_numbers_says_nothing() -> None:
    assert judge(Series(benchmark="b", device="board", metric="", points=())).signs == ()
