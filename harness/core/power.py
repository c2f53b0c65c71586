"""Requests for the energy of inferences: how it is metered, and what it is net of; and meters beside devices."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from msgspec import Struct

from harness.core.values import Value

BASELINE_S: Final = 3.0
"""Seconds that the idle device is metered before and after each launch. Rails are read four times a second, and eight
readings are needed."""

WINDOW_S: Final = 3.0
"""Seconds that iterations of a typed test last at least: then a meter's resolution is a small part of its reading."""


class PowerMethod(StrEnum):
    """Way to meter energy, by FAI-PEP's names where it had them.

    `software` is the device's own meter: power rails or battery. `rapl` counts processors of hosts. `monsoon` is a
    power meter that feeds the device.
    """

    SOFTWARE = "software"
    RAPL = "rapl"
    MONSOON = "monsoon"


class PowerRequest(Value):
    """Request for the energy of an inference, net of an idle baseline that is metered beside each launch.

    Attributes:
        method: How to meter; None takes what the device has.
        baseline_s: Seconds of idling before and after each launch, in which the baseline is metered.
        window_s: Seconds that the iterations of a typed test last at least.
        collection_time_s: Limit on one recording of an external meter; None sets it by the time limit of a launch.
        voltage_v: Voltage that an external meter feeds; None takes its default.
        disable_usb: Whether an external meter cuts the device's USB connection while it records.
    """

    method: PowerMethod | None = None
    baseline_s: float = BASELINE_S
    window_s: float = WINDOW_S
    collection_time_s: float | None = None
    voltage_v: float | None = None
    disable_usb: bool = False


class PowerReading(Struct, frozen=True):
    """Reading of an external meter over one launch, or why there is none.

    Attributes:
        load_w: Mean power while the program ran; None where the reading cannot be used.
        idle_w: Mean power of each stretch of idling beside it.
        load_s: Seconds that the load lasted in the trace.
        reason: Why it cannot be used.
    """

    load_w: float | None = None
    idle_w: tuple[float, ...] = ()
    load_s: float = 0.0
    reason: str | None = None


Made = TypeVar("Made")


class LaunchMeter(Protocol):
    """External power meter of one device, with the settings of one benchmark."""

    name: str
    """Name of the meter in results, for example `monsoon`."""

    def record(self, launch: Callable[[], Made]) -> tuple[Made, PowerReading]:
        """Record while the device idles, a launch runs, and the device idles again.

        A trace that cannot be used is a reading with a reason; errors of the launch pass through, and recording has
        ended then.

        Raises:
            EnvironmentProblem: The meter cannot be used.
        """
