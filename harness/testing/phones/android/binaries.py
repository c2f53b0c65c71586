"""Programs that stand-in phones consist of: those of this machine, or else fetched once into the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.config import settings
from harness.files.locks import FileLock
from harness.testing.phones import StandInUnavailable
from harness.testing.phones.android import debian

ARM64: Final = "arm64-v8a"
"""Android's name for what qemu executes on machines of another kind."""

_PACKAGES: Final = ("adbd", "mksh", "toybox")
_SUITE: Final = "trixie"
"""The Debian release whose adbd these stand-ins were tried with."""
_LAYOUT: Final = "1"
"""Changes when an older folder in somebody's cache would not do."""
_FETCHED_GLIBC: Final = (2, 41)
"""Version of glibc in that release."""
_GLIBC_FILES: Final = (
    *("ld-linux*", "libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1"),
    *("libresolv.so.2", "libutil.so.1", "libstdc++.so.6", "libgcc_s.so.1"),
)
_MACHINES: Final = {
    "x86_64": ("x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2", "x86_64"),
    "aarch64": ("aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1", ARM64),
}
"""Folder of the libraries, path of the loader, and Android's name, by the machine's name."""


@dataclass(frozen=True, slots=True)
class PhoneBinaries:
    """Programs and libraries of a phone.

    Attributes:
        adbd: Android's daemon.
        mksh: Android's shell.
        toybox: Android's tools.
        libraries: Folder with the C library and what the programs need, the dynamic loader among them.
        loader: Path where programs expect the loader, without the leading slash.
        abi: Android's name for what this machine executes.
    """

    adbd: Path
    mksh: Path
    toybox: Path
    libraries: Path
    loader: str
    abi: str


def find_binaries() -> PhoneBinaries:
    """Return the programs of this machine; fetch them where it has none.

    Raises:
        StandInUnavailable: They cannot be fetched, or this is no Linux.
    """
    if platform.machine() not in _MACHINES or platform.system() != "Linux":
        raise StandInUnavailable(f"stand-in phones need Linux on {' or '.join(_MACHINES)}")
    return _installed() or _in_folder(_fetched_folder())


def find_qemu() -> Path:
    """Return a qemu that executes arm64 programs and needs no libraries, which phones do not have; fetch it if needed.

    Raises:
        StandInUnavailable: It cannot be fetched.
    """
    if installed := shutil.which("qemu-aarch64-static"):
        return Path(installed)
    program = _cache() / f"qemu-aarch64-{_SUITE}"
    with FileLock(program.with_name(f"{program.name}.lock")):
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=program.parent, prefix=".fetching-") as folder:
                debian.fetch(("qemu-user",), _SUITE, Path(folder))
                (Path(folder) / "usr/bin/qemu-aarch64").rename(program)
    return program


def _cache() -> Path:
    return settings.default_cache() / "stand-ins"


def _installed() -> PhoneBinaries | None:
    triplet, loader, abi = _MACHINES[platform.machine()]
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    adbd, mksh, toybox = (shutil.which(name, path=path) for name in _PACKAGES)
    libraries = Path("/usr/lib") / triplet
    if adbd is None or mksh is None or toybox is None or not (libraries / Path(loader).name).exists():
        return None
    return PhoneBinaries(Path(adbd).resolve(), Path(mksh).resolve(), Path(toybox).resolve(), libraries, loader, abi)


def _in_folder(folder: Path) -> PhoneBinaries:
    triplet, loader, abi = _MACHINES[platform.machine()]
    return PhoneBinaries(
        adbd=folder / "usr/lib/android-sdk/platform-tools/adbd",
        mksh=folder / "usr/bin/mksh",
        toybox=folder / "usr/bin/toybox",
        libraries=folder / "usr/lib" / triplet,
        loader=loader,
        abi=abi,
    )


def _fetched_folder() -> Path:
    """Return the folder in the user's cache, which is complete or not there; fill it first where it is not there."""
    glibc = platform.libc_ver()[1]
    key = "\n".join((_LAYOUT, _SUITE, platform.machine(), glibc, *_PACKAGES))
    folder = _cache() / f"android-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    if not folder.exists():
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not folder.exists():
                _fetch(folder, glibc)
    return folder


def _fetch(folder: Path, glibc: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as temporary:
        content = Path(temporary) / "content"
        content.mkdir()
        names = debian.fetch(_PACKAGES, _SUITE, content)
        (content / "packages.txt").write_text("".join(f"{name}\n" for name in names))
        if tuple(int(part) for part in glibc.split(".") if part.isdigit()) > _FETCHED_GLIBC:
            _take_glibc(_in_folder(content).libraries)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(content / "usr/share")
        content.rename(folder)


def _take_glibc(libraries: Path) -> None:
    """Copy this machine's C library where it is the newer one: programs that are compiled here need it."""
    for pattern in _GLIBC_FILES:
        for file in (Path("/usr/lib") / libraries.name).glob(pattern):
            (libraries / file.name).unlink(missing_ok=True)
            shutil.copy2(file, libraries / file.name)
