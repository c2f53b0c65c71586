"""Devices, and their state when a number is measured."""

from typing import Final

from harness.core.values import Value

ADDRESS_RANDOMISATION: Final = "address_randomisation"
"""Attribute of a device whose kernel places memory at random addresses in each launch (`on`, `partial`), or not
(`off`)."""

ON_PROCESSOR: Final = "+"
"""Separates, in the identity of a device, the machine from its processor."""

ELSEWHERE: Final = "elsewhere"
"""Platform of devices that another tool measured on, and with a colon the beginning of their identities: no platform of
ours is called so. Such an identity is a name of devices rather than of one: nothing more is known."""

CLASS: Final = "class:"
"""Beginning of the identity of a class of devices, whose pairs decide a comparison together."""

LINUX_MACHINES: Final = {"arm64-v8a": "aarch64", "x86_64": "x86_64"}
"""Names of processors in Linux (`uname -m`) and in wheels, by Android's names of architectures, where both exist."""

_RANDOMISATIONS: Final = {"0": "off", "1": "partial", "2": "on"}


def address_randomisation(setting: str | None) -> str | None:
    """Return the attribute's value for the kernel's `randomize_va_space`; None where that is unknown."""
    return _RANDOMISATIONS.get(setting.strip()) if setting is not None else None


class Device(Value):
    """Device that a platform can reach.

    Attributes:
        platform: Name of the platform plug-in.
        identity: Unique and stable across reboots: the key of every series. Never empty. A machine that can move to
            another processor, as a virtual one can, ends in `+` and what identifies that: it is another device there.
        name: Name for people.
        kind: Product or CPU model.
        microarchitecture: Name of the microarchitecture, `Zen 5`, or of all, where cores differ; empty if unknown.
        extensions: Its vector and matrix extensions that kernels are chosen by, as the system names them.
        os: Operating system and version.
        abi: Machine architecture, for example `x86_64`.
        cores: Number of CPUs that may be used.
        memory_bytes: Physical memory.
        attributes: Everything else worth keeping: governor, virtualisation, kernel, ...
    """

    platform: str
    identity: str
    name: str
    kind: str = ""
    microarchitecture: str = ""
    extensions: tuple[str, ...] = ()
    os: str = ""
    abi: str = ""
    cores: int = 1
    memory_bytes: int = 0
    attributes: dict[str, str] = {}

    @property
    def names(self) -> frozenset[str]:
        """Names that select it: identity, the identity of its machine on any processor, and name.

        Results of a harness that knew no processors have the second.
        """
        return frozenset({*device_names(self.identity), self.name})


class DeviceStatus(Value):
    """A device that is connected, and whether it can be used.

    Attributes:
        name: Name for people, by which users ask for it.
        state: `ready`, or why it cannot be used: `unauthorized`, `offline`, `booting`, ...
        remedy: What to do when it cannot be used.
        may_return: Whether it may become usable while somebody waits for it; else only another start of the harness
            can find it usable.
        device: Its description; None where it cannot be used.
    """

    name: str
    state: str
    remedy: str = ""
    may_return: bool = True
    device: Device | None = None

    @property
    def explanation(self) -> str:
        """Its name, its state, and what to do about it."""
        return f"{self.name} ({self.state}{f': {self.remedy}' if self.remedy else ''})"


def device_names(identity: str) -> tuple[str, str]:
    """Return the names that the identity of a device gives it: itself, and that of its machine on any processor."""
    return identity, identity.partition(ON_PROCESSOR)[0]


READY: Final = "ready"
"""State of a device that can be used."""


class DeviceState(Value):
    """Conditions that may disturb a measurement, read before and after each launch. None: the device does not say.

    Attributes:
        time: Unix seconds.
        load: Runnable tasks, one-minute average.
        busy: Share (0..1) of the CPU time of the whole machine used since the previous state.
        cpus: Number of CPUs that `busy` is a share of, which may be more than those that may be used.
        frequency_mhz: Current frequency by CPU; 0 for a CPU that does not say, because it is offline for example.
        temperature_c: Temperature of the hottest sensor.
        throttle_count: Thermal throttling events since boot.
        memory_available_bytes: Memory that programs could still get.
        thermal_status: Degree of throttling because of heat: from 0 (none) to 6 (shutting down), as Android's
            `THERMAL_STATUS_*`.
        residency_ms: Milliseconds spent at each frequency (kHz) since boot, by clock domain.
        domain_cpus: CPUs of each clock domain.
        thermal_status_ignored: Whether the user asked to count launches whatever that is.
        battery_percent: Charge of the battery.
        battery_charge_uah: Charge left in the battery, microampere hours.
        battery_voltage_mv: Voltage of the battery.
        plugged: Whether external power is connected.
        uptime_s: Seconds since boot, including those in which it slept.
        awake_s: Seconds since boot in which it did not sleep.
        suspend_count: Times that it fell asleep since boot.
        low_power_mode: Whether its user asked it to save power, which limits its clocks.
        brightness: Brightness of its screen, 0 to 1.
    """

    time: float
    load: float | None = None
    busy: float | None = None
    cpus: int | None = None
    frequency_mhz: tuple[float, ...] | None = None
    temperature_c: float | None = None
    throttle_count: int | None = None
    memory_available_bytes: int | None = None
    thermal_status: int | None = None
    thermal_status_ignored: bool = False
    residency_ms: dict[str, dict[int, int]] = {}
    domain_cpus: dict[str, tuple[int, ...]] = {}
    battery_percent: float | None = None
    battery_charge_uah: int | None = None
    battery_voltage_mv: int | None = None
    plugged: bool | None = None
    uptime_s: float | None = None
    awake_s: float | None = None
    suspend_count: int | None = None
    low_power_mode: bool | None = None
    brightness: float | None = None
