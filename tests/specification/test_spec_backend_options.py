from __future__ import annotations

from tests.specification.conftest import Expand


def test_options_of_a_test_win_over_those_of_its_model(expand: Expand) -> None:
    model = {"backend_options": {"precision": "f32", "streams": 1}}
    (benchmark,) = expand(model, {"backend_options": {"precision": "bf16"}})

    assert benchmark.backend_options == {"precision": "bf16", "streams": 1}


def test_texts_may_have_placeholders_of_the_matrix(expand: Expand) -> None:
    test = {"identifier": "t-{level}", "matrix": {"level": ["basic", "all"]}}
    benchmarks = expand({}, {**test, "backend_options": {"graph_optimization": "{level}", "arena": True}})

    assert [benchmark.backend_options for benchmark in benchmarks] == [
        {"graph_optimization": "basic", "arena": True},
        {"graph_optimization": "all", "arena": True},
    ]


def test_options_change_the_digest_and_their_absence_does_not(expand: Expand) -> None:
    plain, empty, chosen = (
        expand({}, {"backend_options": options} if options is not None else {})[0].digest
        for options in (None, {}, {"precision": "f32"})
    )

    assert plain == empty != chosen
