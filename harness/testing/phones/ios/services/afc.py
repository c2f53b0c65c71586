"""AFC of a stand-in iPhone: reads and writes files of the media folder, of crash reports, and of apps' containers."""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.services.folders import AfcRefusal, AfcStatus, FolderView, status_of
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_MAGIC: Final = b"CFA6LPAA"
_HEADER: Final = struct.Struct("<8sQQQQ")
"""Magic, length of all, length of header and arguments, number of the packet, operation."""
_LIMIT_BYTES: Final = 64 << 20
_READ_BYTES: Final = 4 << 20
_BLOCK_BYTES: Final = 4096


class _Operation(IntEnum):
    STATUS = 0x01
    DATA = 0x02
    READ_FOLDER = 0x03
    REMOVE = 0x08
    MAKE_FOLDER = 0x09
    DESCRIBE = 0x0A
    DEVICE_INFO = 0x0B
    OPEN = 0x0D
    OPENED = 0x0E
    READ = 0x0F
    WRITE = 0x10
    SEEK = 0x11
    TELL = 0x12
    TOLD = 0x13
    CLOSE = 0x14
    RESIZE = 0x15
    RENAME = 0x18
    REMOVE_ALL = 0x22


@dataclass(frozen=True, slots=True)
class _Reply:
    operation: _Operation
    arguments: bytes = b""
    payload: bytes = b""


def serve_media(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Serve the folder that every computer sees."""
    serve_folder(connection, phone, phone.media)


def serve_crash_reports(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Serve the folder of crash reports."""
    serve_folder(connection, phone, phone.crash_reports)


def serve_crash_report_mover(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Say that every crash report is where `serve_crash_reports` shows it."""
    del phone  # its reports are written there
    connection.send(b"ping")


def serve_container(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Serve the container of the app that the client names first (house arrest)."""
    request = connection.read_plist()
    bundle = str(request.get("Identifier", ""))
    app = next((app for app in phone.installed_apps() if app.bundle == bundle), None)
    if str(request.get("Command")) not in {"VendContainer", "VendDocuments"}:
        connection.send_plist({"Error": "UnknownCommand"})
    elif app is None:
        connection.send_plist({"Error": "ApplicationLookupFailed"})
    else:
        connection.send_plist({"Status": "Complete"})
        serve_folder(connection, phone, app.container)


def serve_folder(connection: ServiceConnection, phone: StandInIPhone, root: Path) -> None:
    """Answer requests about a folder until the client hangs up."""
    view = FolderView(phone, root)
    try:
        while True:
            number, operation, arguments, payload = _read_packet(connection)
            try:
                reply = _answer(view, operation, arguments, payload)
            except AfcRefusal as refusal:
                reply = _status(refusal.status)
            except OSError as error:
                reply = _status(status_of(error))
            except (struct.error, ValueError, OverflowError):
                reply = _status(AfcStatus.INVALID_ARGUMENT)
            length = _HEADER.size + len(reply.arguments)
            header = _HEADER.pack(_MAGIC, length + len(reply.payload), length, number, reply.operation)
            connection.send(header + reply.arguments + reply.payload)
    finally:
        view.close_all()


def _read_packet(connection: ServiceConnection) -> tuple[int, int, bytes, bytes]:
    magic, length, header_length, number, operation = _HEADER.unpack(connection.recv_exactly(_HEADER.size))
    if magic != _MAGIC or not _HEADER.size <= header_length <= length <= _LIMIT_BYTES:
        raise ConnectionEnded("no packet of AFC")
    arguments = connection.recv_exactly(header_length - _HEADER.size)
    return number, operation, arguments, connection.recv_exactly(length - header_length)


def _answer(view: FolderView, operation: int, arguments: bytes, payload: bytes) -> _Reply:
    match operation:
        case _Operation.READ_FOLDER:
            return _strings(view.list_names(arguments))
        case _Operation.DESCRIBE | _Operation.DEVICE_INFO:
            return _pairs(view.describe(arguments) if operation == _Operation.DESCRIBE else _device_info(view))
        case _Operation.OPEN:
            (mode,) = struct.unpack_from("<Q", arguments)
            return _Reply(_Operation.OPENED, struct.pack("<Q", view.open(arguments[8:], mode)))
        case _Operation.READ:
            number, count = struct.unpack("<QQ", arguments)
            return _Reply(_Operation.DATA, payload=view.read(number, min(count, _READ_BYTES)))
        case _Operation.TELL:
            (number,) = struct.unpack("<Q", arguments)
            return _Reply(_Operation.TOLD, struct.pack("<Q", view.tell(number)))
        case _:
            return _change(view, operation, arguments, payload)


def _change(view: FolderView, operation: int, arguments: bytes, payload: bytes) -> _Reply:
    """Do what has no other answer than success."""
    match operation:
        case _Operation.REMOVE:
            view.remove(arguments, contents=False)
        case _Operation.REMOVE_ALL:
            view.remove(arguments, contents=True)
        case _Operation.MAKE_FOLDER:
            view.make_folder(arguments)
        case _Operation.RENAME:
            source, _, target = arguments.partition(b"\0")
            view.rename(source, target)
        case _Operation.WRITE:
            (number,) = struct.unpack("<Q", arguments)
            view.write(number, payload)
        case _Operation.SEEK:
            view.seek(*struct.unpack("<QQq", arguments))
        case _Operation.RESIZE:
            view.resize(*struct.unpack("<QQ", arguments))
        case _Operation.CLOSE:
            view.close(*struct.unpack("<Q", arguments))
        case _:
            return _status(AfcStatus.UNKNOWN_PACKET)
    return _status(AfcStatus.SUCCESS)


def _device_info(view: FolderView) -> dict[str, bytes]:
    usage, left = shutil.disk_usage(view.root), view.phone.conditions.bytes_left
    values = {
        "Model": view.phone.model.product,
        "FSTotalBytes": usage.total,
        "FSFreeBytes": usage.free if left is None else min(left, usage.free),
        "FSBlockSize": _BLOCK_BYTES,
    }
    return {key: os.fsencode(str(value)) for key, value in values.items()}


def _status(status: AfcStatus) -> _Reply:
    return _Reply(_Operation.STATUS, struct.pack("<Q", status))


def _strings(strings: list[bytes]) -> _Reply:
    return _Reply(_Operation.DATA, payload=b"".join(string + b"\0" for string in strings))


def _pairs(pairs: dict[str, bytes]) -> _Reply:
    return _strings([string for key, value in pairs.items() for string in (key.encode(), value)])
