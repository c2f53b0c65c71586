"""Energy: asked for by a key or by FAI-PEP's metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.benchmark import Benchmark
from harness.core.errors import SpecificationError
from harness.core.power import PowerMethod, PowerRequest
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
    assert benchmark.power == PowerRequest(method=None if method is None else PowerMethod(method))
    assert benchmark.obstacle is None


def test_keys_of_a_meter_are_refused_in_other_tests(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="a power meter outside a test"):
        loaded(tmp_path, voltage=4.2)


@pytest.mark.parametrize(
    ("fields", "request_"),
    [
        ({"power": {"method": "rapl", "baseline": 1}}, PowerRequest(method=PowerMethod.RAPL, baseline_s=1)),
        ({"metric": "energy", "power": {"window": 5}}, PowerRequest(window_s=5)),
        ({"metric": "delay", "energy": True, "power": {"method": "rapl"}}, PowerRequest(method=PowerMethod.RAPL)),
        ({"method": "monsoon_with_usb"}, PowerRequest(method=PowerMethod.MONSOON)),
        ({"monsoon": {"disable_usb": True}}, PowerRequest(method=PowerMethod.MONSOON, disable_usb=True)),
        (
            {"voltage": 4.2, "monsoon": {"voltage": 4.0}, "collection_time": 100},
            PowerRequest(method=PowerMethod.MONSOON, voltage_v=4.0, collection_time_s=100),
        ),
        (
            {"power": {"method": "monsoon", "voltage": 3.8}, "monsoon": {"voltage": 4.0}},
            PowerRequest(method=PowerMethod.MONSOON, voltage_v=3.8),
        ),
    ],
)
def test_a_power_block_and_fai_peps_keys_say_how_to_meter(
    tmp_path: Path, fields: dict[str, Any], request_: PowerRequest
) -> None:
    benchmark = loaded(tmp_path, **{"metric": "power", **fields})
    assert (benchmark.power, benchmark.energy) == (request_, True)


def test_energy_alone_has_no_baseline(tmp_path: Path) -> None:
    assert loaded(tmp_path, energy=True).power is None


def test_a_word_of_the_users_own_is_no_test_of_energy(tmp_path: Path) -> None:
    benchmark = loaded(tmp_path, metric="energy")
    assert (benchmark.power, benchmark.energy, benchmark.is_about_energy) == (None, False, False)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"power": {"method": "rapl"}}, "does not meter energy"),
        ({"metric": "power", "method": "monson"}, "did you mean `monsoon`"),
        ({"metric": "power", "power": {"method": "scale"}}, "power/method"),
        ({"metric": "power", "power": {"voltage": 400}}, "power/voltage"),
        ({"metric": "power", "power": {"volts": 4}}, "power/volts"),
        ({"metric": "power", "power": {"baseline": 0}}, "power/baseline"),
    ],
)
def test_mistakes_of_meters_are_reported(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecificationError, match=words):
        loaded(tmp_path, **fields)


def test_another_way_to_meter_is_another_benchmark(tmp_path: Path) -> None:
    plain = loaded(tmp_path, metric="power").digest
    assert loaded(tmp_path, metric="power", power={}).digest == plain
    assert loaded(tmp_path, metric="power", power={"method": "rapl"}).digest != plain


def test_the_energy_of_an_app_needs_an_external_meter(tmp_path: Path) -> None:
    test = {"metric": "power", "identifier": "t", "commands": ["--a b"]}
    file = tmp_path / "app.json"
    model = {"name": "m", "format": "none", "platform": "android", "app": {"package": "org.x", "activity": ".A"}}
    for power, has_obstacle in (({}, True), ({"method": "monsoon"}, False)):
        file.write_text(json.dumps({"model": model, "tests": [{**test, "power": power}]}))
        (benchmark,) = load([file]).benchmarks
        assert (benchmark.obstacle is not None) is has_obstacle
