"""What a stand-in iPhone is: its model, its conditions, and its apps. Values that services read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FIRST_WITH_TUNNEL: Final = (17,)


@dataclass(slots=True)
class IPhoneModel:
    """What a stand-in iPhone says of itself.

    Attributes:
        udid: Its UDID.
        name: Name that its owner gave it.
        product: Product identifier.
        model: Model number.
        version: Version of iOS; from 17 on its developer services are behind RemoteXPC.
        build: Build of iOS.
        abi: Architecture.
    """

    udid: str
    name: str
    product: str = "iPhone14,7"
    model: str = "D27AP"
    version: str = "16.7.10"
    build: str = "20H350"
    abi: str = "arm64e"

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """Its version as three numbers or more."""
        return (*map(int, self.version.split(".")), 0, 0)

    @property
    def has_tunnel(self) -> bool:
        """Whether services of developers are behind a tunnel: from iOS 17 on, where lockdown has them no more."""
        return self.version_numbers >= _FIRST_WITH_TUNNEL


@dataclass(slots=True)
class PhoneConditions:
    """What a test changes, read whenever a service answers. Any thread may write it.

    Attributes:
        plugged_in: Whether usbmuxd lists it; the cable.
        trusted: What its user answers when asked to trust a computer; None leaves the question unanswered.
        locked: Whether a passcode hides it.
        developer_mode: Whether developer mode is on.
        battery_percent: Charge.
        charging: Whether external power is connected.
        battery_c: Temperature of the battery, degrees Celsius.
        thermal_state: `nominal`, `fair`, `serious` or `critical`: what its apps see.
        low_power_mode: What its apps see.
        brightness: What its apps see, 0 to 1.
        bytes_left: Room for apps and their files; None for as much as there is.
        frozen: Whether it answers nothing, with open connections.
        developer_image: Whether the developer image is mounted, with the services that start and end processes.
        refuses_signature: Whether it installs no app, because none is signed for it.
    """

    plugged_in: bool = True
    trusted: bool | None = True
    locked: bool = False
    developer_mode: bool = True
    battery_percent: float = 88.0
    charging: bool = True
    battery_c: float = 29.5
    thermal_state: str = "nominal"
    low_power_mode: bool = False
    brightness: float = 0.5
    bytes_left: int | None = None
    frozen: bool = False
    developer_image: bool = True
    refuses_signature: bool = False


@dataclass(frozen=True, slots=True)
class StandInApp:
    """An app that is installed on a stand-in iPhone.

    Attributes:
        bundle: Its bundle identifier.
        info: Its `Info.plist`.
        folder: Its bundle on this machine.
        container: Its container on this machine: `Documents`, `Library`, `tmp`.
    """

    bundle: str
    info: dict[str, object]
    folder: Path
    container: Path
