"""Pictures of evaluations: compromises and layers."""

from __future__ import annotations

from harness.presentation.pareto import find_compromises
from reporters.document.picture import Circle, Label
from reporters.html.pictures.compromises import HEIGHT, WIDTH, draw_compromises
from reporters.html.pictures.layers import draw_layers
from tests.presentation.evaluation_samples import evaluated_result, layer


def test_every_program_has_a_dot_within_the_picture_and_its_name() -> None:
    results = [
        evaluated_result("fast"),
        evaluated_result("slow", latency_ms=90.0, sqnr=100.0),
        evaluated_result("same"),
    ]
    picture = draw_compromises(find_compromises(results), "c")
    assert picture is not None
    dots = [mark for mark in picture.marks if isinstance(mark, Circle)]
    assert len(dots) == 3
    assert all(0 < dot.x < WIDTH and 0 < dot.y < HEIGHT for dot in dots)
    labels = {mark.text: mark for mark in picture.marks if isinstance(mark, Label)}
    assert {"fast", "slow", "same"} <= labels.keys()
    assert labels["fast"].y != labels["same"].y, "names of dots in one place do not cover each other"
    assert "slow: 90.0 ms, 1.00 MiB" in picture.description


def test_the_dominated_are_hollow() -> None:
    picture = draw_compromises(
        find_compromises([evaluated_result("fast"), evaluated_result("slow", latency_ms=2.0)]), "c"
    )
    assert picture is not None
    assert [mark.kind for mark in picture.marks if isinstance(mark, Circle)] == ["center", "hollow"]


def test_a_single_program_and_identical_outputs_make_no_picture() -> None:
    assert draw_compromises(find_compromises([evaluated_result("one")]), "c") is None
    assert (
        draw_compromises(find_compromises([evaluated_result("one"), evaluated_result("two", sqnr=None)]), "c") is None
    )


def test_the_layers_after_which_most_is_lost_are_named() -> None:
    gaps = [layer("a", 60.0), layer("b", 58.0), layer("c", 20.0, module="features.3"), layer("d", 30.0)]
    picture = draw_layers({"q8": gaps}, "l", "layers")
    assert picture is not None
    assert picture.description.startswith("Largest losses: q8: c: 20 dB, convolution, features.3; q8: b")
    assert {"features.3", "q8"} <= {mark.text for mark in picture.marks if isinstance(mark, Label)}
    assert draw_layers({"q8": gaps[:1]}, "l", "layers") is None


def test_layers_of_one_name_lie_above_each_other_also_where_a_program_stores_fewer() -> None:
    full = [layer("a", 60.0), layer("b", 58.0), layer("c", 50.0), layer("d", 30.0)]
    fused = [layer("a", 55.0), layer("x", 54.0), layer("c", 53.0), layer("d", 52.0)]
    picture = draw_layers({"full": full, "fused": fused[:1] + fused[2:]}, "l", "layers")
    assert picture is not None
    dots = [mark for mark in picture.marks if isinstance(mark, Circle) and mark.kind == "center"]
    places = {title: [dot.x for dot in dots if dot.title.startswith(f"{title}:")] for title in "abcd"}
    assert all(len(set(xs)) == 1 for xs in places.values())
    assert [len(xs) for xs in places.values()] == [2, 1, 2, 2]
    assert sorted(xs[0] for xs in places.values()) == [xs[0] for xs in places.values()]
