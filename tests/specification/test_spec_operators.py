"""`operators`: asked for by a test or by the caller, and always the same benchmark then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.specification.load import LoadOptions, load


def benchmarks(folder: Path, options: LoadOptions | None = None, **fields: Any) -> tuple[Benchmark, ...]:  # noqa: ANN401 - what a test may say
    test = {"metric": "delay", "identifier": "t{ID}", "commands": ["{program}"], **fields}
    file = folder / "spec.json"
    file.write_text(json.dumps({"model": {"name": "m", "format": "none"}, "tests": [test]}))
    return load([file], options).benchmarks


def test_operators_are_timed_only_on_request(tmp_path: Path) -> None:
    assert [benchmark.operators for benchmark in benchmarks(tmp_path)] == [False]
    assert [benchmark.operators for benchmark in benchmarks(tmp_path, operators=True)] == [True]
    assert [benchmark.operators for benchmark in benchmarks(tmp_path, LoadOptions(operators=True))] == [True]


def test_a_string_is_not_a_boolean(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="operators"):
        benchmarks(tmp_path, operators="yes")


def test_the_digest_depends_on_the_request_for_operators_and_not_on_its_origin(tmp_path: Path) -> None:
    ((plain,), (requested,), (flagged,)) = (
        benchmarks(tmp_path),
        benchmarks(tmp_path, operators=True),
        benchmarks(tmp_path, LoadOptions(operators=True)),
    )
    assert requested.digest == flagged.digest != plain.digest, "tracing costs time: the figures are of another series"
    assert benchmarks(tmp_path, operators=False)[0].digest == plain.digest
