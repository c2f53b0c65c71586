"""How a stand-in phone leaves the factory: its model, and the files that its services and its kernel show. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

POLICIES: Final = (
    (0, 4, (300_000, 738_000, 1_197_000, 1_803_000)),
    (4, 2, (400_000, 1_197_000, 1_836_000, 2_253_000)),
    (6, 2, (500_000, 1_426_000, 2_252_000, 2_802_000)),
)
"""First CPU, number of CPUs and frequencies (kHz) of each policy: the shape of a phone with three kinds of cores."""

CPU: Final = "sys/devices/system/cpu"


CHARGE: Final = {
    "battery/level": "85",
    "battery/temperature": "270",
    "battery/plugged": "2",
    "battery/charge_counter": "3300000",
    "battery/voltage": "4200",
    "battery/status": "2",
}
"""What the battery service tells, in its units: tenths of degrees, microampere hours, millivolts."""

HEAT: Final = {"thermal/status": "0", "thermal/skin_c": "30.5", "thermal/cpu_c": "38.0"}

SETTINGS: Final = {
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


@dataclass(frozen=True, slots=True)
class Model:
    """One kind of phone.

    Attributes:
        serial: What `ro.serialno` says.
        abi: What `ro.product.cpu.abi` says.
        api: Android's API level.
        rooted: Whether adbd is root, and `su` is there.
        libraries: Folder of this machine with the C library for its programs.
        loader: Where programs look for the dynamic loader, for example `lib64/ld-linux-x86-64.so.2`.
        programs: Programs of this machine that become programs of the phone, by name.
        services: Folder with the script that plays Android's services, and the names of all commands.
        arm64_interpreter: The qemu that executes arm64 programs; None where the phone executes what the machine does.
    """

    serial: str
    abi: str
    api: int
    rooted: bool
    libraries: str
    loader: str
    programs: dict[str, str]
    services: str
    arm64_interpreter: str | None = None

    def to_json(self) -> str:
        """For the command line of the phone's power switch."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


def kernel_files() -> dict[str, str]:
    """What the kernel shows under /sys after a boot, by path without the leading slash."""
    files = {f"{CPU}/{name}": "0-7\n" for name in ("possible", "present", "online")}
    for first, count, frequencies in POLICIES:
        policy = f"{CPU}/cpufreq/policy{first}"
        cpus = " ".join(str(cpu) for cpu in range(first, first + count))
        values = {
            "affected_cpus": cpus,
            "related_cpus": cpus,
            "cpuinfo_min_freq": str(frequencies[0]),
            "cpuinfo_max_freq": str(frequencies[-1]),
            "cpuinfo_transition_latency": "5000000",
            "scaling_available_frequencies": " ".join(map(str, frequencies)),
            "scaling_available_governors": "sched_pixel performance powersave schedutil",
            "scaling_governor": "schedutil",
            "scaling_min_freq": str(frequencies[0]),
            "scaling_max_freq": str(frequencies[-1]),
            "scaling_cur_freq": str(frequencies[1]),
            "scaling_driver": "cpufreq-dt",
            "stats/time_in_state": "\n".join(
                f"{frequency} {1000 * (index + 1)}" for index, frequency in enumerate(frequencies)
            ),
            "stats/total_trans": "42",
        }
        files |= {f"{policy}/{name}": f"{value}\n" for name, value in values.items()}
    return files


def sensor_files() -> dict[str, str]:
    """What the sensors under /sys show, by path without the leading slash."""
    zones = (("VIRTUAL-SKIN", 30_500), ("BIG", 38_000), ("battery", 27_000))
    files: dict[str, str] = {}
    for number, (kind, millidegrees) in enumerate(zones):
        zone = f"sys/class/thermal/thermal_zone{number}"
        files |= {f"{zone}/type": f"{kind}\n", f"{zone}/temp": f"{millidegrees}\n", f"{zone}/mode": "enabled\n"}
    values = {
        "capacity": "85",
        "temp": "270",
        "voltage_now": "4200000",
        "charge_counter": "3300000",
        "current_now": "-250000",
        "status": "Charging",
        "health": "Good",
    }
    return files | {f"sys/class/power_supply/battery/{name}": f"{value}\n" for name, value in values.items()}


def properties(model: Model) -> dict[str, str]:
    """What `getprop` knows after a boot, before `sys.boot_completed`."""
    release = {29: "10", 30: "11", 31: "12", 32: "12", 33: "13", 34: "14", 35: "15", 36: "16"}.get(model.api, "14")
    return {
        "ro.product.manufacturer": "Edge",
        "ro.product.brand": "edge",
        "ro.product.model": "Stand-in",
        "ro.product.name": "standin",
        "ro.product.device": "standin",
        "ro.product.board": "standin",
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
        "ro.build.fingerprint": f"edge/standin/standin:{release}/STAND.IN/1:{'userdebug' if model.rooted else 'user'}",
        "ro.build.type": "userdebug" if model.rooted else "user",
        "ro.build.tags": "dev-keys" if model.rooted else "release-keys",
        "ro.debuggable": "1" if model.rooted else "0",
        "ro.secure": "0" if model.rooted else "1",
        "init.svc.adbd": "running",
        "dev.bootcomplete": "0",
    }
