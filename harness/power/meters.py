"""Power meters and their samples."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PowerSamples(Struct, frozen=True):
    """Samples of a meter, in the order of their times.

    Attributes:
        times_s: Seconds since recording began, ascending.
        current_a: Current of each, in amperes.
        voltage_v: Voltage of each, in volts.
    """

    times_s: Floats
    current_a: Floats
    voltage_v: Floats

    @property
    def power_w(self) -> Floats:
        """Power of each, in watts."""
        return self.current_a * self.voltage_v


class PowerMeter(Protocol):
    """A meter that feeds one device. Used by one thread.

    Any of these raises `EnvironmentProblem` when the meter does not do it.
    """

    def start(self) -> None:
        """Begin to record; a recording before it is forgotten. Returns when samples arrive."""

    def stop(self) -> None:
        """End recording. Without effect when nothing is recorded."""

    def samples(self) -> PowerSamples:
        """Return what was recorded last, with as many times as currents and voltages."""

    def close(self) -> None:
        """End recording and the connection; the device is fed on.

        What the meter refuses then is ignored: the samples are here, and opening it again says what is wrong.
        """
