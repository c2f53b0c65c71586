"""usbmuxd: lists the stand-in iPhones, keeps pair records, and connects clients with them."""

from __future__ import annotations

import contextlib
import plistlib
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection, parse_plist
from harness.testing.phones.ios.usbmux.lockdown import PORT as LOCKDOWN_PORT
from harness.testing.phones.ios.usbmux.lockdown import serve_lockdown
from harness.testing.phones.ios.usbmux.pairing import Computer
from harness.testing.phones.ios.usbmux.services import SERVICES

if TYPE_CHECKING:
    from harness.testing.phones.ios.phone import StandInIPhone

_HEADER: Final = struct.Struct("<IIII")
"""Length with this header, version, kind of message, tag."""
_PLIST_MESSAGE: Final = 8
_LIMIT_BYTES: Final = 8 << 20
_OK, _BAD_COMMAND, _BAD_DEVICE, _REFUSED = 0, 1, 2, 3
_LISTEN_POLL_S: Final = 0.05


class UsbMuxDaemon:
    """Stand-in usbmuxd on a port of 127.0.0.1.

    Attributes:
        phones: Phones that it knows, plugged in or not; the place in this sequence is the number of a phone, from 1.
        computer: Its pair records.
        address: `127.0.0.1:PORT`.
    """

    def __init__(self, phones: Sequence[StandInIPhone], computer: Computer) -> None:
        self.phones = phones
        self.computer = computer
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._ended = threading.Event()
        self._clients: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def run(self) -> Iterator[None]:
        """Pair with those phones that allow it, and serve clients while the context is open; then end everything."""
        accepting = threading.Thread(target=self._accept, name="usbmuxd", daemon=True)
        for phone in self.phones:
            self.computer.pair(phone)
        accepting.start()
        try:
            yield
        finally:
            self._ended.set()
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            for phone in self.phones:
                phone.cable.end()
            with self._lock:
                clients, threads = tuple(self._clients), tuple(self._threads)
            for client in clients:
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join(timeout=10)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), name="usbmuxd client", daemon=True)
            with self._lock:
                self._clients.add(client)
                self._threads = [running for running in self._threads if running.is_alive()]
                self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError):  # clients hang up whenever they like
                _Client(self, client, self._ended).serve()
        finally:
            with self._lock:
                self._clients.discard(client)
            client.close()


class _Client:
    """Conversation with one client, until it hangs up, or is connected with a phone."""

    def __init__(self, daemon: UsbMuxDaemon, stream: socket.socket, ended: threading.Event) -> None:
        self._daemon = daemon
        self._stream = stream
        self._ended = ended

    def serve(self) -> None:
        while not self._ended.is_set():
            length, _, kind, tag = _HEADER.unpack(self._read(_HEADER.size))
            if kind != _PLIST_MESSAGE or not _HEADER.size <= length <= _LIMIT_BYTES:
                return
            request = parse_plist(self._read(length - _HEADER.size))
            match str(request.get("MessageType", "")):
                case "Connect":
                    if self._connect(request, tag):
                        return
                case "Listen":
                    self._reply(tag, _OK)
                    self._listen()
                    return
                case name:
                    self._send(tag, self._answer(name, request))

    def _answer(self, name: str, request: dict[str, object]) -> dict[str, object]:
        computer, udid = self._daemon.computer, str(request.get("PairRecordID", ""))
        match name:
            case "ListDevices":
                plugged = [number for number, phone in self._numbered() if phone.conditions.plugged_in]
                return {"DeviceList": [self._attached(number) for number in plugged]}
            case "ReadBUID":
                return {"BUID": computer.buid}
            case "ReadPairRecord":
                for _, phone in self._numbered():
                    if phone.model.udid == udid:
                        computer.pair(phone)
                record = computer.read_record(udid)
                return _result(_BAD_DEVICE) if record is None else {"PairRecordData": record}
            case "SavePairRecord" if isinstance(content := request.get("PairRecordData"), bytes):
                computer.save_record(udid, content)
                return _result(_OK)
            case "DeletePairRecord":
                computer.delete_record(udid)
                return _result(_OK)
            case _:
                return _result(_BAD_COMMAND)

    def _connect(self, request: dict[str, object], tag: int) -> bool:
        """Connect with a port of a phone; serve it until it ends. Return whether there was anything to connect with."""
        device, swapped = request.get("DeviceID"), request.get("PortNumber")
        phone = dict(self._numbered()).get(device) if isinstance(device, int) else None
        if phone is None or not phone.conditions.plugged_in:
            self._reply(tag, _BAD_DEVICE)
            return False
        if not isinstance(swapped, int) or not 0 <= swapped <= 0xFFFF:
            self._reply(tag, _BAD_COMMAND)
            return False
        (port,) = struct.unpack(">H", struct.pack("<H", swapped))
        started = phone.ports.take(port)
        if port != LOCKDOWN_PORT and started is None:
            self._reply(tag, _REFUSED)
            return False
        phone.cable.wait_until_thawed()
        self._reply(tag, _OK)
        connection = ServiceConnection(self._stream, phone.cable)
        try:
            if started is None:
                serve_lockdown(connection, phone)
            else:
                serve_service(connection, phone, *started)
        except ConnectionEnded:
            pass
        finally:
            connection.close()
        return True

    def _listen(self) -> None:
        """Tell the client of phones that come and go."""
        attached: set[int] = set()
        while not self._ended.wait(_LISTEN_POLL_S):
            plugged = {number for number, phone in self._numbered() if phone.conditions.plugged_in}
            for number in sorted(plugged - attached):
                self._send(0, self._attached(number))
            for number in sorted(attached - plugged):
                self._send(0, {"MessageType": "Detached", "DeviceID": number})
            attached = plugged

    def _numbered(self) -> Iterator[tuple[int, StandInIPhone]]:
        return enumerate(self._daemon.phones, start=1)

    def _attached(self, number: int) -> dict[str, object]:
        properties = {
            "ConnectionSpeed": 480_000_000,
            "ConnectionType": "USB",
            "DeviceID": number,
            "LocationID": number << 20,
            "ProductID": 0x12A8,
            "SerialNumber": self._daemon.phones[number - 1].model.udid,
        }
        return {"DeviceID": number, "MessageType": "Attached", "Properties": properties}

    def _reply(self, tag: int, number: int) -> None:
        self._send(tag, _result(number))

    def _send(self, tag: int, message: dict[str, object]) -> None:
        content = plistlib.dumps(message)
        self._stream.sendall(_HEADER.pack(_HEADER.size + len(content), 1, _PLIST_MESSAGE, tag) + content)

    def _read(self, count: int) -> bytes:
        content = b""
        while len(content) < count:
            chunk = self._stream.recv(count - len(content))
            if not chunk:
                raise ConnectionEnded("the client hung up")
            content += chunk
        return content


def serve_service(connection: ServiceConnection, phone: StandInIPhone, name: str, host_id: str) -> None:
    """Serve a connection with a service that lockdown started.

    Raises:
        ConnectionEnded: The connection ended.
    """
    entry = SERVICES[name]
    if entry.needs_tls:
        context = phone.pairings.tls_context(host_id)
        if context is None:
            return
        connection.start_tls(context)
    entry.serve(connection, phone)


def _result(number: int) -> dict[str, object]:
    return {"MessageType": "Result", "Number": number}
