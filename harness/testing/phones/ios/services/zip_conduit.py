"""streaming_zip_conduit of a stand-in iPhone: installs an app from a stream of zip entries without a directory."""

from __future__ import annotations

import contextlib
import struct
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.phone import InvalidPackage
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_ENTRY: Final = b"PK\x03\x04"
_DIRECTORY: Final = b"PK\x01\x02"
_HEADER: Final = struct.Struct("<HHHHHIIIHH")
"""After the signature: version, flags, method, time, date, CRC, both sizes, lengths of name and extra field."""
_STORED: Final = 0
_CHUNK_BYTES: Final = 256 << 10


def serve(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Receive a package, install it, and tell how that goes."""
    connection.read_plist()
    staging = phone.new_staging_folder()
    try:
        problem = _receive(connection, phone, staging)
        if problem is None:
            problem = _install(connection, phone, staging)
    finally:
        phone.remove_staging_folder(staging)
    if problem is None:
        connection.send_plist({"Status": "DataComplete"})
    else:
        error, description = problem
        connection.send_plist({"InstallProgressDict": {"Error": error, "ErrorDescription": description}})


def _install(connection: ServiceConnection, phone: StandInIPhone, staging: Path) -> tuple[str, str] | None:
    for percent, status in ((20, "ExtractingPackage"), (60, "VerifyingApplication")):
        connection.send_plist({"InstallProgressDict": {"Status": status, "PercentComplete": percent}})
    if phone.conditions.refuses_signature:
        return "ApplicationVerificationFailed", "A valid provisioning profile for this executable was not found."
    try:
        phone.adopt(staging)
    except InvalidPackage as refusal:
        return "PackageInspectionFailed", str(refusal)
    return None


def _receive(connection: ServiceConnection, phone: StandInIPhone, staging: Path) -> tuple[str, str] | None:
    """Write every entry of the stream; go on reading after a problem, which is returned at its end."""
    problem: tuple[str, str] | None = None
    while (signature := connection.recv_exactly(len(_ENTRY))) != _DIRECTORY:
        if signature != _ENTRY:
            raise ConnectionEnded("no entry of a zip file")
        _, flags, method, _, _, crc, size, full_size, name_length, extra_length = _HEADER.unpack(
            connection.recv_exactly(_HEADER.size)
        )
        if flags & 8 or method != _STORED or size != full_size:
            raise ConnectionEnded("an entry of a zip file that is not stored")
        name = connection.recv_exactly(name_length).decode(errors="surrogateescape")
        connection.recv_exactly(extra_length)
        try:
            target = _place(staging, name) if problem is None else None
        except InvalidPackage as refusal:
            target, problem = None, ("PackageExtractionFailed", str(refusal))
        problem = _write(connection, phone, target, size, crc) or problem
    return problem


def _place(staging: Path, name: str) -> Path | None:
    """Return where an entry goes, None for one that is no part of the app; folders are made.

    Raises:
        InvalidPackage: Its name leads out of the package.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise InvalidPackage(f"an entry with the name {name!r}")
    if path.parts[:1] == ("META-INF",):
        return None
    target = staging / path
    folder = target if name.endswith("/") else target.parent
    folder.mkdir(parents=True, exist_ok=True)
    return None if name.endswith("/") else target


def _write(
    connection: ServiceConnection, phone: StandInIPhone, target: Path | None, size: int, crc: int
) -> tuple[str, str] | None:
    """Read the content of an entry, all of it, and write it if it goes somewhere; return why that failed."""
    problem: tuple[str, str] | None = None
    content_crc, left = 0, size
    with contextlib.ExitStack() as stack:
        file = None if target is None else stack.enter_context(target.open("wb"))
        while left:
            chunk = connection.recv(min(left, _CHUNK_BYTES))
            content_crc, left = zlib.crc32(chunk, content_crc), left - len(chunk)
            if file is not None and problem is None:
                try:
                    phone.take_room(len(chunk))
                    file.write(chunk)
                except OSError as error:
                    problem = "APIInternalError", error.strerror or str(error)
    if problem is None and content_crc != crc:
        return "PackageExtractionFailed", "an entry arrived damaged"
    return problem
