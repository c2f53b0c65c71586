"""The programs that stand-in phones are made of: those of the machine, or else fetched once into the user's cache."""

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
from harness.testing.phones.android import debian
from harness.testing.phones.unavailable import StandInUnavailable

PACKAGES: Final = ("adbd", "mksh", "toybox")
SUITE: Final = "trixie"
"""The Debian release whose adbd these stand-ins were tried with."""
_LAYOUT: Final = "1"
"""Changes when an older folder in somebody's cache would not do."""
_FETCHED_C_LIBRARY: Final = (2, 41)
"""Version of glibc in that release."""
_C_LIBRARY: Final = (
    *("ld-linux*", "libc.so.6", "libm.so.6", "libmvec.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1"),
    *("libresolv.so.2", "libutil.so.1", "libstdc++.so.6", "libgcc_s.so.1"),
)

_MACHINES: Final = {
    "x86_64": ("x86_64-linux-gnu", "lib64/ld-linux-x86-64.so.2", "x86_64"),
    "aarch64": ("aarch64-linux-gnu", "lib/ld-linux-aarch64.so.1", "arm64-v8a"),
}
"""Folder of the libraries, place of the loader, and Android's name, by the machine's name."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is.

    Attributes:
        adbd: Android's daemon.
        mksh: Android's shell.
        toybox: Android's tools.
        libraries: Folder with the C library and what the programs need, the loader among them.
        loader: Where programs look for the loader, without the leading slash.
        abi: Android's name for what this machine executes.
    """

    adbd: Path
    mksh: Path
    toybox: Path
    libraries: Path
    loader: str
    abi: str


def find() -> Parts:
    """The parts, fetched when this machine has none.

    Raises:
        StandInUnavailable: They cannot be had; says why.
    """
    if platform.machine() not in _MACHINES or platform.system() != "Linux":
        raise StandInUnavailable(f"stand-in phones need Linux on {' or '.join(_MACHINES)}")
    return _installed() or _in(_fetched())


def _installed() -> Parts | None:
    triplet, loader, abi = _MACHINES[platform.machine()]
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    programs = [shutil.which(name, path=path) for name in PACKAGES]
    libraries = Path("/usr/lib") / triplet
    if not (libraries / Path(loader).name).exists():
        return None
    adbd, mksh, toybox = programs
    if adbd is None or mksh is None or toybox is None:
        return None
    return Parts(Path(adbd).resolve(), Path(mksh).resolve(), Path(toybox).resolve(), libraries, loader, abi)


def _in(folder: Path) -> Parts:
    triplet, loader, abi = _MACHINES[platform.machine()]
    return Parts(
        adbd=folder / "usr/lib/android-sdk/platform-tools/adbd",
        mksh=folder / "usr/bin/mksh",
        toybox=folder / "usr/bin/toybox",
        libraries=folder / "usr/lib" / triplet,
        loader=loader,
        abi=abi,
    )


def _fetched() -> Path:
    """The folder in the user's cache; whole, or not there."""
    version = platform.libc_ver()[1]
    known = "\n".join((_LAYOUT, SUITE, platform.machine(), version, *PACKAGES))
    home = settings.default_cache() / "stand-ins"
    folder = home / f"android-{hashlib.sha256(known.encode()).hexdigest()[:16]}"
    if folder.exists():
        return folder
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not folder.exists():
            _fetch(folder, version)
    return folder


def _fetch(folder: Path, version: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetching-") as made:
        content = Path(made) / "content"
        content.mkdir()
        names = debian.fetch(PACKAGES, SUITE, content)
        (content / "packages.txt").write_text("".join(f"{name}\n" for name in names))
        if _number(version) > _FETCHED_C_LIBRARY:
            _take_c_library(_in(content).libraries)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(content / "usr/share")
        content.rename(folder)


def _take_c_library(libraries: Path) -> None:
    """Programs that were compiled here need the C library that is here, where it is the newer one."""
    ours = Path("/usr/lib") / libraries.name
    for pattern in _C_LIBRARY:
        for file in ours.glob(pattern):
            (libraries / file.name).unlink(missing_ok=True)
            shutil.copy2(file, libraries / file.name)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
