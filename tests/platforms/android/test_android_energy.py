"""Energy from what a phone tells. Traces are built from published field numbers; none of a real phone was at hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.device import DeviceState
from platforms.android.perfetto_trace import InvalidTrace
from platforms.android.state.energy import EnergyMeter, EnergyWindow, battery_energy
from platforms.android.state.power_rails import Rail, parse_trace, rail_energies_mj, recording_config
from tests.platforms.android.traces import energy, fixed64, message, number, packet, rails_trace


def state(charge_uah: int | None, voltage_mv: int | None = 4000, *, plugged: bool | None = False) -> DeviceState:
    return DeviceState(time=0.0, battery_charge_uah=charge_uah, battery_voltage_mv=voltage_mv, plugged=plugged)


FULL, USED = state(3_010_000, 4000), state(3_000_000, 3800)


def test_energy_is_charge_times_mean_voltage() -> None:
    reading = battery_energy(state(3_000_123, 4000), state(2_999_123, 3800))
    assert reading.energy_mj == {"battery": pytest.approx(1000e-6 * 3600 * 3.9 * 1000)}
    assert reading.reason is None


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (state(20, plugged=True), state(1), "plugged in"),
        (state(20), state(1, plugged=True), "plugged in"),
        (state(20, plugged=None), state(1), "does not report"),
        (state(20), state(1, plugged=None), "does not report"),
        (state(None), state(1), "count charge"),
        (state(20, None), state(1), "voltage"),
        (state(21), state(21), "moved by 0 µAh"),
        (state(1), state(21), "moved by 0 µAh"),
        (state(3_009_000), state(3_000_000), "moved by 9000 µAh in steps of 1000 µAh, and 10 steps are needed"),
        (FULL, state(3_001_000), "steps of 1000 µAh"),
    ],
)
def test_unknown_energy_has_a_reason(before: DeviceState, after: DeviceState, reason: str) -> None:
    reading = battery_energy(before, after)
    assert reading.energy_mj == {}
    assert reason in (reading.reason or "")


def test_ten_steps_of_a_coarse_counter_are_enough() -> None:
    assert battery_energy(state(3_011_000), state(3_001_000)).energy_mj


ODD = packet(number(8, 1), fixed64(99), message(41, energy(7, 1, 1)))
"""Fields that we do not know."""


def test_rails_have_names_and_ordered_readings() -> None:
    trace = rails_trace({0: "CPU", 5: "TPU"}, [(3500, {0: 95, 5: 10}), (1000, {0: 70, 5: 10, 9: 4})]) + ODD
    assert parse_trace(trace) == (
        Rail("9", ((1000, 4),)),
        Rail("CPU", ((1000, 70), (3500, 95))),
        Rail("TPU", ((1000, 10), (3500, 10))),
    )


def test_a_trace_without_rails_has_none() -> None:
    assert parse_trace(b"") == ()
    assert parse_trace(message(1, number(8, 1))) == ()


TRACE = rails_trace({0: "CPU", 1: "GPU"}, [(time_ms, {0: 3 * time_ms, 1: 50}) for time_ms in range(0, 10_000, 250)])


def test_a_truncated_trace_is_invalid() -> None:
    with pytest.raises(InvalidTrace, match="cut off"):
        parse_trace(TRACE[:-3])


@given(st.binary())
def test_any_bytes_are_rails_or_invalid(content: bytes) -> None:
    try:
        parse_trace(content)
    except InvalidTrace:
        return


@given(st.data())
def test_a_damaged_trace_is_rails_or_invalid(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TRACE) - 1))
    damaged = TRACE[:at] + data.draw(st.binary(max_size=3)) + TRACE[at + 1 :]
    try:
        rail_energies_mj(parse_trace(damaged), 1100, 8000)
    except InvalidTrace:
        return


@given(st.floats(0, 7000), st.floats(2250, 2700))
def test_energy_is_interpolated_between_readings(began_ms: float, took_ms: float) -> None:
    """The rail draws 3 mW: three microwatt-seconds a millisecond are three microjoules."""
    energies_mj = rail_energies_mj(parse_trace(TRACE), began_ms, began_ms + took_ms)
    assert energies_mj == {"rail CPU": pytest.approx(3 * took_ms / 1000), "rail GPU": 0.0}


@pytest.mark.parametrize(
    ("began_ms", "ended_ms", "words"),
    [
        (-1, 5000, "from before its start"),
        (5000, 9751, "until after its end"),
        (5000, 6000, "ended too soon"),
    ],
)
def test_a_recording_that_does_not_cover_the_program_is_invalid(began_ms: int, ended_ms: int, words: str) -> None:
    with pytest.raises(InvalidTrace, match=words):
        rail_energies_mj(parse_trace(TRACE), began_ms, ended_ms)


def test_a_counter_that_runs_backwards_is_invalid() -> None:
    backwards = Rail("CPU", tuple((time_ms, 10_000 - time_ms) for time_ms in range(0, 10_000, 250)))
    with pytest.raises(InvalidTrace, match="backwards"):
        rail_energies_mj([backwards], 1000, 8000)


def test_rails_with_the_same_name_are_kept_apart() -> None:
    rail = Rail("CPU", tuple((time_ms, time_ms) for time_ms in range(0, 10_000, 250)))
    assert list(rail_energies_mj([rail, rail, rail], 1000, 8000)) == ["rail CPU", "rail CPU #2", "rail CPU #3"]


def test_the_configuration_asks_for_rails_and_ends_by_itself() -> None:
    text = recording_config(90.5)
    assert "duration_ms: 90500" in text
    assert "collect_power_rails: true" in text
    assert text.count("{") == text.count("}") == 4


def course(trace: bytes = b"", *, began_s: float | None = 1.0, ended_s: float | None = 8.0) -> EnergyWindow:
    return EnergyWindow(FULL, USED.model_copy(update={"battery_charge_uah": 2_000_000}), trace, began_s, ended_s)


def test_a_phone_with_rails_is_always_measured_by_rails() -> None:
    meter = EnergyMeter()
    assert meter.measure(course(TRACE)).energy_mj == {"rail CPU": pytest.approx(21.0), "rail GPU": 0.0}
    assert meter.wants_trace
    later = meter.measure(course())
    assert later.energy_mj == {}
    assert "not recorded this time" in (later.reason or "")


def test_a_phone_without_rails_is_always_measured_by_its_battery() -> None:
    meter = EnergyMeter()
    assert list(meter.measure(course()).energy_mj) == ["battery"]
    assert not meter.wants_trace
    assert list(meter.measure(course(TRACE)).energy_mj) == ["battery"]


def test_a_phone_without_rails_and_on_a_charger_has_a_reason() -> None:
    reading = EnergyMeter().measure(EnergyWindow(state(2), state(1, plugged=True)))
    assert reading.reason == "it has no power rails, and it is plugged in: reach it over Wi-Fi"


def test_an_invalid_recording_does_not_choose_the_meter() -> None:
    meter = EnergyMeter()
    assert "cut off" in (meter.measure(course(TRACE[:-3])).reason or "")
    assert list(meter.measure(course(TRACE)).energy_mj) == ["rail CPU", "rail GPU"]


def test_a_phone_without_uptime_cannot_use_its_rails() -> None:
    reading = EnergyMeter().measure(course(TRACE, began_s=None))
    assert reading.energy_mj == {}
    assert "since boot" in (reading.reason or "")
