"""Energy of programs on a phone: from its power rails where it has some, else from its battery's counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from harness.core.device import DeviceState
from platforms.android.perfetto_trace import InvalidTrace
from platforms.android.state import power_rails

_COULOMB_PER_UAH: Final = 3.6e-3
"""1 µAh = 1e-6 A · 3600 s."""

_FEWEST_STEPS: Final = 10
"""Steps of the battery's counter: with fewer, one step is more than a tenth of the result."""


class EnergyReading(Struct, frozen=True):
    """Energy of a program, or why it is unknown.

    Attributes:
        energy_mj: Millijoules by meter; nothing when unknown.
        reason: Why it is unknown.
    """

    energy_mj: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


class EnergyWindow(Struct, frozen=True):
    """Readings of a phone around a program.

    Attributes:
        before: State of the phone right before.
        after: State right after.
        trace: Output of `perfetto`; nothing where there is none, or it was not requested.
        began_s: When the program began, seconds since boot; None where that is unknown.
        ended_s: When it had ended.
    """

    before: DeviceState
    after: DeviceState
    trace: bytes = b""
    began_s: float | None = None
    ended_s: float | None = None


class EnergyMeter:
    """Meter of one phone, which measures all programs in the same way: numbers of two kinds do not compare.

    The first program decides: power rails, or, on a phone that has none, the battery.
    """

    def __init__(self) -> None:
        self._has_rails: bool | None = None

    @property
    def wants_trace(self) -> bool:
        """True when `perfetto` should run beside the next program."""
        return self._has_rails is not False

    def measure(self, window: EnergyWindow) -> EnergyReading:
        """Return the energy of one program that ended well."""
        if self._has_rails is False:
            return battery_energy(window.before, window.after)
        try:
            rails = power_rails.parse_trace(window.trace)
            if rails:
                self._has_rails = True
                return _rails_energy(rails, window)
        except InvalidTrace as error:
            return EnergyReading(reason=f"the recording of its power rails cannot be used: {error}")
        if self._has_rails:
            return EnergyReading(reason="its power rails were not recorded this time")
        self._has_rails = False
        reading = battery_energy(window.before, window.after)
        return (
            reading if reading.reason is None else EnergyReading(reason=f"it has no power rails, and {reading.reason}")
        )


def battery_energy(before: DeviceState, after: DeviceState) -> EnergyReading:
    """Return what the whole phone took from its battery between two states: charge times mean voltage.

    Coarse: many phones count in steps of a thousand µAh, that is some 14 J, and some only every few seconds. The step
    is derived from the readings: the largest power of ten of which both are multiples.

    Args:
        before: State before.
        after: State after.
    """
    if before.plugged is None or after.plugged is None:
        return EnergyReading(reason="it does not report whether it is plugged in")
    if before.plugged or after.plugged:
        return EnergyReading(reason="it is plugged in: reach it over Wi-Fi")
    if before.battery_charge_uah is None or after.battery_charge_uah is None:
        return EnergyReading(reason="its battery does not count charge")
    if before.battery_voltage_mv is None or after.battery_voltage_mv is None:
        return EnergyReading(reason="its battery does not report its voltage")
    used_uah = before.battery_charge_uah - after.battery_charge_uah
    step_uah = _step_uah(before.battery_charge_uah, after.battery_charge_uah)
    if used_uah < _FEWEST_STEPS * step_uah:
        return EnergyReading(
            reason=f"its battery's counter moved by {max(0, used_uah)} µAh in steps of {step_uah} µAh, "
            f"and {_FEWEST_STEPS} steps are needed: measure for longer"
        )
    mean_mv = (before.battery_voltage_mv + after.battery_voltage_mv) / 2
    return EnergyReading({"battery": used_uah * _COULOMB_PER_UAH * mean_mv})


def _step_uah(*readings: int) -> int:
    step = 1
    while all(reading and reading % (10 * step) == 0 for reading in readings):
        step *= 10
    return step


def _rails_energy(rails: tuple[power_rails.Rail, ...], window: EnergyWindow) -> EnergyReading:
    if window.began_s is None or window.ended_s is None:
        return EnergyReading(reason="it does not report the time since boot, by which its power rails are recorded")
    return EnergyReading(power_rails.rail_energies_mj(rails, window.began_s * 1000, window.ended_s * 1000))
