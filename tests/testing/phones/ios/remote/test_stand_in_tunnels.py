from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

import pytest

from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.connection import REQUESTS
from harness.testing.phones.ios.remote.discovery import RemoteServiceEntry
from harness.testing.phones.ios.remote.tunnel_api import TunnelApi, start_tunnels
from harness.testing.phones.ios.usbmux.connection import ServiceConnection
from harness.testing.phones.ios.usbmux.pairing import Pairings, make_key
from tests.testing.phones.ios.remote.xpc_client import XpcClient


def greet(connection: ServiceConnection, phone: StandInIPhone) -> None:
    """Say which phone it is, and stay until the client goes."""
    connection.send(phone.model.udid.encode())
    connection.recv_exactly(1)


_ENTRIES = (
    RemoteServiceEntry("greeting", greet),
    RemoteServiceEntry("developers.greeting", greet, developer=True, uses_xpc=True, features=("greet",)),
)


@pytest.fixture
def phones(tmp_path: Path) -> list[StandInIPhone]:
    versions = {"OLD": "16.7.10", "FIRST": "17.0", "INTERFACE": "17.4", "USER": "17.4.1", "NEW": "18.5"}
    key = make_key()
    return [
        StandInIPhone(IPhoneModel(udid, udid.lower(), version=version), tmp_path, Pairings(key, tmp_path))
        for udid, version in versions.items()
    ]


@pytest.fixture
def api(phones: list[StandInIPhone]) -> Iterator[TunnelApi]:
    with start_tunnels(phones, _ENTRIES) as api:
        yield api


