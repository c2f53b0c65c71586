"""Traces are built byte by byte from perfetto's published field numbers; no trace of a real phone was at hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.device import DeviceState
from platforms.android.energy import Rail, TraceBroken, battery_energy, rails, rails_config


def state(charge_uah: int | None, voltage_mv: int | None = 4000, *, plugged: bool | None = False) -> DeviceState:
    return DeviceState(time=0.0, battery_charge_uah=charge_uah, battery_voltage_mv=voltage_mv, plugged=plugged)


def test_energy_is_charge_times_mean_voltage() -> None:
    spent = battery_energy(state(3_001_000, 4000), state(3_000_000, 3800))
    assert spent.energy_mj == pytest.approx(1000e-6 * 3600 * 3.9 * 1000)
    assert spent.reason is None


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (state(2, plugged=True), state(1), "plugged in"),
        (state(2), state(1, plugged=True), "plugged in"),
        (state(2, plugged=None), state(1), "does not tell"),
        (state(None), state(1), "count charge"),
        (state(2, None), state(1), "voltage"),
        (state(2), state(2), "did not move"),
        (state(1), state(2), "did not move"),
    ],
)
def test_there_is_a_reason_where_there_is_no_number(before: DeviceState, after: DeviceState, reason: str) -> None:
    spent = battery_energy(before, after)
    assert spent.energy_mj is None
    assert reason in (spent.reason or "")


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def fixed64(field: int) -> bytes:
    return varint(field << 3 | 1) + bytes(8)


def energy(index: int, time_ms: int, uws: int) -> bytes:
    return message(2, number(1, index), number(2, time_ms), number(3, uws))


def packet(*parts: bytes) -> bytes:
    """A packet with a timestamp, something that we do not know, and power rails."""
    return message(1, number(8, 123456789012), fixed64(99), message(38, number(1, 7)), message(40, *parts))


TRACE = b"".join(
    (
        packet(
            message(1, number(1, 0), message(2, b"S2M_VDD_CPUCL0"), message(3, b"cpu"), number(4, 1023)),
            message(1, number(1, 5), message(2, b"S10M_VDD_TPU"), message(3, b"tpu")),
        ),
        packet(energy(0, 1000, 7_000_000), energy(5, 1000, 10)),
        packet(energy(0, 3500, 9_500_000), energy(5, 3500, 10), energy(9, 3500, 1)),
    )
)


def test_rails_are_named_and_counted_from_the_first_reading_to_the_last() -> None:
    assert rails(TRACE) == (Rail("S10M_VDD_TPU", "tpu", 0.0, 2.5), Rail("S2M_VDD_CPUCL0", "cpu", 2500.0, 2.5))


def test_a_trace_without_rails_has_none() -> None:
    assert rails(b"") == ()
    assert rails(message(1, number(8, 1))) == ()


def test_a_cut_trace_is_broken() -> None:
    with pytest.raises(TraceBroken, match="cut off"):
        rails(TRACE[:-3])


@given(st.binary())
def test_other_bytes_are_rails_or_broken(content: bytes) -> None:
    try:
        rails(content)
    except TraceBroken:
        return


@given(st.data())
def test_a_damaged_trace_is_rails_or_broken(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TRACE) - 1))
    damaged = TRACE[:at] + data.draw(st.binary(max_size=3)) + TRACE[at + 1 :]
    try:
        rails(damaged)
    except TraceBroken:
        return


def test_the_configuration_asks_for_rails() -> None:
    text = rails_config(100)
    assert "battery_poll_ms: 100" in text
    assert "collect_power_rails: true" in text
    assert text.count("{") == text.count("}") == 4
