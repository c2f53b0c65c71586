"""Selection of benchmarks by the patterns of --only and --skip."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.device import Device
from harness.core.errors import UsageError
from harness.core.protocols import Framework, Progress, Session
from harness.flows.measure.workload import BenchmarkSelection, Workload, select, select_requested


def benchmark(model: str, identifier: str, *tags: str, **axes: str | int) -> Benchmark:
    return Benchmark(
        id=0,
        model=Model(name=model, format="none"),
        identifier=identifier,
        metric="delay",
        framework="generic",
        axes=axes,
        tags=tags,
        origin=SpecificationPlace(file=Path("spec.json")),
        digest=identifier,
    )


ALL = (
    benchmark("mv2", "fp32", "nightly", backend="xnnpack_fp32", threads=1),
    benchmark("mv2", "q8", "nightly", "small", backend="xnnpack_q8", threads=1),
    benchmark("resnet", "q8", backend="xnnpack_q8", threads=2),
)


@pytest.mark.parametrize(
    ("only", "skip", "left"),
    [
        (("*q8*",), (), ["mv2/q8", "resnet/q8"]),
        (("tag:nightly",), (), ["mv2/fp32", "mv2/q8"]),
        (("tag:nightly",), ("tag:small",), ["mv2/fp32"]),
        (("model:res*",), (), ["resnet/q8"]),
        (("backend:xnnpack_q8",), ("threads:2",), ["mv2/q8"]),
        ((), ("model:mv2",), ["resnet/q8"]),
    ],
)
def test_benchmarks_are_chosen_by_name_tag_model_and_axis(
    only: tuple[str, ...], skip: tuple[str, ...], left: list[str]
) -> None:
    assert [selected.title for selected in select(ALL, only, skip)] == left


@pytest.mark.parametrize("pattern", ["tag:weekly", "colour:red", "backend:vulkan", "nothing"])
def test_a_pattern_without_match_is_a_usage_error(pattern: str) -> None:
    with pytest.raises(UsageError, match="no benchmark matches"):
        select(ALL, (pattern,), ())


def test_a_part_of_a_name_is_taken_for_a_pattern_without_stars() -> None:
    part = ALL[0].identifier[:-1]
    with pytest.raises(UsageError) as caught:
        select(ALL, (part,), ())
    assert str(caught.value.hint).startswith(f"did you mean `*{part}*`? there are: ")


def test_a_pattern_without_match_names_the_file_or_the_variable_where_it_stands() -> None:
    places = {"only": "harness.toml:3", "skip": "HARNESS_SKIP"}
    for settings, place in ((Settings(only=("x",), places=places), "harness.toml:3"),
                            (Settings(skip=("x",), places=places), "HARNESS_SKIP")):  # fmt: skip
        with pytest.raises(UsageError, match=f"^{place}: no benchmark matches `x`"):
            select_requested(ALL, settings)


class _Nowhere:
    name = "nowhere"

    def devices(self) -> Sequence[Device]:
        return ()

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:
        raise NotImplementedError


def test_a_workload_is_restricted_to_a_benchmark_that_the_patterns_left_out() -> None:
    """An alarm outlives the patterns that were given when it was raised."""
    loaded: list[str] = []

    def load_framework(name: str) -> Framework:
        loaded.append(name)
        return Generic({})

    workload = Workload(select(ALL, ("*fp32",), ()), _Nowhere(), {}, loaded=ALL, load_framework=load_framework)
    restricted = workload.restrict(BenchmarkSelection("resnet/q8", "phone"))
    assert [benchmark.title for benchmark in restricted.benchmarks] == ["resnet/q8"]
    assert restricted.devices == ("phone",)
    assert loaded == ["generic"]
    assert set(restricted.frameworks) == {"generic"}
