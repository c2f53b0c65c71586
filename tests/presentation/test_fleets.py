from __future__ import annotations

import pytest

from harness.core.device import Device
from harness.core.result import Result
from harness.presentation.comparison_section import describe_comparisons
from harness.presentation.fleets import describe_fleet, find_fleets, visible_change
from reporters.document.picture import Circle, Label
from reporters.html.pictures.fleets import draw_fleet
from tests.presentation.comparison_samples import compared, failed, made_pairs


def on(name: str, result: Result, *, is_class: bool = True) -> Result:
    device = Device(platform="android", identity=f"class:{name}" if is_class else name, name=name)
    return result.model_copy(update={"device": device, "uid": name})


def many() -> list[Result]:
    """Two classes that became slower, one faster, one the same, one with too few pairs, one that failed."""
    return [
        on("new", compared("a", made_pairs(0.021, 30))),
        on("old", compared("a", made_pairs(0.048, 30))),
        on("same", compared("a", made_pairs(0.0, 60))),
        on("few", compared("a", made_pairs(0.0, 2))),
        on("faster", compared("a", made_pairs(-0.03, 30))),
        on("broken", failed("a")),
    ]


def test_one_sentence_has_the_verdict_of_all_classes() -> None:
    (fleet,) = find_fleets(many())
    assert describe_fleet(fleet).text == (
        "▼ mv2/a: slower on 2 of 6 classes by 2.1 … 4.8 %; faster on 1 by 3 %; undecided on 1; unchanged on 1; "
        "failed on 1"
    )


def test_devices_are_called_so() -> None:
    first, second = (on(name, compared("a", made_pairs(0.0, 60)), is_class=False) for name in ("x", "y"))
    (fleet,) = find_fleets([first, second])
    assert describe_fleet(fleet).text == "= mv2/a: unchanged on 2 of 2 devices"


def test_metrics_without_a_time_become_worse() -> None:
    results = [
        result.model_copy(
            update={"comparison": result.comparison.model_copy(update={"unit": "bytes", "metric": "RUN memory"})}
        )
        for result in many()
        if result.comparison is not None
    ]
    (fleet,) = find_fleets(results)
    assert "worse on 2 of 6 classes" in describe_fleet(fleet).text


def test_a_single_device_and_different_benchmarks_are_no_fleet() -> None:
    assert find_fleets(many()[:1]) == []
    other = many()[1]
    benchmark = other.benchmark.model_copy(update={"digest": "f" * 64})
    assert find_fleets([many()[0], other.model_copy(update={"benchmark": benchmark})]) == []


def test_each_metric_has_a_verdict() -> None:
    """A class that failed has failed in each."""
    results = []
    for result in many()[:2]:
        assert result.comparison is not None
        tokens = result.comparison.model_copy(update={"metric": "LLM time_to_first_token"})
        results += [result, result.model_copy(update={"comparison": tokens, "uid": f"{result.uid}-2"})]
    broken = many()[-1].model_copy(update={"comparison": None})
    texts = [describe_fleet(fleet).text for fleet in find_fleets([*results, broken])]
    assert texts == [
        f"▼ mv2/a: {metric}: slower on 2 of 3 classes by 2.1 … 4.8 %; failed on 1"
        for metric in ("NET latency", "LLM time_to_first_token")
    ]


def test_the_visible_change_is_half_of_the_interval() -> None:
    result = many()[2]
    assert result.comparison is not None
    assert result.comparison.low is not None
    assert result.comparison.high is not None
    assert visible_change(result) == pytest.approx((result.comparison.high - result.comparison.low) / 2)
    assert visible_change(many()[-1]) is None


def test_a_report_has_the_sentence_and_the_column() -> None:
    section = describe_comparisons(many())
    assert section.lines[0].text.startswith("▼ mv2/a: slower on 2 of 6 classes")
    (column,) = (column for column in section.columns if column.name == "visible change")
    assert [bool(cell.text) for cell in column.cells] == [True, True, True, False, True, False]
    assert "visible change: half of the interval" in section.legend
    alone = describe_comparisons(many()[:1])
    assert not next(column for column in alone.columns if column.name == "visible change").is_informative


def test_the_picture_has_a_row_for_each_class() -> None:
    (fleet,) = find_fleets(many())
    picture = draw_fleet(fleet, "fleet0")
    names = [mark.text for mark in picture.marks if isinstance(mark, Label) and mark.kind == "name"]
    assert names == ["▼ old", "▼ new", "▲ faster", "? few", "= same", "✗ broken"]
    dots = [mark for mark in picture.marks if isinstance(mark, Circle)]
    assert len(dots) == 5
    assert dots[0].x > dots[1].x > dots[2].x


@pytest.mark.parametrize("order", [1, -1])
def test_of_repeated_results_the_most_severe_counts(order: int) -> None:
    """A regression is not hidden by another result of the same builds on the same class."""
    repeated = [many()[2].model_copy(update={"device": many()[0].device}), *many()[:2]]
    (fleet,) = find_fleets(repeated[::order])
    assert describe_fleet(fleet).text == "▼ mv2/a: slower on 2 of 2 classes by 2.1 … 4.8 %"