def ask(api: TunnelApi, path: str, method: str = "GET") -> tuple[int, object]:
    with contextlib.closing(HTTPConnection(api.address, timeout=60)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        is_json = answer.status == HTTPStatus.OK and body
        return answer.status, json.loads(body) if is_json else None


def describe(api: TunnelApi, udid: str) -> dict[str, object]:
    status, tunnel = ask(api, f"/tunnel/{udid}")
    assert status == HTTPStatus.OK
    assert isinstance(tunnel, dict)
    return tunnel


def connect(tunnel: dict[str, object], port: int, address: str | None = None) -> socket.socket:
    """Connect to a port of a phone as go-ios does."""
    at = ipaddress.IPv6Address(address or str(tunnel["address"]))
    if not tunnel["userspaceTun"]:
        return socket.create_connection((str(at), port), timeout=60)
    connection = socket.create_connection(("127.0.0.1", int(str(tunnel["userspaceTunPort"]))), timeout=60)
    preamble = at.packed + port.to_bytes(4, "little")
    connection.sendall(preamble[:9])
    connection.sendall(preamble[9:])
    return connection


def is_ended(connection: socket.socket) -> bool:
    """Return whether a connection is ended, in order or not."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def discover(tunnel: dict[str, object]) -> tuple[dict[str, object], dict[str, int]]:
    """Return the properties of a phone, and the ports of its services."""
    with connect(tunnel, int(str(tunnel["rsdPort"]))) as connection:
        client = XpcClient(connection)
        client.open()
        body = client.receive(REQUESTS).body
    assert body is not None
    assert body["MessageType"] == "Handshake"
    properties, services = body["Properties"], body["Services"]
    assert isinstance(properties, dict)
    assert isinstance(services, dict)
    return properties, {name: int(service["Port"]) for name, service in services.items()}


@pytest.mark.parametrize("udid", ["FIRST", "NEW"])
def test_a_phone_lists_its_services_and_each_is_at_its_port(api: TunnelApi, udid: str) -> None:
    tunnel = describe(api, udid)
    properties, ports = discover(tunnel)
    assert properties["UniqueDeviceID"] == udid
    assert list(ports) == ["greeting", "developers.greeting"]
    for port in ports.values():
        with connect(tunnel, port) as connection:
            assert connection.recv(100) == udid.encode()


def test_tunnels_in_user_space_begin_above_17_4_0_and_older_systems_have_none(api: TunnelApi) -> None:
    _, tunnels = ask(api, "/tunnels")
    assert isinstance(tunnels, list)
    assert {tunnel["udid"]: tunnel["userspaceTun"] for tunnel in tunnels} == {
        "FIRST": False,
        "INTERFACE": False,
        "USER": True,
        "NEW": True,
    }
    assert ask(api, "/tunnel/OLD") == (HTTPStatus.NOT_FOUND, None)


def test_services_of_developers_are_there_in_developer_mode_only(api: TunnelApi, phones: list[StandInIPhone]) -> None:
    phones[-1].conditions.developer_mode = False
    assert list(discover(describe(api, "NEW"))[1]) == ["greeting"]


@pytest.mark.parametrize("path", ["/tunnel/", "/tunnel/NOBODY", "/tunnel/..%2f..%2fNEW", "/tunnel/NEW%00", "/else"])
def test_what_the_api_does_not_know_is_not_found(api: TunnelApi, path: str) -> None:
    assert ask(api, path)[0] == HTTPStatus.NOT_FOUND
    assert ask(api, path, "DELETE")[0] == HTTPStatus.NOT_FOUND


def test_the_api_says_that_it_is_ready(api: TunnelApi) -> None:
    assert [ask(api, path)[0] for path in ("/health", "/ready")] == [HTTPStatus.OK, HTTPStatus.OK]


@pytest.mark.parametrize(("port", "address"), [(1, None), (2**32 - 1, None), (49_152, "fd00:ffff::1")])
def test_a_port_or_an_address_that_is_not_there_is_refused(api: TunnelApi, port: int, address: str | None) -> None:
    with connect(describe(api, "NEW"), port, address) as connection:
        assert is_ended(connection)


def test_a_tunnel_that_is_ended_breaks_its_connections_and_comes_back(api: TunnelApi) -> None:
    tunnel = describe(api, "NEW")
    port = discover(tunnel)[1]["greeting"]
    with connect(tunnel, port) as connection:
        assert connection.recv(100) == b"NEW"
        assert ask(api, "/tunnel/NEW", "DELETE")[0] == HTTPStatus.NO_CONTENT
        assert is_ended(connection)
    with connect(describe(api, "NEW"), port) as connection:
        assert connection.recv(100) == b"NEW"


def test_a_phone_that_is_unplugged_or_not_trusted_has_no_tunnel(api: TunnelApi, phones: list[StandInIPhone]) -> None:
    tunnel = describe(api, "NEW")
    phones[-1].conditions.plugged_in = False
    assert ask(api, "/tunnel/NEW")[0] == HTTPStatus.NOT_FOUND
    with connect(tunnel, int(str(tunnel["rsdPort"]))) as connection:
        assert is_ended(connection)
    phones[-1].conditions.plugged_in = True
    phones[-1].conditions.trusted = False
    assert ask(api, "/tunnel/NEW")[0] == HTTPStatus.NOT_FOUND


def test_a_stopped_tunnel_is_gone_while_the_api_answers(api: TunnelApi) -> None:
    api.tunnels.find("NEW").stop()
    assert ask(api, "/tunnel/NEW")[0] == HTTPStatus.NOT_FOUND
    api.tunnels.find("NEW").start()
    assert ask(api, "/tunnel/NEW")[0] == HTTPStatus.OK


def test_at_the_end_no_port_is_open_and_no_thread_is_left(phones: list[StandInIPhone]) -> None:
    before = set(threading.enumerate())
    with start_tunnels(phones, _ENTRIES) as api:
        tunnel = describe(api, "NEW")
        connection = connect(tunnel, discover(tunnel)[1]["greeting"])
        assert connection.recv(100) == b"NEW"
    with connection:
        assert is_ended(connection)
    with pytest.raises(OSError, match="refused"):
        connect(tunnel, 1)
    started = set(threading.enumerate()) - before
    for thread in started:
        thread.join(60)
    assert not [thread.name for thread in started if thread.is_alive()]
