"""Model of a stand-in phone, and what its services and its kernel show when it leaves the factory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

CPU: Final = "sys/devices/system/cpu"
PRODUCT: Final = "Stand-in"

POLICIES: Final = (
    (0, 4, (300_000, 738_000, 1_197_000, 1_803_000)),
    (4, 2, (400_000, 1_197_000, 1_836_000, 2_253_000)),
    (6, 2, (500_000, 1_426_000, 2_252_000, 2_802_000)),
)
"""First CPU, number of CPUs and frequencies (kHz) of each cpufreq policy: a phone with three kinds of cores."""

SERVICES: Final = {
    "battery/level": "85",
    "battery/temperature": "270",
    "battery/plugged": "2",
    "battery/charge_counter": "3300000",
    "battery/voltage": "4200",
    "battery/health": "2",
    "battery/status": "2",
    "thermal/status": "0",
    "thermal/skin_c": "30.5",
    "thermal/cpu_c": "38.0",
    "settings/global/airplane_mode_on": "0",
    "settings/global/stay_on_while_plugged_in": "0",
    "settings/global/window_animation_scale": "1.0",
    "settings/global/transition_animation_scale": "1.0",
    "settings/global/animator_duration_scale": "1.0",
    "settings/global/wifi_on": "1",
    "settings/system/screen_brightness": "102",
    "settings/system/screen_brightness_mode": "1",
    "settings/system/screen_off_timeout": "30000",
}
"""State of the services, which outlives reboots; the battery in tenths of degrees, microampere hours and millivolts."""

_RELEASES: Final = {29: "10", 30: "11", 31: "12", 32: "12", 33: "13", 34: "14", 35: "15", 36: "16"}
"""Android's version by API level."""


@dataclass(frozen=True, slots=True)
class PhoneModel:
    """One kind of phone.

    Attributes:
        serial: Value of `ro.serialno`.
        abi: Value of `ro.product.cpu.abi`.
        api: Android's API level.
        rooted: Whether adbd runs as root, and `su` is there.
        libraries: Folder of this machine with the C library for its programs.
        loader: Path where programs expect the dynamic loader, for example `lib64/ld-linux-x86-64.so.2`.
        programs: Programs of this machine that become programs of the phone, by name.
        arm64_interpreter: The qemu that executes arm64 programs; None where the phone executes what the machine does.
        product: Value of `ro.product.model`.
    """

    serial: str
    abi: str
    api: int
    rooted: bool
    libraries: str
    loader: str
    programs: dict[str, str]
    arm64_interpreter: str | None = None
    product: str = PRODUCT

    def numbered(self, number: int, products: Sequence[str]) -> PhoneModel:
        """Return the model with a serial of its own, and one product after the other."""
        return replace(self, serial=f"{self.serial}{number:04}", product=products[number % len(products)])

    def to_json(self) -> str:
        """Return it as an argument of the controller."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> PhoneModel:
        """Return the model that `to_json` was called on."""
        return cls(**json.loads(text))


def cpu_files() -> dict[str, str]:
    """Return the kernel's files about CPUs after a boot, by path without the leading slash."""
    files = {f"{CPU}/{name}": "0-7\n" for name in ("possible", "present", "online")}
    for first, count, frequencies in POLICIES:
        lowest, highest = str(frequencies[0]), str(frequencies[-1])
        values = {
            "related_cpus": " ".join(str(cpu) for cpu in range(first, first + count)),
            "cpuinfo_min_freq": lowest,
            "cpuinfo_max_freq": highest,
            "scaling_available_frequencies": " ".join(map(str, frequencies)),
            "scaling_available_governors": "sched_pixel performance powersave schedutil",
            "scaling_governor": "schedutil",
            "scaling_min_freq": lowest,
            "scaling_max_freq": highest,
            "scaling_cur_freq": str(frequencies[1]),
            "stats/time_in_state": "\n".join(f"{khz} {1000 * ticks}" for ticks, khz in enumerate(frequencies, 1)),
        }
        files |= {f"{CPU}/cpufreq/policy{first}/{name}": f"{value}\n" for name, value in values.items()}
    return files


def sensor_files() -> dict[str, str]:
    """Return the kernel's files about heat, power and sleep, by path without the leading slash."""
    files = {
        f"sys/class/power_supply/battery/{name}": f"{value}\n"
        for name, value in {
            "capacity": "85",
            "temp": "270",
            "voltage_now": "4200000",
            "charge_counter": "3300000",
            "current_now": "-250000",
            "status": "Charging",
            "health": "Good",
        }.items()
    }
    files["sys/power/suspend_stats/success"] = "0\n"
    for number, (kind, millidegrees) in enumerate((("VIRTUAL-SKIN", 30_500), ("BIG", 38_000), ("battery", 27_000))):
        zone = f"sys/class/thermal/thermal_zone{number}"
        files |= {f"{zone}/type": f"{kind}\n", f"{zone}/temp": f"{millidegrees}\n"}
    return files


def properties(model: PhoneModel) -> dict[str, str]:
    """Return the properties after a boot, before `sys.boot_completed`."""
    release = _RELEASES.get(model.api, "14")
    build_type = "userdebug" if model.rooted else "user"
    return {
        "ro.product.manufacturer": "Edge",
        "ro.product.brand": "edge",
        "ro.product.model": model.product,
        "ro.product.device": "standin",
        "ro.product.cpu.abi": model.abi,
        "ro.product.cpu.abilist": model.abi,
        "ro.board.platform": "standin",
        "ro.hardware": "standin",
        "ro.soc.manufacturer": "Edge",
        "ro.soc.model": "S8",
        "ro.serialno": model.serial,
        "ro.build.version.release": release,
        "ro.build.version.sdk": str(model.api),
        "ro.build.id": "STAND.IN",
        "ro.build.fingerprint": f"edge/standin/standin:{release}/STAND.IN/1:{build_type}",
        "ro.build.type": build_type,
        "ro.debuggable": "1" if model.rooted else "0",
        "ro.secure": "0" if model.rooted else "1",
        "init.svc.adbd": "running",
    }
