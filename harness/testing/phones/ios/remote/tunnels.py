"""Tunnels to stand-in iPhones with iOS 17 or later, and the API at which clients look them up.

go-ios makes the real ones by `ios tunnel start`, and tells about them by HTTP; what stands here is the far end of a
tunnel, and the same API. There are two kinds, as go-ios 1.2 makes them:

- from iOS 17.4.1 on in user space: a client connects to a port of this machine, and first sends the phone's address (16
  bytes) and the port there (4 bytes, little-endian);
- before that by a network interface of the system: a client connects to the phone's address itself. Here that is `::1`,
  with a port for each service.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.discovery import RemoteServiceEntry, serve_discovery
from harness.testing.phones.ios.remote.listeners import Listeners
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection
from harness.testing.phones.ios.usbmux.services import Service

_FIRST_PORT: Final = 49_152
_PREAMBLE_BYTES: Final = 20
_LAST_WITH_INTERFACE: Final = (17, 4, 0)
"""Last version for which go-ios 1.2 has no tunnel in user space: it asks for one above 17.4.0."""
_RSD: Final = "com.apple.remote.discovery"
"""Name by which the port of service discovery is kept here; no list has it."""


@dataclass(slots=True)
class PhoneTunnel:
    """The tunnel to one phone. Any thread may use it.

    Attributes:
        phone: The phone.
        address: IPv6 address of the phone in the tunnel.
        userspace_port: Port of this machine to which clients connect; None where they connect to the address.
        ports: Ports of all services at the address, that of service discovery too.
        stopped: Whether a test stopped it.
        connections: Open connections.
    """

    phone: StandInIPhone
    address: str
    userspace_port: int | None
    ports: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
    connections: set[ServiceConnection] = field(default_factory=set)

    @property
    def is_up(self) -> bool:
        """Whether connections are possible."""
        return self.phone.conditions.plugged_in and self.phone.conditions.trusted is True and not self.stopped

    def describe(self) -> dict[str, str | int | bool]:
        """Return what the API tells about it."""
        return {
            "address": self.address,
            "rsdPort": self.ports[_RSD],
            "udid": self.phone.model.udid,
            "userspaceTun": self.userspace_port is not None,
            "userspaceTunPort": self.userspace_port or 0,
        }

    def stop(self) -> None:
        """Break the open connections, and let no more through: `ios tunnel start` runs, without this tunnel."""
        self.stopped = True
        self.drop()

    def start(self) -> None:
        """Let connections through again."""
        self.stopped = False

    def drop(self) -> None:
        """Break the open connections; new ones are possible."""
        for connection in tuple(self.connections):
            connection.close()


class Tunnels:
    """Tunnels to several phones. Any thread may use it.

    Args:
        phones: The phones; those with an older iOS have no tunnel.
        entries: Services at the far end.

    Raises:
        OSError: This machine has no `::1`, and a phone needs it.
    """

    def __init__(self, phones: Sequence[StandInIPhone], entries: Sequence[RemoteServiceEntry]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._listeners = Listeners()
        self._tunnels = [
            self._make_tunnel(number, phone) for number, phone in enumerate(phones) if phone.model.has_tunnel
        ]
        self._listeners.start()

    def find(self, udid: str) -> PhoneTunnel:
        """Return the tunnel to a phone, whether or not it is up.

        Raises:
            KeyError: There is none.
        """
        for tunnel in self._tunnels:
            if tunnel.phone.model.udid == udid:
                return tunnel
        raise KeyError(udid)

    def list_up(self) -> list[PhoneTunnel]:
        """Return the tunnels that are up."""
        return [tunnel for tunnel in self._tunnels if tunnel.is_up]

    def close(self) -> None:
        """End all tunnels."""
        self._listeners.close()
        for tunnel in self._tunnels:
            tunnel.stop()

    def _make_tunnel(self, number: int, phone: StandInIPhone) -> PhoneTunnel:
        names = (_RSD, *self._entries)
        if phone.model.version_numbers[:3] <= _LAST_WITH_INTERFACE:
            tunnel = PhoneTunnel(phone, "::1", None)
            for name in names:
                tunnel.ports[name] = self._listeners.listen(tunnel.address, self._make_server(tunnel, name))
            return tunnel
        tunnel = PhoneTunnel(phone, str(ipaddress.IPv6Address("fd00::1") + (number << 64)), 0)
        tunnel.userspace_port = self._listeners.listen("127.0.0.1", lambda accepted: self._forward(tunnel, accepted))
        tunnel.ports |= {name: _FIRST_PORT + place for place, name in enumerate(names)}
        return tunnel

    def _make_server(self, tunnel: PhoneTunnel, name: str) -> Callable[[socket.socket], None]:
        return lambda accepted: self._serve(tunnel, accepted, lambda _: name)

    def _forward(self, tunnel: PhoneTunnel, accepted: socket.socket) -> None:
        def read_preamble(connection: ServiceConnection) -> str | None:
            preamble = connection.recv_exactly(_PREAMBLE_BYTES)
            address, port = ipaddress.IPv6Address(preamble[:16]), int.from_bytes(preamble[16:], "little")
            if address != ipaddress.IPv6Address(tunnel.address):
                return None
            return next((name for name, number in tunnel.ports.items() if number == port), None)

        self._serve(tunnel, accepted, read_preamble)

    def _serve(
        self, tunnel: PhoneTunnel, accepted: socket.socket, choose: Callable[[ServiceConnection], str | None]
    ) -> None:
        connection = ServiceConnection(accepted, tunnel.phone.cable)
        tunnel.connections.add(connection)
        try:
            name = choose(connection)
            if name is not None and tunnel.is_up:
                self._find_service(tunnel, name)(connection, tunnel.phone)
        except ConnectionEnded:
            return
        finally:
            tunnel.connections.discard(connection)
            connection.close()

    def _find_service(self, tunnel: PhoneTunnel, name: str) -> Service:
        if name != _RSD:
            return self._entries[name].serve
        conditions = tunnel.phone.conditions
        is_developed = conditions.developer_mode and conditions.developer_image
        entries = [entry for entry in self._entries.values() if is_developed or not entry.developer]
        return serve_discovery({entry: tunnel.ports[entry.name] for entry in entries})
