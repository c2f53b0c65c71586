"""Platforms: kinds of devices, and what a platform may offer beside its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from harness.core.device import Device, DeviceStatus
from harness.core.power import PowerMethod
from harness.core.protocols.progress import Progress
from harness.core.protocols.sessions import Session


class Platform(Protocol):
    """A kind of device."""

    name: str

    def devices(self) -> Sequence[Device]:
        """List the devices that can be reached now, in a stable order."""

    def open(self, device: Device, progress: Progress) -> AbstractContextManager[Session]:
        """Lock a device for exclusive use. Leaving the context restores everything that was changed, in every case.

        Raises:
            EnvironmentProblem: Another job uses it for too long, or it cannot be prepared.
        """


@runtime_checkable
class DeviceListing(Protocol):
    """A platform whose devices may be connected and not usable: locked, starting, or not yet trusted.

    Flows wait for such a device, and never measure another in its place without saying so.
    """

    def list_devices(self, wanted: Collection[str] = (), known: Collection[Device] = ()) -> Sequence[DeviceStatus]:
        """List every device that is connected, usable or not, in the order of `devices`; the usable ones are the same.

        Args:
            wanted: Names of devices to look for, where a device can be looked for by its name: on a network.
            known: Devices of an earlier list, which need not be described again while they are connected.
        """


@runtime_checkable
class LocalPlatform(Protocol):
    """A platform whose device is the machine that runs the harness.

    A build would disturb what is measured there, so the next commit is not built meanwhile unless the user wants it;
    and recipes build for the machine that they run on. Ask `is_local`: a platform may also say False.
    """

    runs_on_this_machine: bool


def is_local(platform: Platform) -> bool:
    """Return whether the device of a platform is the machine that runs the harness (`LocalPlatform`)."""
    return isinstance(platform, LocalPlatform) and platform.runs_on_this_machine


@runtime_checkable
class Adjustable(Protocol):
    """A platform that can do something to its devices: restart them, fix their clocks.

    Options that ask for it say so (`harness.config.options.Option.of_device`).
    """

    device_options: Collection[str]
    """Names of the options that it heeds. A flag that it does not name is an error."""


def device_options(platform: Platform) -> Collection[str]:
    """Return the names of the options about devices that a platform heeds (`Adjustable`)."""
    return platform.device_options if isinstance(platform, Adjustable) else ()


@runtime_checkable
class AppStarting(Protocol):
    """A platform that can start installed applications in place of programs (`Command.app`)."""

    app_suffix: str
    """Ending of the name of an application's package, such as `.apk`: a program with this name is installed."""


def app_suffix(platform: Platform) -> str:
    """Return the ending of the names of packages of apps (`AppStarting`); empty where a platform starts none."""
    return platform.app_suffix if isinstance(platform, AppStarting) else ""


@runtime_checkable
class EnergyMetering(Protocol):
    """A platform that can tell, without opening a device, whether the device can meter the energy of programs.

    Where it cannot, tests of energy are skipped with the reason. Of other platforms it is seen at the first launch.
    """

    def find_meter_obstacle(self, device: Device, method: PowerMethod | None) -> str | None:
        """Return why a device's own meter cannot be used, with what helps; None where it may be.

        Args:
            device: The device.
            method: How to meter; None for whatever the device has. Never an external meter.
        """


@runtime_checkable
class Preflighting(Protocol):
    """A platform that can tell what stands in the way of measuring on a device and needs a person.

    Flows ask it before runners are built and models exported, which takes minutes. It locks and changes nothing.
    """

    def preflight(self, device: Device, package: str | None = None) -> None:
        """Check a device, or one app that must be installed there.

        Args:
            device: The device.
            package: Name of the app; None checks the device.

        Raises:
            EnvironmentProblem: Nothing can be measured there until somebody does something: charge it.
            BenchmarkUnsupported: The app is not installed.
            DeviceLost: It cannot be asked now.
        """
