"""Executing arm64 programs in stand-in phones of another kind of machine: qemu, of the machine or fetched."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Final

from harness.config import settings
from harness.files.locks import FileLock
from harness.testing.phones.android import binaries, debian

ABI: Final = "arm64-v8a"
_PACKAGE: Final = "qemu-user"


def interpreter() -> str:
    """A qemu that needs no libraries, because the phones do not have them.

    Raises:
        StandInUnavailable: There is none and it cannot be fetched.
    """
    installed = shutil.which("qemu-aarch64-static")
    return installed or str(_fetched())


def _fetched() -> Path:
    home = settings.default_cache() / "stand-ins"
    program = home / f"qemu-aarch64-{binaries.SUITE}"
    home.mkdir(parents=True, exist_ok=True)
    with FileLock(program.with_name(f"{program.name}.lock")):
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=home, prefix=".fetching-") as made:
                debian.fetch((_PACKAGE,), binaries.SUITE, Path(made))
                (Path(made) / "usr/bin/qemu-aarch64").rename(program)
    return program
