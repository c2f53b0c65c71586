"""Packages of apps (`.ipa`): what is in them. Everything in a package may be hostile, and is refused in words."""

from __future__ import annotations

import hashlib
import plistlib
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError

from msgspec import Struct

from harness.core.errors import BenchmarkFailed
from harness.files.digests import sha256_of_file

_PAYLOAD: Final = "Payload"
_INFO: Final = "Info.plist"
_MOST_MEMBERS: Final = 200_000
_INFO_BYTES: Final = 1 << 20
_EXECUTABLE_BYTES: Final = 2 << 30
_TOTAL_BYTES: Final = 64 << 30
_CHUNK_BYTES: Final = 1 << 20
_BUNDLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_ENCRYPTED: Final = 0x1
_HINT: Final = "give the .ipa as Xcode exports it: a zip with one `Payload/NAME.app`"


class PackageInfo(Struct, frozen=True):
    """An .ipa on this machine, and the app in it.

    Attributes:
        path: The file.
        bundle: Bundle identifier of its app.
        version: Its `CFBundleVersion`; empty if it has none.
        name: Its name for people.
        executable: Name of its program inside the bundle.
        executable_sha256: SHA-256 of its program, by which a runner app says which build ran.
        sha256: SHA-256 of the file.
        has_frameworks: Whether code outside of its program is part of it, which the program's digest does not cover.
        size_bytes: Size of the file.
        folder: Folder of the app inside the package: `Payload/NAME.app`.
        tests: Names of its bundles of tests: `Tests.xctest`.
    """

    path: Path
    bundle: str
    version: str
    name: str
    executable: str
    executable_sha256: str
    sha256: str
    has_frameworks: bool
    size_bytes: int
    folder: str
    tests: tuple[str, ...] = ()


def read_package(path: Path) -> PackageInfo:
    """Read what a package says of its app, and the digest of its program.

    Raises:
        BenchmarkFailed: There is no such file, or it is not a package of one app.
    """
    with open_package(path) as archive:
        members = list_members(archive, path)
        folder = _find_app(members, path)
        info = _read_info(archive, members, folder, path)
        bundle = _text(info, "CFBundleIdentifier")
        if _BUNDLE.fullmatch(bundle) is None:
            raise refuse(path, f"{shown(bundle)} is no bundle identifier (`CFBundleIdentifier` in its {_INFO})")
        executable = _text(info, "CFBundleExecutable")
        program = members.get(f"{folder}/{executable}")
        if not executable or "/" in executable or program is None:
            raise refuse(path, f"it has no program {shown(executable)} (`CFBundleExecutable` in its {_INFO})")
        return PackageInfo(
            path=path,
            bundle=bundle,
            version=_text(info, "CFBundleVersion"),
            name=_text(info, "CFBundleDisplayName") or _text(info, "CFBundleName") or executable,
            executable=executable,
            executable_sha256=_digest(archive, program, path),
            sha256=sha256_of_file(path),
            has_frameworks=any(name.startswith(f"{folder}/Frameworks/") for name in members),
            size_bytes=path.stat().st_size,
            folder=folder,
            tests=_find_tests(members, folder),
        )


@contextmanager
def open_package(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a package while the context is open; whatever is wrong with it as a zip, then or later, is said in words.

    Raises:
        BenchmarkFailed: There is no such file, or it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise BenchmarkFailed(f"there is no package {path}", hint=_HINT) from error
    except zipfile.BadZipFile as error:
        raise refuse(path, f"as a zip it is damaged or none: {shown(str(error))}") from error
    except (OSError, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise refuse(path, f"it cannot be read: {shown(str(error) or type(error).__name__)}") from error


def list_members(archive: zipfile.ZipFile, path: Path) -> Mapping[str, zipfile.ZipInfo]:
    """Return the files of a package by name, none of which leads out of its folder, is a link or is there twice.

    Raises:
        BenchmarkFailed: There is such a file, or there are too many, or they are too large together.
    """
    infos = archive.infolist()
    if len(infos) > _MOST_MEMBERS:
        raise refuse(path, f"it holds {len(infos)} files; at most {_MOST_MEMBERS} are read")
    total_bytes = sum(info.file_size for info in infos)
    if total_bytes > _TOTAL_BYTES:
        raise refuse(path, f"unpacked it would have {total_bytes} bytes; at most {_TOTAL_BYTES} are read")
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.orig_filename.removesuffix("/")
        if not name or "\\" in name or "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise refuse(path, f"the name {shown(info.orig_filename)} leads out of its folder")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise refuse(path, f"{shown(name)} is a symbolic link, which no app for iPhones needs")
        if info.flag_bits & _ENCRYPTED:
            raise refuse(path, f"{shown(name)} is encrypted")
        if info.is_dir():
            continue
        if name in members:
            raise refuse(path, f"{shown(name)} is there twice")
        members[name] = info
    return members


def refuse(path: Path, reason: str) -> BenchmarkFailed:
    """Return the error of a package that cannot be used."""
    return BenchmarkFailed(f"{path} is not a package of an app for iPhones: {reason}", hint=_HINT)


def _find_app(members: Mapping[str, zipfile.ZipInfo], path: Path) -> str:
    inside = [name.split("/") for name in members if name.startswith(f"{_PAYLOAD}/")]
    apps = sorted({parts[1] for parts in inside if len(parts) > 2 and parts[1].endswith(".app")})
    if not apps:
        raise refuse(path, f"there is no `{_PAYLOAD}/NAME.app` in it")
    if len(apps) > 1:
        raise refuse(path, f"it holds {len(apps)} apps: {', '.join(map(shown, apps[:5]))}")
    return f"{_PAYLOAD}/{apps[0]}"


def _find_tests(members: Mapping[str, zipfile.ZipInfo], folder: str) -> tuple[str, ...]:
    inside = f"{folder}/PlugIns/"
    names = {name.removeprefix(inside).split("/")[0] for name in members if name.startswith(inside)}
    return tuple(sorted(name for name in names if name.endswith(".xctest")))


def _read_info(
    archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], folder: str, path: Path
) -> dict[str, object]:
    member = members.get(f"{folder}/{_INFO}")
    if member is None:
        raise refuse(path, f"there is no {shown(f'{folder}/{_INFO}')} in it")
    if member.file_size > _INFO_BYTES:
        raise refuse(path, f"its {_INFO} has {member.file_size} bytes; at most {_INFO_BYTES} are read")
    content = archive.read(member)
    try:
        info: object = plistlib.loads(content)
    except (ValueError, ExpatError, OverflowError, RecursionError, LookupError, TypeError, AttributeError) as error:
        # plistlib raises any of these for one or another malformed list
        raise refuse(path, f"its {_INFO} is no property list: {shown(str(error))}") from error
    if not isinstance(info, dict):
        raise refuse(path, f"its {_INFO} is no dictionary")
    return info


def _text(info: Mapping[str, object], key: str) -> str:
    value = info.get(key)
    return value if isinstance(value, str) else ""


def _digest(archive: zipfile.ZipFile, program: zipfile.ZipInfo, path: Path) -> str:
    if program.file_size > _EXECUTABLE_BYTES:
        raise refuse(path, f"its program has {program.file_size} bytes; at most {_EXECUTABLE_BYTES} are read")
    digest = hashlib.sha256()
    with archive.open(program) as content:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def shown(text: str) -> str:
    """Return text from outside as it stands in a message: quoted, escaped, and not too long."""
    return repr(text if len(text) <= 120 else f"{text[:117]}...")
