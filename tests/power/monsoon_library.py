# ruff: noqa: N801, N802, N803, N815 - names of the library
"""Stand-in for Monsoon's library, with its names and arguments, and meters on a clock of their own.

`tests/power/golden/monsoon-0.1.88.json` has the interface of the library; the stand-in must have nothing beyond it. The
behaviour is that of its sources: a loop samples until its trigger says so, commands fail while it does, a connection
belongs to whoever connected last with the same `USB_protocol`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.processes import wait_until

_STEP_S = 1 / 5000
_BATCH = 128
IDLE_MA, LOAD_MA = 250.0, 750.0


class USBError(OSError):
    """As in `usb.core`."""


class NoBackendError(ValueError):
    """As in `usb.core`."""


@dataclass
class Meter:
    """A power meter: what was asked of it, and what it feeds.

    Attributes:
        serial_number: Its serial number.
        calls: What was asked of it.
        load: Begin and end of a program, on the meter's clock.
        is_sampling: Whether it is in sample mode.
        fails_at: Time at which its cable is pulled out.
        hidden: How often it is not found before it is.
        dac_is_wrong: Whether its calibration is out of tolerance.
        now: Seconds that it has sampled.
        target: Seconds until which it samples fast; afterwards it goes on slowly.
    """

    serial_number: str
    calls: list[str] = field(default_factory=list)
    load: tuple[float, float] = (0.0, 0.0)
    is_sampling: bool = False
    fails_at: float = float("inf")
    hidden: int = 0
    dac_is_wrong: bool = False
    now: float = 0.0
    target: float = 0.0

    def wait(self, seconds: float) -> None:
        """Wait until it has sampled so much."""
        end = self.target = self.now + seconds
        while self.now < end and self.is_sampling:
            time.sleep(0.001)

    def clock(self) -> float:
        return self.now

    def run(self) -> str:
        self.load = (self.now + 0.2, self.now + 4.8)
        self.wait(5.0)
        return "done"

    def sample(self) -> NDArray[np.float64]:
        """Return the times of the next samples."""
        count = _BATCH if self.now < self.target else 1
        if count == 1:
            time.sleep(0.001)
        times = np.array([self.now + _STEP_S * number for number in range(1, count + 1)])
        self.now = float(times[-1])
        if self.now > self.fails_at:
            self.is_sampling = False
            raise USBError("No such device")
        return times


@dataclass
class Desk:
    """The meters that are connected to this machine."""

    meters: list[Meter]

    def find(self, find_all: bool = False, custom_match: Callable[[Any], bool] | None = None, **ids: int) -> Any:  # noqa: ANN401 - as PyUSB's
        assert ids in ({}, {"idVendor": 0x2AB9, "idProduct": 0x0001})
        devices = [meter for meter in self.meters if custom_match is None or custom_match(meter)]
        return iter(devices) if find_all else next(iter(devices), None)


def install(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> Mapping[str, ModuleType]:
    """Install the stand-in and PyUSB's where `import` finds them, and return the modules of the library by name."""
    core: Any = ModuleType("usb.core")
    core.USBError, core.NoBackendError, core.find = USBError, NoBackendError, desk.find
    modules = {name: ModuleType(f"Monsoon.{name}") for name in ("HVPM", "Operations", "pmapi", "sampleEngine")}
    for module, classes in _classes(desk).items():
        vars(modules[module]).update(classes)
    packages = {"usb": ModuleType("usb"), "usb.core": core, "Monsoon": ModuleType("Monsoon")}
    for name, installed in {**packages, **{f"Monsoon.{name}": module for name, module in modules.items()}}.items():
        installed.__spec__ = sys.__spec__  # `find_spec` wants some
        monkeypatch.setitem(sys.modules, name, installed)
    return modules


