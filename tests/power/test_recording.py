"""Launches within traces of a meter, and the choice of meters."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from harness.config.parsing import parse_monsoon_map
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, UsageError
from harness.core.power import PowerMethod, PowerRequest
from harness.flows.measure.metering import Meters, choose_meter
from harness.power import monsoon
from harness.power.meters import PowerSamples
from harness.power.recording import TraceMeter
from platforms.host.energy import RaplMeter
from platforms.host.platform import Host
from tests.running.players import benchmark


class FakeMeter:
    """A meter on the clock of a test: 1 W, and 3 W while a program runs."""

    def __init__(self) -> None:
        self.now = 100.0
        self.calls: list[str] = []
        self._started = 0.0
        self.load = (0.0, 0.0)

    def start(self) -> None:
        self.calls.append("start")
        self._started = self.now

    def stop(self) -> None:
        self.calls.append("stop")

    def close(self) -> None:
        self.calls.append("close")

    def samples(self) -> PowerSamples:
        times = np.arange(0, self.now - self._started, 0.001, dtype=np.float64)
        began, ended = (time - self._started for time in self.load)
        power = 1.0 + 2.0 * ((times >= began) & (times < ended))
        return PowerSamples(times, power / 4, np.full(len(times), 4.0))

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def run(self) -> str:
        self.load = (self.now + 0.2, self.now + 4.8)
        self.now += 5.0
        return "done"


def test_a_launch_is_recorded_between_idling() -> None:
    fake = FakeMeter()
    meter = TraceMeter("monsoon", lambda: fake, baseline_s=3.0, clock=lambda: fake.now, wait=fake.wait)
    made, reading = meter.record(fake.run)
    assert (made, fake.calls) == ("done", ["start", "stop", "close"])
    assert reading.load_w == pytest.approx(3.0, rel=0.02)
    assert reading.idle_w == pytest.approx((1.0, 1.0))
    assert reading.load_s == pytest.approx(4.6, abs=0.1)


def test_a_launch_that_fails_ends_the_recording() -> None:
    fake = FakeMeter()
    meter = TraceMeter("monsoon", lambda: fake, baseline_s=3.0, clock=lambda: fake.now, wait=fake.wait)

    def fail() -> None:
        raise BenchmarkFailed("no")

    with pytest.raises(BenchmarkFailed):
        meter.record(fail)
    assert fake.calls == ["start", "stop", "close"]


def test_the_serial_numbers_of_meters_are_read_by_device() -> None:
    assert parse_monsoon_map('{"Pixel 6": 12345, "b": " 7 "}') == {"Pixel 6": "12345", "b": "7"}
    for wrong in ('{"a": true}', '{"a": ""}', '{"a": [1]}', "[1]", "x"):
        with pytest.raises(UsageError, match="monsoon_map"):
            parse_monsoon_map(wrong)


@pytest.mark.parametrize(
    ("serials", "mapped", "words"),
    [
        ((), {}, "none is connected"),
        (("1", "2"), {}, "--monsoon-map"),
        (("1",), {"another": "1"}, "--monsoon-map"),
        (("1",), {"here": "9"}, "connected are 1"),
        (("1",), {}, None),
        (("1", "2"), {"here": "2"}, None),
    ],
)
def test_the_meter_of_a_device_is_chosen_or_missing_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serials: tuple[str, ...], mapped: dict[str, str], words: str | None
) -> None:
    monkeypatch.setattr(monsoon, "list_serials", lambda: serials)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    host = Host(tmp_path / "work", name="here", lock_path=tmp_path / "lock")
    wanted = benchmark(metric="power", energy=True, power=PowerRequest(method=PowerMethod.MONSOON))
    metering = choose_meter(wanted, host.devices()[0], host, Meters(mapped))
    assert (metering.meter is not None) is (words is None)
    assert words is None or words in str(metering.obstacle)


def test_without_its_library_a_monsoon_is_missing_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "edge-harness[monsoon]" in str(monsoon.find_obstacle())


def test_a_host_without_rapl_skips_tests_of_energy_and_only_those(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock", meter=RaplMeter(tmp_path, tmp_path))
    (device,) = host.devices()
    power = benchmark(metric="power", energy=True, power=PowerRequest())
    assert "RAPL" in str(choose_meter(power, device, host, Meters()).obstacle)
    beside = benchmark(metric="delay", energy=True, power=PowerRequest())
    assert choose_meter(beside, device, host, Meters()).obstacle is None


def test_energy_that_is_one_of_several_kinds_is_left_out_and_alone_is_skipped(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock", meter=RaplMeter(tmp_path, tmp_path))
    (device,) = host.devices()
    for kinds in (("delay", "power"), ("power", "memory")):
        several = choose_meter(benchmark(metric=kinds[0], kinds=kinds, power=PowerRequest()), device, host, Meters())
        assert several.obstacle is None
        assert "RAPL" in str(several.unmetered)
    alone = choose_meter(benchmark(metric="power", kinds=("power",), power=PowerRequest()), device, host, Meters())
    assert "RAPL" in str(alone.obstacle)


def test_a_meter_that_fails_is_an_environment_problem() -> None:
    def refuse() -> FakeMeter:
        raise EnvironmentProblem("there is no Monsoon power meter 7")

    with pytest.raises(EnvironmentProblem, match="meter 7"):
        TraceMeter("monsoon", refuse, baseline_s=1.0).record(lambda: None)
