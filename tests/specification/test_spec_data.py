"""`data` and `calibration_data`: data sets of tests, models and exports, with paths from the specification on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.core.examples import DataRequest, Scores
from harness.specification.load import load

EXPORT = {"definition": "mlp", "recipe": "{backend}"}


def benchmark(
    folder: Path,
    *,
    model: dict[str, Any] | None = None,
    test: dict[str, Any] | None = None,
    export: dict[str, Any] | None = None,
) -> Benchmark:
    specification = {
        "model": {
            "name": "m",
            "format": "executorch",
            "framework": "executorch",
            "files": {"model": {"filename": "m.pte", "export": {**EXPORT, **(export or {})}}},
            **(model or {}),
        },
        "tests": [{"metric": "delay", "identifier": "t", "matrix": {"backend": ["xnnpack_q8"]}, **(test or {})}],
    }
    file = folder / "spec.json"
    file.write_text(json.dumps(specification))
    (loaded,) = load([file]).benchmarks
    return loaded


def test_a_name_is_a_provider(tmp_path: Path) -> None:
    assert benchmark(tmp_path).data is None
    assert benchmark(tmp_path, test={"data": "digits"}).data == DataRequest(provider="digits")
    assert benchmark(tmp_path, model={"data": "digits"}).data == DataRequest(provider="digits")


def test_the_data_of_a_test_replace_those_of_its_model(tmp_path: Path) -> None:
    data = {"provider": "random", "count": 5, "seed": 3, "options": {"high": 9}}
    loaded = benchmark(tmp_path, model={"data": "digits"}, test={"data": data})
    assert loaded.data == DataRequest(provider="random", count=5, seed=3, options={"high": 9})


def test_paths_are_relative_to_the_specification(tmp_path: Path) -> None:
    options = {
        "path": {"a": "a.npy", "b": "/b.npy"},
        "labels": "../y.npy",
        "mask_path": ["m.npy"],
        "layout": "NCHW",
        "classes": ["cat"],
    }
    loaded = benchmark(
        tmp_path,
        test={"data": {"provider": "files", "options": options}},
        export={"calibration_data": {"provider": "images", "options": {"path": "images"}}},
    )
    assert loaded.data is not None
    assert loaded.data.options == {
        "path": {"a": f"{tmp_path}/a.npy", "b": "/b.npy"},
        "labels": f"{tmp_path.parent}/y.npy",
        "mask_path": [f"{tmp_path}/m.npy"],
        "layout": "NCHW",
        "classes": ["cat"],
    }
    assert loaded.files[0].export is not None
    assert loaded.files[0].export.calibration_data == DataRequest(
        provider="images", options={"path": f"{tmp_path}/images"}
    )


def test_the_same_specification_elsewhere_is_the_same_benchmark(tmp_path: Path) -> None:
    digests = set()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        data = {"provider": "files", "options": {"path": "x.npy"}}
        digests.add(benchmark(folder, test={"data": data}, export={"calibration_data": data}).digest)
    assert len(digests) == 1


def test_data_make_another_benchmark(tmp_path: Path) -> None:
    digests = {
        benchmark(tmp_path).digest,
        benchmark(tmp_path, test={"data": "digits"}).digest,
        benchmark(tmp_path, test={"data": {"provider": "digits", "count": 3}}).digest,
        benchmark(tmp_path, export={"calibration_data": "digits"}).digest,
    }
    assert len(digests) == 4


def test_placeholders_are_replaced(tmp_path: Path) -> None:
    data = {"provider": "{kind}", "options": {"path": "{backend}.npy", "classes": ["{backend}"]}}
    loaded = benchmark(tmp_path, model={"kind": "files", "data": data}).data
    assert loaded is not None
    assert loaded.provider == "files"
    assert loaded.options == {"path": f"{tmp_path}/xnnpack_q8.npy", "classes": ["xnnpack_q8"]}


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ({"dta": "digits"}, "unknown key `dta`"),
        ({"data": {"provider": "digits", "coutn": 3}}, "coutn"),
        ({"data": {"count": 3}}, "provider"),
        ({"data": {"provider": "digits", "count": 0}}, "count"),
        ({"data": 3}, "data"),
        ({"data": {"provider": "files", "options": {"path": "{nowhere}"}}}, "{nowhere}"),
        ({"data": {"provider": "files", "options": {"path": "s3://bucket"}}}, "unsupported scheme"),
    ],
)
def test_mistakes_are_told(test: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecificationError) as raised:
        benchmark(tmp_path, test=test)
    assert message in str(raised.value)
    assert "spec.json:" in str(raised.value)


def test_outputs_have_a_stated_meaning(tmp_path: Path) -> None:
    unstated = benchmark(tmp_path)
    stated = benchmark(tmp_path, test={"scores": ["none", "probabilities"]})
    assert (unstated.scores, stated.scores) == ((), (Scores.NONE, Scores.PROBABILITIES))
    assert stated.digest == unstated.digest  # what is measured is the same


def test_an_unknown_meaning_is_reported_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="logits") as raised:
        benchmark(tmp_path, test={"scores": ["logit"]})
    assert "/tests/0/scores/0" in str(raised.value)