def _classes(desk: Desk) -> Mapping[str, Mapping[str, type]]:
    """Return the classes by module. The connection of `setup_usb` that is shared between all meters is theirs."""

    class statusPacket:
        serialNumber = 0

    class USB_protocol:
        def __init__(self) -> None:
            self.DEVICE: Any = None

        def Connect(self, deviceType: int, serialno: object = None) -> None:
            self.DEVICE = next((m for m in desk.meters if serialno is None or m.serial_number == str(serialno)), None)
            if self.DEVICE is not None and self.DEVICE.hidden:
                self.DEVICE.hidden -= 1
                self.DEVICE = None
            if self.DEVICE is None:
                sys.modules["Monsoon.pmapi"].__dict__.get("print", print)("Unable to find device")

        def sendCommand(self, operation: str, value: float) -> None:
            if self.DEVICE.is_sampling:
                self.stopSampling()
                raise ValueError("Power Monitor Error, attempted to send a command while the unit is in Sample Mode.")
            self.DEVICE.calls.append(f"{operation} {value:g}")

        def startSampling(self, calTime: int, maxTime: int) -> None:
            self.DEVICE.calls.append("start")
            self.DEVICE.is_sampling = True

        def stopSampling(self) -> None:
            if self.DEVICE.now > self.DEVICE.fails_at:
                raise USBError("No such device")
            self.DEVICE.calls.append("stop")
            self.DEVICE.is_sampling = False

        def closeDevice(self) -> None:
            self.stopSampling()
            self.DEVICE.calls.append("close")

    class Monsoon:
        def __init__(self, *args: object, **kwargs: object) -> None:
            self.Protocol: Any = None
            self.statusPacket: Any = statusPacket

        def setup_usb(self, serialno: object = None, Protocol: Any = USB_protocol()) -> None:  # noqa: ANN401, B008 - theirs
            Protocol.Connect(2, serialno)
            self.Protocol = Protocol

        def fillStatusPacket(self) -> None:
            self.statusPacket.serialNumber = self.Protocol.DEVICE.serial_number

        def setPowerUpCurrentLimit(self, value: float) -> None:
            self.Protocol.sendCommand("power-up limit", value)

        def setRunTimeCurrentLimit(self, value: float) -> None:
            self.Protocol.sendCommand("limit", value)

        def setVout(self, value: float) -> None:
            if self.Protocol.DEVICE.dac_is_wrong:
                raise ValueError("dacCalLow out of tolerance.  Recommend running HVPM.calibrateVoltage()")
            self.Protocol.sendCommand("voltage", value)

        def setUSBPassthroughMode(self, USBPassthroughCode: int) -> None:
            self.Protocol.sendCommand("usb", USBPassthroughCode)

        def StartSampling(self, calTime: int = 1250, maxTime: int = 0xFFFFFFFF) -> None:
            self.Protocol.startSampling(calTime, maxTime)

        def stopSampling(self) -> None:
            self.Protocol.stopSampling()

        def closeDevice(self) -> None:
            self.Protocol.closeDevice()

    class channels:
        timeStamp = 0

    class triggers:
        SAMPLECOUNT_INFINITE = 0xFFFFFFFF

        @staticmethod
        def GREATER_THAN(x: float, y: float) -> bool:
            return x > y

    class ErrorHandlingModes:
        off = 0
        full = 1

    class SampleEngine:
        def __init__(
            self,
            Monsoon: Any,  # noqa: ANN401 - it has no types
            bulkProcessRate: int = 128,
            errorMode: int = ErrorHandlingModes.full,
            calsToKeep: int = 5,
        ) -> None:
            assert errorMode == ErrorHandlingModes.off, "else it would swallow errors and begin again by itself"
            self._monsoon, self._is_loud = Monsoon, True
            self._times: list[NDArray[np.float64]] = []
            self._start: Any = None
            self._stop: Any = None

        def ConsoleOutput(self, boolValue: bool) -> None:
            self._is_loud = boolValue

        def setTriggerChannel(self, triggerChannel: int) -> None:
            assert triggerChannel == channels.timeStamp

        def setStartTrigger(self, triggerStyle: Callable[[float, float], bool], triggerLevel: float) -> None:
            self._start = (np.vectorize(triggerStyle), triggerLevel)

        def setStopTrigger(self, triggerstyle: Callable[[float, float], bool], triggerlevel: float) -> None:
            self._stop = (np.vectorize(triggerstyle), triggerlevel)

        def startSampling(
            self, samples: int = 5000, granularity: int = 1, legacy_timestamp: bool = False, calTime: int = 1250
        ) -> None:
            self._times = []
            meter, has_stopped, count = self._monsoon.Protocol.DEVICE, False, 0
            self._zero = meter.now
            self._monsoon.StartSampling(calTime, triggers.SAMPLECOUNT_INFINITE)
            while not has_stopped:
                times = meter.sample()
                count += len(times)
                self._times.append(times)
                assert not self._is_loud
                style, level = self._stop
                has_stopped = bool(np.any(style(times, level))) or count >= samples
            self._monsoon.stopSampling()

        def getSamples(self) -> list[list[float]]:
            assert self._monsoon.statusPacket.serialNumber == self._monsoon.Protocol.DEVICE.serial_number
            times = np.concatenate(self._times) if self._times else np.empty(0)
            began, ended = self._monsoon.Protocol.DEVICE.load
            current = np.where((times >= began) & (times < ended), LOAD_MA, IDLE_MA)
            self._times = []
            return [list(times - self._zero), list(current), [], [], [4.0] * len(times), []]

    return {
        "HVPM": {"Monsoon": Monsoon},
        "Operations": {"statusPacket": statusPacket},
        "pmapi": {"USB_protocol": USB_protocol},
        "sampleEngine": {kind.__name__: kind for kind in (SampleEngine, channels, triggers, ErrorHandlingModes)},
    }


def members(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the public members of a class with their arguments, as `tests.power.monsoon_interface` writes them."""
    import inspect  # noqa: PLC0415 - only here

    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, staticmethod) else member
        if inspect.isfunction(function) and (not name.startswith("_") or name == "__init__"):
            parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
            named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            yield name, ", ".join(p.name if p.default is p.empty else f"{p.name}=" for p in named)
        elif not name.startswith("_"):
            yield name, str(member)


def wait_until_sampling(meter: Meter) -> None:
    """Wait until its thread runs, or has failed."""
    wait_until(lambda: meter.is_sampling or meter.now > meter.fails_at)
