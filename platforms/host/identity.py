"""Identity of this machine, which survives reboots and is never empty, and its parts."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import socket
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import psutil

from harness import shell
from harness.core.device import ADDRESS_RANDOMISATION, ON_PROCESSOR, Device, address_randomisation
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from platforms.processors import CPUINFO, parse_processor

_ADDR_NO_RANDOMIZE = 0x0040000
"""Bit of a process's personality (`linux/personality.h`)."""

_MACHINE_ID = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def describe_host(name: str | None, generated: Path, cpus: Sequence[int] = ()) -> Device:
    """Describe this machine as a device.

    Args:
        name: Its name; None takes the host name.
        generated: File for a generated identity, where the system has none.
        cpus: CPUs to choose from; none means all that are allowed.
    """
    display_name = name or socket.gethostname() or "host"
    machine, processor = identity(generated), parse_processor(read_text(CPUINFO) or "")
    return Device(
        platform="host",
        identity=machine if processor is None else f"{machine}{ON_PROCESSOR}{processor.digest}",
        name=display_name,
        kind=_cpu_model(),
        microarchitecture=processor.microarchitecture if processor is not None else "",
        extensions=processor.extensions if processor is not None else (),
        os=_operating_system(),
        abi=platform.machine(),
        cores=len(set(cpus) or allowed_cpus()),
        memory_bytes=psutil.virtual_memory().total,
        attributes={key: value for key, value in _attributes().items() if value},
    )


def identity(generated: Path) -> str:
    """Return sixteen hex digits that identify this machine, the same after every reboot.

    From systemd's machine id (hashed with our name, as its manual asks, so that the raw id stays here), from macOS's
    platform UUID, or, where there is neither, from a random number that is stored in `generated`.
    """
    raw = _system_id() or read_text(generated) or _generate(generated)
    return hashlib.sha256(f"edge-harness:{raw}".encode()).hexdigest()[:16]


def allowed_cpus() -> tuple[int, ...]:
    """Return the CPUs that this process may use: in a container fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    if sys.platform != "darwin" and hasattr(psutil.Process, "cpu_affinity"):
        return tuple(sorted(psutil.Process().cpu_affinity() or ()))
    return tuple(range(os.cpu_count() or 1))


def _generate(path: Path) -> str:
    """Store a random number in a new file, and return it: the same for all processes that come at the same time."""
    with FileLock(path.with_name(f"{path.name}.lock")):
        if (known := read_text(path)) is not None:
            return known
        made = uuid.uuid4().hex
        write_atomically(path, made)
        return made


def _system_id() -> str | None:
    for path in _MACHINE_ID:
        raw = read_text(path)
        if raw and raw != "uninitialized":
            return raw
    if platform.system() == "Darwin":
        match = re.search(
            r'IOPlatformUUID" = "([^"]+)"', shell.read_output(("ioreg", "-rd1", "-c", "IOPlatformExpertDevice")) or ""
        )
        return match.group(1) if match else None
    return None


def _cpu_model() -> str:
    if platform.system() == "Darwin":
        return (shell.read_output(("sysctl", "-n", "machdep.cpu.brand_string")) or "").strip() or platform.machine()
    match = re.search(
        r"^(?:model name|Hardware|Model)\s*:\s*(.+)$", read_text(Path("/proc/cpuinfo")) or "", re.MULTILINE
    )
    return match.group(1).strip() if match else platform.processor() or platform.machine()


def _operating_system() -> str:
    if platform.system() == "Linux":
        try:
            return platform.freedesktop_os_release()["PRETTY_NAME"]
        except (OSError, KeyError):
            return f"Linux {platform.release()}"
    return f"{platform.system()} {platform.release()}"


def _attributes() -> dict[str, str | None]:
    flags = re.search(r"^flags\s*:\s*(.+)$", read_text(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    words = flags.group(1).split() if flags else []
    return {
        "kernel": platform.release(),
        "cpus": ",".join(str(cpu) for cpu in allowed_cpus()),
        "cpus_of_machine": str(os.cpu_count() or 0),
        "governor": read_text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "boost": read_text(Path("/sys/devices/system/cpu/cpufreq/boost")),
        ADDRESS_RANDOMISATION: _address_randomisation(),
        "virtual": "yes" if "hypervisor" in words else None,
        "vector": next((word for word in ("avx512f", "avx2", "avx", "asimd") if word in words), None),
    }


def _address_randomisation() -> str | None:
    """Return whether programs that this process starts get random addresses: `setarch -R` is inherited."""
    personality = read_text(Path("/proc/self/personality"))
    if personality is not None and int(personality, 16) & _ADDR_NO_RANDOMIZE:
        return "off"
    return address_randomisation(read_text(Path("/proc/sys/kernel/randomize_va_space")))


def read_text(path: Path) -> str | None:
    """Return the stripped text of a file; None when it is empty or cannot be read."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None
