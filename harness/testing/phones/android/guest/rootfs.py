"""Making the file system of a stand-in phone, once, and putting back what each boot finds fresh."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from harness.testing.phones.android.guest import model as hardware
from harness.testing.phones.android.guest import syscalls

_NODES: Final = ("null", "zero", "full", "random", "urandom", "tty")
WISHES: Final = "dev/.reboot"
"""A pipe to which the services write when the phone shall reboot."""
SERVICES: Final = "services"
PROPERTIES: Final = "services/properties"


def furnish(root: Path, model: hardware.Model) -> None:
    """Make everything that outlives a reboot. Runs inside the namespaces of the phone.

    Raises:
        OSError: The kernel refuses something.
    """
    root.mkdir(exist_ok=True)
    syscalls.mount("tmpfs", root, syscalls.NO_SUID | syscalls.NO_DEVICES, "mode=755,size=64m")
    for folder in (
        "proc",
        "sys",
        "dev/pts",
        "etc",
        "data",
        "system/bin",
        "system/etc",
        "storage",
        "services",
        "usr/lib",
    ):
        (root / folder).mkdir(parents=True)
    syscalls.mount("tmpfs", root / "data", syscalls.NO_SUID | syscalls.NO_DEVICES, "mode=771,size=4g")
    _make_services(root)
    _make_data(root)
    _make_devices(root)
    _make_programs(root, model)
    if model.arm64_interpreter is not None:
        _execute_arm64(root, Path(model.arm64_interpreter))


def _make_services(root: Path) -> None:
    for name, text in (hardware.CHARGE | hardware.HEAT | hardware.SETTINGS).items():
        _write(root / SERVICES / name, text, 0o644)
    _write(root / SERVICES / "drop_caches", "", 0o400)
    _write(root / SERVICES / "real_cpus", str(os.cpu_count() or 1), 0o444)
    for name, text in hardware.sensor_files().items():
        _write(root / name, text, 0o444)


def _make_data(root: Path) -> None:
    for folder in ("data/local/tmp", "data/app-hooks", "data/data", "data/media/0", "data/misc/perfetto-traces"):
        (root / folder).mkdir(parents=True)
    (root / "sdcard").symlink_to("/data/media/0")


def _make_devices(root: Path) -> None:
    for node in _NODES:
        syscalls.show(Path("/dev") / node, root / "dev" / node, read_only=False)
    syscalls.mount("devpts", root / "dev/pts", syscalls.NO_SUID, "newinstance,ptmxmode=0666,mode=0620")
    (root / "dev/ptmx").symlink_to("pts/ptmx")
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        (root / "dev" / name).symlink_to(target)
    os.mkfifo(root / WISHES)


def _make_programs(root: Path, model: hardware.Model) -> None:
    libraries = Path(model.libraries)
    syscalls.show(libraries, root / "usr/lib" / libraries.name)
    (root / "lib").symlink_to("usr/lib")
    loader = root / model.loader
    loader.parent.mkdir(parents=True, exist_ok=True)
    loader.symlink_to(f"/usr/lib/{libraries.name}/{loader.name}")
    (root / "bin").symlink_to("/system/bin")
    programs = root / "system/bin"
    for name, place in model.programs.items():
        syscalls.show(Path(place), programs / name)
    data = Path(model.services)
    for name in (data / "toybox.txt").read_text().split():  # Debian's toybox lacks Android's `dd diff expr gzip tr`
        (programs / name).symlink_to("toybox")
    shutil.copyfile(data / "services.sh", programs / "services.sh")
    (programs / "services.sh").chmod(0o755)
    for name in (*(data / "services.txt").read_text().split(), *(("su",) if model.rooted else ())):
        (programs / name).symlink_to("services.sh")
    (root / "etc/passwd").write_text("root:x:0:0::/:/system/bin/sh\nshell:x:2000:2000::/:/system/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nshell:x:2000:\n")


def _execute_arm64(root: Path, interpreter: Path) -> None:
    """Let this phone's kernel start arm64 programs with qemu, which is opened now and needs no place in the phone.

    Raises:
        OSError: The kernel has no such register for each user namespace (Linux before 6.7).
    """
    register = root.parent / "binfmt"  # stays mounted: what was registered goes with it
    register.mkdir()
    syscalls.mount("binfmt_misc", register)
    # Documentation/admin-guide/binfmt-misc.rst; e_machine 183 is EM_AARCH64 (elf.h)
    magic = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    (register / "register").write_bytes(b":arm64:M::" + magic + b":" + mask + b":" + os.fsencode(interpreter) + b":F\n")


def reset(root: Path, model: hardware.Model) -> None:
    """Put back what a boot finds fresh: properties and clocks. Charge, heat and settings stay as they are."""
    _remove(root / hardware.CPU)
    _remove(root / PROPERTIES)
    for name, text in hardware.kernel_files().items():
        _write(root / name, text, 0o444)
    for first, count, _ in hardware.POLICIES:
        for cpu in range(first, first + count):
            (root / hardware.CPU / f"cpu{cpu}").mkdir()
            (root / hardware.CPU / f"cpu{cpu}" / "cpufreq").symlink_to(f"../cpufreq/policy{first}")
    for name, text in hardware.properties(model).items():
        _write(root / PROPERTIES / name, text, 0o644)
    for name in ("fixed_performance", "taskset", "thermal/told", "wakefulness"):
        (root / SERVICES / name).unlink(missing_ok=True)
    _remove(root / SERVICES / "battery/told")
    _write(root / SERVICES / "log", "", 0o644)


def finish_booting(root: Path) -> None:
    """Say that the system is ready."""
    _write(root / PROPERTIES / "dev.bootcomplete", "1", 0o644)
    _write(root / PROPERTIES / "sys.boot_completed", "1", 0o644)


def begin_to_end(root: Path) -> None:
    """Say that the system is not ready any more."""
    (root / PROPERTIES / "sys.boot_completed").unlink(missing_ok=True)


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
