"""Installed packages that a runner depends on, examined by their metadata: nothing is imported."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from frameworks.python_build import installed_distribution
from harness.core.errors import BuildFailed


class Wheel(Struct, frozen=True):
    """Installed executorch package.

    Attributes:
        version: Its version.
        package: Its folder.
        record: SHA-256 of the list of its files and their hashes (PEP 376's RECORD).
    """

    version: str
    package: Path
    record: str

    @property
    def has_sdk(self) -> bool:
        """Return whether a program can be linked against it, as since 1.5."""
        libraries = self.package / "lib"
        return any(libraries.glob("libexecutorch.*")) and (self.package / "include").is_dir()


def installed_wheel() -> Wheel:
    """Describe the installed executorch package.

    Raises:
        BuildFailed: It is not installed.
    """
    distribution = installed_distribution("executorch")
    record = distribution.read_text("RECORD") or ""
    return Wheel(
        version=distribution.version,
        package=Path(str(distribution.locate_file("executorch"))),
        record=hashlib.sha256(record.encode()).hexdigest(),
    )


def wheel_with_sdk() -> Wheel:
    """Describe the installed executorch package, against which a runner can be compiled.

    Raises:
        BuildFailed: It is not installed, or too old.
    """
    wheel = installed_wheel()
    if not wheel.has_sdk:
        raise BuildFailed(
            f"executorch {wheel.version} contains no C++ SDK to compile a runner against",
            hint="install executorch 1.5 or later, or use the Python runner (`--runner python`)",
        )
    return wheel
