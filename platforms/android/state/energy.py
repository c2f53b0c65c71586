"""Energy of what ran on a phone: from its power rails where it has some, else from its battery's counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.core.device import DeviceState
from platforms.android.state import power_rails
from platforms.android.state.power_rails import TraceBroken

_COULOMB_PER_UAH: Final = 3.6e-3
"""1 µAh = 1e-6 A · 3600 s."""

_FEWEST_STEPS: Final = 10
"""Steps of the battery's counter: below, one step more or less is more than a tenth of what is told."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Energy, or why there is no number.

    Attributes:
        energy_mj: Millijoules by what measured them; nothing when it is not known.
        reason: Why it is not known.
    """

    energy_mj: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Course:
    """What was seen of the phone around a program.

    Attributes:
        before: Its state right before.
        after: Its state right after.
        trace: What `perfetto` wrote; nothing where there is none, or it was not asked.
        began_s: When the program began, seconds since boot; None where that cannot be told.
        ended_s: When it had ended.
    """

    before: DeviceState
    after: DeviceState
    trace: bytes = b""
    began_s: float | None = None
    ended_s: float | None = None


class Meter:
    """Measures the energy of programs on one phone, all of them in the same way: numbers of two kinds do not compare.

    Which way, the first program shows: power rails, or, on a phone that has none, the battery.
    """

    def __init__(self) -> None:
        self._by_rails: bool | None = None

    @property
    def records(self) -> bool:
        """Whether `perfetto` is to run beside the next program."""
        return self._by_rails is not False

    def spent(self, course: Course) -> Spent:
        """The energy of one program that ended well."""
        if self._by_rails is False:
            return battery_energy(course.before, course.after)
        try:
            found = power_rails.parse(course.trace)
            if found:
                self._by_rails = True
                return _rails_energy(found, course)
        except TraceBroken as error:
            return Spent(reason=f"the recording of its power rails cannot be used: {error}")
        if self._by_rails:
            return Spent(reason="its power rails were not recorded this time")
        self._by_rails = False
        spent = battery_energy(course.before, course.after)
        return spent if spent.reason is None else Spent(reason=f"it shows no power rails, and {spent.reason}")


def battery_energy(before: DeviceState, after: DeviceState) -> Spent:
    """What the whole phone took from its battery between two states: charge times mean voltage.

    Coarse: many phones count in steps of a thousand µAh, that is some 14 J, and some only every few seconds. How large
    a step is, is taken from the readings: the largest power of ten of which both are multiples.

    Args:
        before: State before.
        after: State after.
    """
    if before.plugged is None or after.plugged is None:
        return Spent(reason="it does not tell whether it is plugged in")
    if before.plugged or after.plugged:
        return Spent(reason="it is plugged in: reach it over Wi-Fi")
    if before.battery_charge_uah is None or after.battery_charge_uah is None:
        return Spent(reason="its battery does not count charge")
    if before.battery_voltage_mv is None or after.battery_voltage_mv is None:
        return Spent(reason="its battery does not tell its voltage")
    used_uah = before.battery_charge_uah - after.battery_charge_uah
    step_uah = _step_uah(before.battery_charge_uah, after.battery_charge_uah)
    if used_uah < _FEWEST_STEPS * step_uah:
        return Spent(
            reason=f"its battery's counter moved by {max(0, used_uah)} µAh in steps of {step_uah} µAh, "
            f"and {_FEWEST_STEPS} steps are needed: measure for longer"
        )
    mean_mv = (before.battery_voltage_mv + after.battery_voltage_mv) / 2
    return Spent({"battery": used_uah * _COULOMB_PER_UAH * mean_mv})


def _step_uah(*readings: int) -> int:
    step = 1
    while all(reading and reading % (10 * step) == 0 for reading in readings):
        step *= 10
    return step


def _rails_energy(found: tuple[power_rails.Rail, ...], course: Course) -> Spent:
    if course.began_s is None or course.ended_s is None:
        return Spent(reason="it does not tell the time since boot, by which its power rails are recorded")
    return Spent(power_rails.spent_mj(found, course.began_s * 1000, course.ended_s * 1000))
