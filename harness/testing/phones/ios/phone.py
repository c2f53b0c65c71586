"""One stand-in iPhone: what a test does to it, and what it sees of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class PhoneModel:
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


@dataclass(slots=True)
class StandInProcess:
    """A process of an app that runs, or ran, on a stand-in iPhone.

    Attributes:
        pid: Its process id on this machine.
        app: Its app.
    """

    pid: int
    app: StandInApp


@dataclass(slots=True)
class StandInIPhone:
    """A stand-in iPhone. Any thread may use it; services read it at each request.

    Attributes:
        model: What it says of itself.
        folder: Its files on this machine: `apps`, `containers`, `crash_reports`, `media`.
        conditions: What a test changes.
        apps: Installed apps by bundle identifier.
        log: Lines of its system log.
    """

    model: PhoneModel
    folder: Path
    conditions: PhoneConditions = field(default_factory=PhoneConditions)
    apps: dict[str, StandInApp] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
