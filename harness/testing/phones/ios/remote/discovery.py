"""Remote service discovery (RSD): a phone's properties, and which service is at which port of its tunnel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_DNS, uuid5

from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.connection import REQUESTS, RemoteXpcConnection
from harness.testing.phones.ios.remote.http2 import MalformedFrame
from harness.testing.phones.ios.remote.xpc import MalformedXpc, Unsigned, XpcDictionary, XpcObject
from harness.testing.phones.ios.usbmux.connection import ServiceConnection
from harness.testing.phones.ios.usbmux.services import Service

XpcSession = Callable[[RemoteXpcConnection, StandInIPhone], None]
"""What serves one connection whose streams of RemoteXPC are open."""

_PROTOCOL: Final = Unsigned(3)


@dataclass(frozen=True, slots=True)
class RemoteServiceEntry:
    """A service at the far end of a tunnel.

    Attributes:
        name: Its name in the list.
        serve: What serves a connection.
        developer: Whether it is there in developer mode only, with a developer image.
        uses_xpc: Whether it speaks RemoteXPC; the others have bytes of their own.
        features: Names of what it does, where it speaks RemoteXPC.
    """

    name: str
    serve: Service
    developer: bool = False
    uses_xpc: bool = False
    features: tuple[str, ...] = ()


def serve_xpc(session: XpcSession) -> Service:
    """Return a service that opens the streams of RemoteXPC, and refuses a client that breaks the protocol."""

    def serve(stream: ServiceConnection, phone: StandInIPhone) -> None:
        connection = RemoteXpcConnection(stream)
        try:
            connection.open()
            session(connection, phone)
        except (MalformedFrame, MalformedXpc) as error:
            connection.refuse(str(error))

    return serve


def serve_discovery(services: Mapping[RemoteServiceEntry, int]) -> Service:
    """Return the service that lists services.

    Args:
        services: The services that a phone has now, each with its port.
    """
    described = {entry.name: _describe_service(entry, port) for entry, port in services.items()}

    def send_handshake(connection: RemoteXpcConnection, phone: StandInIPhone) -> None:
        handshake: XpcDictionary = {
            "MessageType": "Handshake",
            "MessagingProtocolVersion": _PROTOCOL,
            "Properties": _describe_phone(phone),
            "Services": described,
            "UUID": uuid5(NAMESPACE_DNS, phone.model.udid),
        }
        connection.send(REQUESTS, handshake)
        while True:
            connection.receive()

    return serve_xpc(send_handshake)


def _describe_service(entry: RemoteServiceEntry, port: int) -> XpcDictionary:
    properties: dict[str, XpcObject] = {"UsesRemoteXPC": entry.uses_xpc}
    if entry.uses_xpc:
        properties |= {"Features": entry.features, "ServiceVersion": Unsigned(1)}
    return {"Entitlement": "com.apple.mobile.lockdown.remote.trusted", "Port": str(port), "Properties": properties}


def _describe_phone(phone: StandInIPhone) -> XpcDictionary:
    model = phone.model
    return {
        "BuildVersion": model.build,
        "CPUArchitecture": model.abi,
        "DeviceClass": "iPad" if model.product.startswith("iPad") else "iPhone",
        "HWModel": model.model,
        "HumanReadableProductVersionString": model.version,
        "IsVirtualDevice": False,
        "OSVersion": model.version,
        "ProductName": "iPhone OS",
        "ProductType": model.product,
        "UniqueDeviceID": model.udid,
    }
