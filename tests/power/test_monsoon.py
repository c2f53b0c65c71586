"""The adapter of Monsoon's library, on a stand-in with the library's interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.power.monsoon import Monsoon, find_obstacle, list_serials
from harness.power.recording import TraceMeter
from harness.shell import Interrupted
from tests.power.monsoon_interface import GOLDEN
from tests.power.monsoon_library import Desk, Meter, install, members, wait_until_sampling

LONGEST_S = 60.0


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk([Meter("007"), Meter("12345")])
    install(monkeypatch, desk)
    return desk


def trace_meter(meter: Meter, *, disable_usb: bool = False) -> TraceMeter:
    """Return a meter of launches on the stand-in's clock."""

    def open_meter() -> Monsoon:
        return Monsoon(meter.serial_number, voltage_v=4.2, longest_s=LONGEST_S, disable_usb=disable_usb)

    def wait(seconds: float) -> None:
        wait_until_sampling(meter)
        meter.wait(seconds)

    return TraceMeter("monsoon", open_meter, baseline_s=3.0, clock=meter.clock, wait=wait)


def test_the_stand_in_has_only_what_the_library_has(monkeypatch: pytest.MonkeyPatch) -> None:
    golden = json.loads(GOLDEN.read_text())
    classes = {
        (module, name): kind
        for module, content in install(monkeypatch, Desk([])).items()
        for name, kind in vars(content).items()
        if isinstance(kind, type)
    }
    assert len(classes) == 7
    for (module, name), kind in classes.items():
        shown = dict(members(kind))
        assert shown.items() <= golden[module][name].items(), f"{module}.{name}"


def test_a_launch_is_metered_and_the_connection_closed(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    meter = desk.meters[1]
    made, reading = trace_meter(meter).record(meter.run)
    assert made == "done"
    assert reading.reason is None
    assert reading.load_w == pytest.approx(3.0, rel=0.02)
    assert reading.idle_w == pytest.approx((1.0, 1.0), rel=0.02)
    assert reading.load_s == pytest.approx(4.6, abs=0.1)
    settings = ["power-up limit 8", "limit 8", "voltage 4.2"]
    assert meter.calls == ["stop", *settings, "start", "stop", "stop", "close"]
    assert not desk.meters[0].calls
    assert not capsys.readouterr().out


def test_each_launch_opens_the_meter_again(desk: Desk) -> None:
    meter = desk.meters[0]
    launches = trace_meter(meter)
    for _ in range(2):
        assert launches.record(meter.run)[1].load_w == pytest.approx(3.0, rel=0.02)
        assert meter.calls[-1] == "close"


def test_two_meters_share_neither_connection_nor_calibration(desk: Desk) -> None:
    first, second = (Monsoon(meter.serial_number, longest_s=LONGEST_S) for meter in desk.meters)
    for monsoon, meter in zip((first, second), desk.meters, strict=True):
        monsoon.start()
        wait_until_sampling(meter)
        meter.wait(0.1)
        monsoon.stop()
        assert len(monsoon.samples().times_s) > 0
    first.close()
    assert desk.meters[0].calls[-1] == "close"
    assert "close" not in desk.meters[1].calls
    second.close()


@pytest.mark.parametrize("error", [BenchmarkFailed("no"), Interrupted("stop"), KeyboardInterrupt()])
def test_a_launch_that_ends_early_leaves_nothing_open(desk: Desk, error: BaseException) -> None:
    meter = desk.meters[0]

    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        trace_meter(meter, disable_usb=True).record(fail)
    assert meter.calls[-6:] == ["usb 0", "start", "stop", "usb 1", "stop", "close"]
    assert not meter.is_sampling


def test_a_meter_that_refuses_its_settings_is_closed(desk: Desk) -> None:
    meter = desk.meters[0]
    meter.dac_is_wrong = True
    with pytest.raises(EnvironmentProblem, match="calibrateVoltage"):
        Monsoon("007", longest_s=LONGEST_S)
    assert meter.calls[-1] == "close"


def test_a_cable_that_is_pulled_out_leaves_a_launch_without_energy(desk: Desk) -> None:
    meter = desk.meters[0]
    meter.fails_at = 2.0

    def run() -> str:
        return "done"

    made, reading = trace_meter(meter).record(run)
    assert (made, reading.load_w) == ("done", None)
    assert "No such device" in str(reading.reason)


def test_a_meter_returns_after_its_reset_and_stops_what_was_left_recording(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    meter = desk.meters[0]
    meter.hidden, meter.is_sampling = 2, True
    Monsoon("007", longest_s=LONGEST_S).close()
    assert meter.calls[0] == "stop"
    captured = capsys.readouterr()
    assert not captured.out, "standard output is for results"
    assert "Unable to find device" in captured.err


def test_connected_meters_are_listed(desk: Desk) -> None:
    assert list_serials() == ("007", "12345")
    assert find_obstacle() is None
    desk.meters.clear()
    assert "none is connected" in str(find_obstacle())


def test_the_interface_is_that_of_a_version_of_the_library() -> None:
    assert GOLDEN.name == "monsoon-0.1.88.json"
    assert "Monsoon>=0.1.88" in (Path(__file__).parents[2] / "pyproject.toml").read_text()
