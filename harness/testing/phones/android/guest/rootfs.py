"""File system of a stand-in phone: made once, and put back in part at each boot. Runs inside its outer namespaces."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from harness.testing.phones.android.guest import syscalls
from harness.testing.phones.android.guest.model import (
    CPU,
    POLICIES,
    SERVICES,
    PhoneModel,
    cpu_files,
    properties,
    sensor_files,
)

POWERCTL: Final = "dev/.reboot"
"""Pipe to which the services write when the phone shall reboot."""

_SERVICES: Final = "services"
_PROPERTIES: Final = "services/properties"
_SCRIPTS: Final = Path(__file__).parent / "services"
_NODES: Final = ("null", "zero", "full", "random", "urandom", "tty")


def make(root: Path, model: PhoneModel) -> None:
    """Make everything that outlives a reboot.

    Raises:
        OSError: The kernel refuses something.
    """
    root.mkdir(exist_ok=True)
    syscalls.mount("tmpfs", root, syscalls.NO_SUID | syscalls.NO_DEVICES, "mode=755,size=64m")
    for folder in ("proc", "sys", "dev/pts", "etc", "data", "system/bin", "system/etc", "storage", "usr/lib"):
        (root / folder).mkdir(parents=True)
    syscalls.mount("tmpfs", root / "data", syscalls.NO_SUID | syscalls.NO_DEVICES, "mode=771,size=4g")
    for folder in ("local/tmp", "app-hooks", "data", "media/0", "misc/perfetto-traces"):
        (root / "data" / folder).mkdir(parents=True)
    (root / "sdcard").symlink_to("/data/media/0")
    _write_all(root / _SERVICES, SERVICES, 0o644)
    _write_all(root / _SERVICES, {"drop_caches": ""}, 0o400)
    _write_all(root / _SERVICES, {"real_cpus": str(os.cpu_count() or 1)}, 0o444)
    _write_all(root, sensor_files(), 0o444)
    _make_devices(root)
    _make_programs(root, model)
    if model.arm64_interpreter is not None:
        _register_arm64(root, Path(model.arm64_interpreter))


def reset(root: Path, model: PhoneModel) -> None:
    """Put back what a boot finds fresh: properties and clocks. Charge, heat and settings stay as they are."""
    for folder in (root / CPU, root / _PROPERTIES, root / _SERVICES / "battery/override"):
        if folder.exists():
            shutil.rmtree(folder)
    _write_all(root, cpu_files(), 0o444)
    for first, count, _ in POLICIES:
        for cpu in range(first, first + count):
            (root / CPU / f"cpu{cpu}").mkdir()
            (root / CPU / f"cpu{cpu}" / "cpufreq").symlink_to(f"../cpufreq/policy{first}")
    _write_all(root / _PROPERTIES, properties(model), 0o644)
    for name in ("fixed_performance", "taskset", "thermal/override", "wakefulness"):
        (root / _SERVICES / name).unlink(missing_ok=True)
    _write_all(root / _SERVICES, {"log": ""}, 0o644)


def mark_booted(root: Path) -> None:
    """Say that Android has booted."""
    _write_all(root / _PROPERTIES, {"sys.boot_completed": "1"}, 0o644)


def mark_shutdown(root: Path) -> None:
    """Say that Android is not ready any more."""
    (root / _PROPERTIES / "sys.boot_completed").unlink(missing_ok=True)


def fill_data(root: Path, bytes_left: int) -> None:
    """Leave so much space on /data.

    Raises:
        OSError: The kernel refuses.
    """
    usage = os.statvfs(root / "data")
    used_bytes = (usage.f_blocks - usage.f_bfree) * usage.f_frsize
    syscalls.mount("tmpfs", root / "data", syscalls.REMOUNT, f"size={max(1, used_bytes + bytes_left)}")


def _make_devices(root: Path) -> None:
    for node in _NODES:
        syscalls.bind(Path("/dev") / node, root / "dev" / node, read_only=False)
    syscalls.mount("devpts", root / "dev/pts", syscalls.NO_SUID, "newinstance,ptmxmode=0666,mode=0620")
    (root / "dev/ptmx").symlink_to("pts/ptmx")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (root / "dev" / name).symlink_to(target)
    os.mkfifo(root / POWERCTL)


def _make_programs(root: Path, model: PhoneModel) -> None:
    libraries = Path(model.libraries)
    syscalls.bind(libraries, root / "usr/lib" / libraries.name)
    (root / "lib").symlink_to("usr/lib")
    loader = root / model.loader
    loader.parent.mkdir(parents=True, exist_ok=True)
    loader.symlink_to(f"/usr/lib/{libraries.name}/{loader.name}")
    (root / "bin").symlink_to("/system/bin")
    programs = root / "system/bin"
    for name, program in model.programs.items():
        syscalls.bind(Path(program), programs / name)
    for name in (_SCRIPTS / "toybox.txt").read_text().split():  # Debian's lacks Android's `dd diff expr gzip tr`
        if name not in model.programs:
            (programs / name).symlink_to("toybox")
    shutil.copyfile(_SCRIPTS / "services.sh", programs / "services.sh")
    (programs / "services.sh").chmod(0o755)
    for name in (*(_SCRIPTS / "services.txt").read_text().split(), *(("su",) if model.rooted else ())):
        (programs / name).symlink_to("services.sh")
    (root / "etc/passwd").write_text("root:x:0:0::/:/system/bin/sh\nshell:x:2000:2000::/:/system/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nshell:x:2000:\n")


def _register_arm64(root: Path, interpreter: Path) -> None:
    """Let this phone's kernel start arm64 programs with qemu, which is opened now and needs no path in the phone.

    Raises:
        OSError: The kernel has no such registry for each user namespace (Linux before 6.7).
    """
    registry = root.parent / "binfmt"  # stays mounted: what is registered ends with it
    registry.mkdir()
    syscalls.mount("binfmt_misc", registry)
    # Documentation/admin-guide/binfmt-misc.rst; e_machine 183 is EM_AARCH64 (elf.h)
    magic = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    (registry / "register").write_bytes(b":arm64:M::" + magic + b":" + mask + b":" + os.fsencode(interpreter) + b":F\n")


def _write_all(folder: Path, texts: dict[str, str], mode: int) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
