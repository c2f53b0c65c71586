"""Monsoon's High Voltage Power Monitor, by its maker's library (`Monsoon` on PyPI, MIT; extra `monsoon`).

The library samples in a loop of its own until a trigger stops it, prints what goes wrong, and keeps samples in lists:
here it runs in a thread, its words go to standard error, and the number of samples is limited. It shares one connection
and one set of calibration values between all of its meters, so that two would read from the last: here each has its
own. Source: `HVPM.py`, `pmapi.py`, `Operations.py` and `sampleEngine.py` of version 0.1.88. Unproven on a real meter:
none was at hand.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from harness.core.errors import EnvironmentProblem
from harness.power.meters import PowerSamples
from harness.shell import poll_until

SAMPLES_PER_S: Final = 5000
DEFAULT_V: Final = 4.0
"""FAI-PEP's, of a phone's battery that is nearly full."""
_LARGEST_A: Final = 8.0
"""Limit of the current while the device starts and runs. FAI-PEP has 14 A, the most that the meter can feed."""
_STARTS_S: Final = 15.0
_LIBRARY: Final = ("HVPM", "Operations", "pmapi", "sampleEngine")
_RETURNS_S: Final = 6.0
"""Time in which a meter is there again after it was closed, which resets it; its library waits for 5 s."""
_USB_OFF, _USB_ON = 0, 1
_TIME, _CURRENT, _VOLTAGE = 0, 1, 4
"""Columns of `SampleEngine.getSamples()`: seconds, milliamperes, volts."""
_VENDOR, _PRODUCT = 0x2AB9, 0x0001


def find_obstacle() -> str | None:
    """Return why no Monsoon power meter can be used, with what helps; None where it can."""
    if importlib.util.find_spec("Monsoon") is None or importlib.util.find_spec("usb") is None:
        return "needs the library of Monsoon power meters: pip install 'edge-harness[monsoon]'"
    try:
        serials = list_serials()
    except EnvironmentProblem as error:
        return error.message
    return None if serials else "needs a Monsoon power meter, and none is connected to this machine"


def list_serials() -> Sequence[str]:
    """Return the serial numbers of the meters that are connected to this machine.

    Raises:
        EnvironmentProblem: USB devices cannot be listed.
    """
    core: Any = importlib.import_module("usb.core")
    try:
        devices = tuple(core.find(find_all=True, idVendor=_VENDOR, idProduct=_PRODUCT))
        return tuple(str(device.serial_number) for device in devices)
    except (core.USBError, core.NoBackendError, ValueError, OSError) as error:
        raise EnvironmentProblem(
            f"needs a Monsoon power meter, and USB devices cannot be listed: {error}",
            hint="install libusb, and let this user use the meter (a rule of udev for 2ab9:0001)",
        ) from error


class Monsoon:
    """One Monsoon power meter (`PowerMeter`), which feeds its device from the moment it is opened.

    Args:
        serial: Serial number; None takes the only one.
        voltage_v: Voltage that it feeds.
        longest_s: Limit on a recording.
        disable_usb: Whether the device's USB connection is cut while it records.

    Raises:
        EnvironmentProblem: It is not there, or does not answer.
    """

    def __init__(
        self, serial: str | None = None, *, voltage_v: float = DEFAULT_V, longest_s: float, disable_usb: bool = False
    ) -> None:
        self._limit = int(SAMPLES_PER_S * longest_s)
        self._disable_usb = disable_usb
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: str | None = None
        self._errors: tuple[type[Exception], ...] = _errors()
        self._is_usb_cut = False
        hvpm, self._operations, self._pmapi, self._sampling = map(_import, _LIBRARY)
        self._device: Any = hvpm.Monsoon()
        try:
            with _mapped(f"Monsoon power meter {serial or ''}".rstrip()):
                self._connect(serial)
                self._set_up(voltage_v)
        except BaseException:
            self.close()
            raise

    def _connect(self, serial: str | None) -> None:
        """Connect as soon as it is there, and end what a harness that was killed may have left it recording."""
        if not poll_until(lambda: self._is_found(serial), _RETURNS_S):
            raise EnvironmentProblem(
                f"there is no Monsoon power meter {serial or ''}".rstrip(), hint="check --monsoon-map and its cable"
            )
        self._device.stopSampling()

    def _is_found(self, serial: str | None) -> bool:
        self._device.setup_usb(serial, self._pmapi.USB_protocol())
        return self._device.Protocol.DEVICE is not None

    def _set_up(self, voltage_v: float) -> None:
        self._device.statusPacket = self._operations.statusPacket()
        self._device.fillStatusPacket()
        self._device.setPowerUpCurrentLimit(_LARGEST_A)
        self._device.setRunTimeCurrentLimit(_LARGEST_A)
        self._device.setVout(voltage_v)
        library = self._sampling
        self._engine: Any = library.SampleEngine(self._device, errorMode=library.ErrorHandlingModes.off)
        self._engine.ConsoleOutput(False)
        self._engine.setTriggerChannel(library.channels.timeStamp)
        self._engine.setStartTrigger(library.triggers.GREATER_THAN, 0)
        self._engine.setStopTrigger(lambda _value, _level: self._stopped.is_set(), 0)

    def start(self) -> None:
        """Record in a thread, until `stop` or the limit."""
        self.stop()
        self._stopped.clear()
        self._failure = None
        if self._disable_usb:
            self._is_usb_cut = True
            with _mapped("the Monsoon power meter"):
                self._device.setUSBPassthroughMode(_USB_OFF)
        self._thread = threading.Thread(target=self._record, name="monsoon", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stopped.set()
        thread.join(_STARTS_S)
        if thread.is_alive():
            raise EnvironmentProblem("the Monsoon power meter does not stop", hint="switch it off and on again")
        self._connect_usb()

    def close(self) -> None:
        """End recording and the connection, as far as it answers. It feeds its device on."""
        with contextlib.suppress(EnvironmentProblem):
            self.stop()
        with contextlib.suppress(EnvironmentProblem):
            self._connect_usb()
        with contextlib.suppress(*self._errors):
            self._device.closeDevice()

    def samples(self) -> PowerSamples:
        """Return the samples; their times begin at 0."""
        if self._failure is not None:
            raise EnvironmentProblem(f"the Monsoon power meter failed: {self._failure}")
        columns = self._engine.getSamples()
        fewest = min(len(columns[column]) for column in (_TIME, _CURRENT, _VOLTAGE))
        times_s, current_ma, voltage_v = (
            np.asarray(columns[column][:fewest], dtype=np.float64) for column in (_TIME, _CURRENT, _VOLTAGE)
        )
        return PowerSamples(times_s, current_ma / 1000, voltage_v)

    def _connect_usb(self) -> None:
        """Connect the device's USB again, where it was cut."""
        if self._is_usb_cut:
            with _mapped("the Monsoon power meter"):
                self._device.setUSBPassthroughMode(_USB_ON)
            self._is_usb_cut = False

    def _record(self) -> None:
        try:
            self._engine.startSampling(self._limit)
        except self._errors as error:
            self._failure = str(error) or type(error).__name__
            with contextlib.suppress(*self._errors):
                self._device.stopSampling()


def _import(name: str) -> Any:  # noqa: ANN401 - it has no types
    """Import a module of the library, whose words go to standard error: standard output is for results."""
    module: Any = importlib.import_module(f"Monsoon.{name}")
    module.print = functools.partial(print, file=sys.stderr)
    return module


def _errors() -> tuple[type[Exception], ...]:
    core: Any = importlib.import_module("usb.core")
    return (core.USBError, core.NoBackendError, OSError, ValueError, TypeError, AttributeError, IndexError)


@contextlib.contextmanager
def _mapped(what: str) -> Any:  # noqa: ANN401 - a generator of nothing
    """Map what the library raises, also where a meter answers nothing and it computes with None."""
    try:
        yield
    except _errors() as error:
        raise EnvironmentProblem(f"{what} does not answer: {error}", hint="check its cable and its power") from error
