"""Identity and parts of a phone, from one round trip."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Final

from harness.core.device import ADDRESS_RANDOMISATION, Device, address_randomisation
from harness.core.errors import DeviceLost, EnvironmentProblem
from platforms.android.link.phone import Phone
from platforms.android.link.states import BOOTING, remedy_of
from platforms.android.scripts import read_script
from platforms.android.state.state import STATE_SCRIPT, read_state
from platforms.processors import parse_processor

_SCRIPT: Final = read_script("describe.sh") + STATE_SCRIPT
_PROPERTY = re.compile(r"^\[([^\]]+)\]: \[((?:[^\]]|\](?!$))*)\]$", re.MULTILINE)
_OLDEST_API: Final = 26
"""Android 8: before it, Android's shell lacks tools that the harness needs (`flock` and `timeout` among them)."""
_BOOTED: Final = "sys.boot_completed"
_NO_SERIAL: Final = frozenset({"", "unknown", "0123456789ABCDEF", "0"})
"""Serial numbers of phones that have none of their own."""
_EMULATOR = re.compile("EMULATOR[0-9X]+")
"""Serial number of every emulator of one version, `EMULATOR35X2X10X0`."""


class PhoneStarting(DeviceLost):
    """A phone that adb reaches, and on which Android has not started yet."""


def describe_phone(phone: Phone) -> Device:
    """Describe a phone as a device.

    Raises:
        PhoneStarting: Android has not started on it yet.
        DeviceLost: It became unreachable, or does not answer.
        EnvironmentProblem: It is too old, or refuses access.
    """
    phone.check_features()
    result = phone.sh(_SCRIPT)
    if "[state]" not in result.stdout:
        raise EnvironmentProblem(f"{phone.name} does not describe itself: {result.stderr.strip()[:200]}")
    properties = _parse_properties(result.stdout)
    _check_age(phone.name, properties)
    if properties.get(_BOOTED) != "1":
        raise PhoneStarting(f"{phone.name} is still booting", hint=remedy_of(BOOTING))
    return parse_description(phone.serial, result.stdout, time.time())


def parse_description(serial: str, text: str, now: float) -> Device:
    """Parse the output of the script.

    Args:
        serial: Name of the phone for the adb server.
        text: Output of the script.
        now: Unix seconds.
    """
    properties_text, _, rest = text.partition("[more]\n")
    more_text, _, state_text = rest.partition("[state]\n")
    more_text, _, cpuinfo = more_text.partition("[cpuinfo]\n")
    processor = parse_processor(cpuinfo)
    properties = _parse_properties(properties_text)
    more = dict(line.split("=", 1) for line in more_text.splitlines() if "=" in line)
    release, api = properties.get("ro.build.version.release", "?"), properties.get("ro.build.version.sdk", "?")
    model = f"{properties.get('ro.product.manufacturer', '')} {properties.get('ro.product.model', '')}".strip()
    return Device(
        platform="android",
        identity=_identity(properties, serial),
        name=serial,
        kind=model,
        microarchitecture=processor.microarchitecture if processor is not None else "",
        extensions=processor.extensions if processor is not None else (),
        os=f"Android {release} (API {api})",
        abi=properties.get("ro.product.cpu.abi", ""),
        cores=max(1, _parse_integer(more.get("cores"))),
        memory_bytes=1024 * _parse_integer(more.get("memory_kib")),
        attributes={key: value for key, value in _attributes(properties, more, state_text, now).items() if value},
    )


def _parse_properties(text: str) -> Mapping[str, str]:
    """Parse the output of `getprop`, without blanks around values: some makers pad them."""
    return {name: value.strip() for name, value in _PROPERTY.findall(text)}


def serialno_of(device: Device) -> str:
    """Return `ro.serialno` of a described phone; empty where it has none."""
    return device.attributes.get("serialno", "")


def _check_age(name: str, properties: Mapping[str, str]) -> None:
    api = _parse_integer(properties.get("ro.build.version.sdk")) or _OLDEST_API
    if api < _OLDEST_API:
        release = properties.get("ro.build.version.release", "?")
        raise EnvironmentProblem(
            f"{name} has Android {release} (API {api}), which is too old", hint="use a phone with Android 8 or later"
        )


def _identity(properties: Mapping[str, str], serial: str) -> str:
    """Return the phone's own serial number, which no cable, port or network address changes; else its name for adb."""
    numbers = (properties.get(name, "") for name in ("ro.serialno", "ro.boot.serialno"))
    return next((number for number in numbers if number not in _NO_SERIAL and not _EMULATOR.fullmatch(number)), serial)


def _attributes(
    properties: Mapping[str, str], more: Mapping[str, str], state_text: str, now: float
) -> dict[str, str | None]:
    state = read_state(state_text, now).device
    policies = sorted({key.partition(".")[0] for key in more if key.startswith("policy")})
    maker, soc = properties.get("ro.soc.manufacturer", ""), properties.get("ro.soc.model", "")
    hardware = properties.get("ro.board.platform") or properties.get("ro.hardware")
    return {
        "serialno": properties.get("ro.serialno"),
        "soc": f"{maker} {soc}".strip() or hardware,
        "fingerprint": properties.get("ro.build.fingerprint"),
        "kernel": more.get("kernel"),
        ADDRESS_RANDOMISATION: address_randomisation(more.get("randomize_va_space")),
        "root": "adbd" if more.get("id") == "0" else "su" if more.get("su") else "no",
        "governor": ", ".join(dict.fromkeys(more.get(f"{name}.scaling_governor", "?") for name in policies)),
        "clusters": "; ".join(_describe_cluster(more, name) for name in policies),
        "battery": None if state.battery_percent is None else f"{state.battery_percent:.0f} %",
        "temperature": None if state.temperature_c is None else f"{state.temperature_c:.1f} °C",
    }


def _describe_cluster(more: Mapping[str, str], name: str) -> str:
    mhz = _parse_integer(more.get(f"{name}.cpuinfo_max_freq")) // 1000
    return f"CPU {more.get(f'{name}.related_cpus', '?')} up to {mhz} MHz"


def _parse_integer(text: str | None) -> int:
    return int(text) if text and text.strip().isdigit() else 0
