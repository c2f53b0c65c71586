"""mobile_image_mounter of a stand-in iPhone: whether the developer image is mounted, and developer mode is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_SIGNATURE: Final = bytes(range(128))
_IMAGE_BYTES: Final = 1 << 30
_COMPLETE: Final[dict[str, object]] = {"Status": "Complete"}


def serve(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Answer requests of a client until it hangs up."""
    conditions = phone.conditions
    while True:
        request = connection.read_plist()
        match request.get("Command"):
            case "LookupImage":
                signatures = [_SIGNATURE] if conditions.developer_image else []
                connection.send_plist({**_COMPLETE, "ImageSignature": signatures})
            case "QueryDeveloperModeStatus":
                connection.send_plist({"DeveloperModeStatus": conditions.developer_mode})
            case "ReceiveBytes":
                connection.send_plist({"Status": "ReceiveBytesAck"})
                _discard(connection, request.get("ImageSize"))
                connection.send_plist(_COMPLETE)
            case "MountImage" if not conditions.developer_mode:
                connection.send_plist({"Error": "DeveloperModeDisabled"})
            case "MountImage":
                conditions.developer_image = True
                connection.send_plist(_COMPLETE)
            case "UnmountImage":
                conditions.developer_image = False
                connection.send_plist(_COMPLETE)
            case "Hangup":
                connection.send_plist({"Goodbye": True})
                return
            case _:
                connection.send_plist({"Error": "UnknownCommand"})


def _discard(connection: ServiceConnection, size: object) -> None:
    if not isinstance(size, int) or not 0 <= size <= _IMAGE_BYTES:
        raise ConnectionEnded("no size of an image")
    left = size
    while left:
        left -= len(connection.recv(left))
