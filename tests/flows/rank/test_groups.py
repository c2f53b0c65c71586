"""Which benchmarks are ranked among themselves."""

from __future__ import annotations

import pytest

from harness.core.errors import UsageError
from harness.flows.rank.groups import group_benchmarks
from tests.specification.conftest import Expand, expand, write

__all__ = ["expand", "write"]


def test_frameworks_recipes_and_seeds_are_one_ranking_of_a_model(expand: Expand) -> None:
    files = {"model": {"filename": "{recipe}.x", "export": {"definition": "mlp", "recipe": "{recipe}"}}}
    other = {"model": {"filename": "{recipe}.y", "export": {"definition": "mlp", "recipe": "{recipe}", "seed": 1}}}
    include = [{"framework": "f", "recipe": "a"}, {"framework": "g", "recipe": "b"}]
    model = {"framework": "{framework}"}
    test = {"command": None, "matrix": {"include": include}}
    benchmarks = [*expand({**model, "files": files}, test), *expand({**model, "files": other}, test)]

    (group,) = group_benchmarks(benchmarks)

    assert group.title == "m"
    assert [benchmark.framework for benchmark in group.benchmarks] == ["f", "g", "f", "g"]


def test_threads_and_shapes_are_rankings_of_their_own(expand: Expand) -> None:
    test = {
        "command": None,
        "matrix": {"threads": [1, 2], "backend": ["a", "b"]},
        "inputs": {"x": {"shapes": [[1, 3], [1, 5]]}},
    }

    groups = group_benchmarks(expand({"framework": "f"}, test))

    assert [group.title for group in groups] == [
        *("m, 1 thread, 1x3", "m, 1 thread, 1x5", "m, 2 threads, 1x3", "m, 2 threads, 1x5")
    ]
    assert {len(group.benchmarks) for group in groups} == {2}


def test_a_size_is_other_work_where_nothing_says_what_is_executed(expand: Expand) -> None:
    with pytest.raises(UsageError, match=r"they differ in axis `size`, which may change the work\n"):
        group_benchmarks(expand({}, {"matrix": {"size": [1, 2]}}))
    with pytest.raises(UsageError, match=r"they differ in threads\n"):
        group_benchmarks(expand({}, {"matrix": {"threads": [1, 2]}}))


def test_commands_cannot_prove_that_they_do_the_same_work(expand: Expand) -> None:
    include = [{"framework": "f", "recipe": "a"}, {"framework": "g", "recipe": "b"}]
    with pytest.raises(UsageError, match="execute no examples"):
        group_benchmarks(expand({"framework": "{framework}"}, {"matrix": {"include": include}}))
