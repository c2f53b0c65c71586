"""Packages (.ipa) for stand-in iPhones.

A package is a zip file: `Payload/NAME.app/` with a binary `Info.plist` and the program NAME, which is executable.
"""

from __future__ import annotations

import plistlib
import re
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.files.digests import sha256_of_file
from harness.testing.phones.ios.apps.launching import find_launcher

SHELL_BUNDLE: Final = "org.edge-harness.shell"
"""Bundle identifier of the app that executes commands."""
RUNNER_BUNDLE: Final = "org.edge-harness.runner"
"""Bundle identifier of the app around a runner, if no other is given."""

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
"""Time of all files, so that the same files make the same package."""
_BUNDLE: Final = re.compile(r"[A-Za-z0-9.-]{1,155}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+){0,2}")
_PROGRAM: Final = "runner-program"


def make_package(
    folder: Path,
    program: Path,
    *,
    bundle: str,
    name: str,
    version: str = "1",
    files: Mapping[str, Path] | None = None,
    info: Mapping[str, object] | None = None,
) -> Path:
    """Write `NAME.ipa`, whose executable is a program of this machine.

    Args:
        folder: Where it is written.
        program: Its executable, as it is.
        bundle: Bundle identifier.
        name: Name of the app and of its executable.
        version: `CFBundleVersion`.
        files: Further files of the bundle by their paths in it; executable where they are.
        info: Further members of `Info.plist`.

    Raises:
        ValueError: An iPhone would not take this identifier, name or version.
    """
    return _write(folder, _Contents(program.read_bytes(), bundle, name, version, files or {}, info or {}))


def shell_app(folder: Path, *, bundle: str = SHELL_BUNDLE, version: str = "1") -> Path:
    """Write the package of an app that executes its arguments as a command, as a runner app would its runner.

    Raises:
        StandInUnavailable: Its program cannot be compiled.
    """
    program = _launcher_with_plate("shell", version, "none")
    return _write(folder, _Contents(program, bundle, "EdgeShell", version))


def runner_app(folder: Path, runner: Path, *, bundle: str = RUNNER_BUNDLE, version: str = "1") -> Path:
    """Write the package of an app around a runner of this machine, which gets the app's arguments.

    Two runners make two executables: the digest of the runner is part of the app's program.

    Raises:
        StandInUnavailable: Its program cannot be compiled.
    """
    program = _launcher_with_plate(_PROGRAM, version, sha256_of_file(runner))
    return _write(folder, _Contents(program, bundle, "EdgeRunner", version, {_PROGRAM: runner}))


def _launcher_with_plate(kind: str, version: str, digest: str) -> bytes:
    """Return the launcher followed by the line that it reads in its own program (launcher/launcher.cpp)."""
    _check(_VERSION, version, "version")
    return find_launcher().read_bytes() + f"\n@edge-harness-stand-in@ {kind} {version} {digest}\n".encode()


@dataclass(frozen=True, slots=True)
class _Contents:
    program: bytes
    bundle: str
    name: str
    version: str
    files: Mapping[str, Path] = field(default_factory=dict)
    info: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(_BUNDLE, self.bundle, "bundle identifier")
        _check(_NAME, self.name, "name")
        _check(_VERSION, self.version, "version")


def _write(folder: Path, contents: _Contents) -> Path:
    name = contents.name
    members = {
        "CFBundleDisplayName": name,
        "CFBundleExecutable": name,
        "CFBundleIdentifier": contents.bundle,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleName": name,
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": contents.version,
        "CFBundleSupportedPlatforms": ["iPhoneOS"],
        "CFBundleVersion": contents.version,
        "LSRequiresIPhoneOS": True,
        "MinimumOSVersion": "15.0",
        "UIDeviceFamily": [1, 2],
        "UIFileSharingEnabled": True,
        **contents.info,
    }
    folder.mkdir(parents=True, exist_ok=True)
    package, root = folder / f"{name}.ipa", f"Payload/{name}.app/"
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for directory in ("Payload/", root):
            _add(archive, directory, b"", stat.S_IFDIR | 0o755)
        _add(archive, f"{root}Info.plist", plistlib.dumps(members, fmt=plistlib.FMT_BINARY), stat.S_IFREG | 0o644)
        _add(archive, f"{root}{name}", contents.program, stat.S_IFREG | 0o755)
        for path, file in sorted(contents.files.items()):
            mode = 0o755 if file.stat().st_mode & stat.S_IXUSR else 0o644
            _add(archive, f"{root}{path}", file.read_bytes(), stat.S_IFREG | mode)
    return package


def _add(archive: zipfile.ZipFile, path: str, content: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(path, _EPOCH)
    entry.create_system = 3  # Unix, whose modes these are
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_STORED if path.endswith("/") else zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _check(pattern: re.Pattern[str], text: str, what: str) -> None:
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} is no {what} of an app")
