"""Energy: asked for by a key or by FAI-PEP's metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.specification.load import load


def loaded(folder: Path, **fields: Any) -> Benchmark:  # noqa: ANN401 - what a test may say
    test = {"metric": "delay", "identifier": "t", "commands": ["{program}"], **fields}
    file = folder / "spec.json"
    file.write_text(json.dumps({"model": {"name": "m", "format": "none"}, "tests": [test]}))
    (benchmark,) = load([file]).benchmarks
    return benchmark


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, False),
        ({"energy": False}, False),
        ({"energy": True}, True),
        ({"metric": "power"}, True),
        ({"metric": "{what}", "what": "power"}, True),
    ],
)
def test_energy_is_measured_on_request(tmp_path: Path, fields: dict[str, Any], *, wanted: bool) -> None:
    assert loaded(tmp_path, **fields).energy is wanted


def test_a_string_is_not_a_boolean(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="energy"):
        loaded(tmp_path, energy="yes")


def test_only_measuring_energy_changes_the_digest(tmp_path: Path) -> None:
    plain = loaded(tmp_path).digest
    assert loaded(tmp_path, energy=True).digest != plain, "something else runs beside the program"
    assert loaded(tmp_path, energy=False).digest == plain


def test_the_power_metric_always_measures_energy(tmp_path: Path) -> None:
    assert loaded(tmp_path, metric="power", energy=True).digest == loaded(tmp_path, metric="power").digest


@pytest.mark.parametrize("method", [None, "software"])
def test_a_device_that_measures_itself_needs_no_meter(tmp_path: Path, method: str | None) -> None:
    benchmark = loaded(tmp_path, metric="power", **({} if method is None else {"method": method}))
    assert (benchmark.meter, benchmark.obstacle) == ((), None)


def test_keys_of_a_meter_are_refused_in_other_tests(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="choosing the voltage"):
        loaded(tmp_path, voltage=4.2)
