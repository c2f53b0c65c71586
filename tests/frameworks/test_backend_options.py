from __future__ import annotations

import pytest

from frameworks.backend_options import BackendOption, check_options, option_words
from harness.core.errors import BenchmarkUnsupported
from harness.core.scalars import Scalar
from harness.testing.frameworks import benchmark_of

KNOWN = (
    BackendOption("precision", "precision of the computation", ("f32", "bf16")),
    BackendOption("arena", "keep freed memory", ("true", "false")),
    BackendOption("streams", "number of streams", is_count=True),
)


def check(**options: Scalar) -> None:
    benchmark = benchmark_of("net").model_copy(update={"backend_options": options})
    check_options(benchmark, "net", KNOWN)


def test_known_options_become_arguments() -> None:
    options: dict[str, Scalar] = {"precision": "bf16", "arena": True, "streams": 2}
    check(**options)
    benchmark = benchmark_of("net").model_copy(update={"backend_options": options})
    words = ("--option", "precision=bf16", "--option", "arena=true", "--option", "streams=2")
    assert option_words(benchmark) == words


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"precison": "f32"}, "net has no option `precison`", "did you mean `precision`"),
        ({"precision": "f64"}, "'f64' is none of f32, bf16", "precision of the computation"),
        ({"streams": 0}, "'0' is not a whole number from 1 on", "number of streams"),
        ({"streams": "two"}, "'two' is not a whole number", "number of streams"),
        ({"streams": 1.5}, "is not a whole number", "number of streams"),
        ({"arena": "maybe"}, "'maybe' is none of true, false", "keep freed memory"),
    ],
)
def test_unknown_options_and_values_are_refused(options: dict[str, Scalar], message: str, hint: str) -> None:
    with pytest.raises(BenchmarkUnsupported, match=message) as refused:
        check(**options)
    assert hint in (refused.value.hint or "")


def test_a_framework_without_options_says_so() -> None:
    benchmark = benchmark_of("net").model_copy(update={"backend_options": {"precision": "f32"}})
    with pytest.raises(BenchmarkUnsupported) as refused:
        check_options(benchmark, "net", ())
    assert refused.value.hint == "net has none"
