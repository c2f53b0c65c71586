"""What clients send is hostile: a service answers, or ends the connection, and nothing else happens."""

from __future__ import annotations

import contextlib
import plistlib
import socket
import struct
import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.services import afc, developer_images, diagnostics, installation, zip_conduit
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection, parse_plist
from harness.testing.phones.ios.usbmux.lockdown import serve_lockdown
from harness.testing.phones.ios.usbmux.pairing import Pairings, make_key

Serve = Callable[[ServiceConnection, StandInIPhone], None]
WORDS = (
    *(
        "Request",
        "Command",
        "GetValue",
        "Key",
        "Domain",
        "Pair",
        "PairRecord",
        "HostID",
        "HostCertificate",
        "StartService",
    ),
    *("DeviceCertificate", "StartSession", "Service", "Browse", "ClientOptions", "Uninstall", "ApplicationIdentifier"),
    *("VendContainer", "Identifier", "org.example.app", "../..", "", "a\0b", "ReceiveBytes", "ImageSize", "MountImage"),
    *("LookupImage", "IORegistry", "EntryClass", "Goodbye", "ApplicationType", "Unpair", "ValidatePair", "StopSession"),
)
WORD = st.sampled_from([word for word in WORDS if "\0" not in word]) | st.text(
    st.characters(codec="ascii", min_codepoint=32)
)
LEAF = WORD | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.binary(max_size=40)
DOCUMENT = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORD, inner, max_size=5))
MESSAGE = st.dictionaries(WORD, DOCUMENT, max_size=6)
ALL_HEALTHY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> StandInIPhone:
    folder = tmp_path_factory.mktemp("phone")
    return StandInIPhone(IPhoneModel("00008110-0000000000000000", "Phone"), folder, Pairings(make_key(), folder))


def serve_bytes(serve: Serve, phone: StandInIPhone, content: bytes) -> None:
    """Let a service read these bytes and the end of the connection; what it answers is thrown away."""
    ours, theirs = socket.socketpair()
    sender = threading.Thread(target=_send_all, args=(ours, content))
    sender.start()
    connection = ServiceConnection(theirs, phone.cable)
    try:
        serve(connection, phone)
    except ConnectionEnded:
        pass
    finally:
        connection.close()
        sender.join()


def _send_all(stream: socket.socket, content: bytes) -> None:
    with stream:
        try:
            stream.sendall(content)
            stream.shutdown(socket.SHUT_WR)
            while stream.recv(1 << 16):
                pass
        except OSError:
            pass


def framed(message: dict[str, object], fmt: plistlib.PlistFormat = plistlib.FMT_XML) -> bytes:
    content = plistlib.dumps(message, fmt=fmt)
    return struct.pack(">I", len(content)) + content


@pytest.mark.slow
@pytest.mark.parametrize(
    "serve",
    [
        serve_lockdown,
        installation.serve_proxy,
        afc.serve_container,
        diagnostics.serve,
        developer_images.serve,
        zip_conduit.serve,
    ],
)
@ALL_HEALTHY
@given(messages=st.lists(MESSAGE, min_size=1, max_size=3), rest=st.binary(max_size=60))
def test_any_messages_are_answered_or_end_a_connection(
    alone: StandInIPhone, serve: Serve, messages: list[dict[str, object]], rest: bytes
) -> None:
    serve_bytes(serve, alone, b"".join(map(framed, messages)) + rest)


@pytest.mark.slow
@ALL_HEALTHY
@given(
    packets=st.lists(
        st.tuples(
            st.integers(0, 0x30) | st.integers(0, 2**64 - 1),
            st.binary(max_size=32)
            | st.builds(struct.Struct("<QQ").pack, st.integers(0, 9), st.integers(0, 2**64 - 1))
            | st.builds(struct.Struct("<QQQ").pack, st.integers(0, 9), st.integers(0, 3), st.integers(0, 2**64 - 1))
            | st.builds(
                lambda mode, name: struct.pack("<Q", mode) + name, st.integers(0, 7), st.sampled_from([b"a", b"b/c"])
            )
            | st.sampled_from([b"a", b"../a", b"/", b".", b"a/../..", b"b/c", b"a\0b", b"\xff\xfe"]),
            st.binary(max_size=16),
        ),
        max_size=12,
    )
)
def test_any_packets_of_afc_are_answered_or_end_a_connection(
    alone: StandInIPhone, packets: list[tuple[int, bytes, bytes]]
) -> None:
    content = b""
    for number, (operation, arguments, payload) in enumerate(packets):
        length = 40 + len(arguments)
        content += struct.pack("<8sQQQQ", b"CFA6LPAA", length + len(payload), length, number, operation)
        content += arguments + payload
    serve_bytes(afc.serve_media, alone, content)
    outside = set(alone.folder.iterdir()) - {alone.folder / "identity.pem"}
    assert {path.name for path in outside} == {"apps", "containers", "crash_reports", "media", "staging"}


@ALL_HEALTHY
@given(message=MESSAGE, fmt=st.sampled_from(list(plistlib.PlistFormat)), data=st.data())
def test_damaged_property_lists_are_refused(
    message: dict[str, object], fmt: plistlib.PlistFormat, data: st.DataObject
) -> None:
    content = bytearray(plistlib.dumps(message, fmt=fmt))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ConnectionEnded):
        assert isinstance(parse_plist(bytes(content)), dict)


@pytest.mark.parametrize(
    "content",
    [
        b"<plist><dict><key>a</key><date>x</date></dict></plist>",
        b"<plist><dict><key>a</key><integer>x</integer></dict></plist>",
        b"<plist><dict><key>a</key><data>YQ</data></dict></plist>",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><plist><dict/></plist>",
        b"<plist><key>a</key></plist>",
        b"<plist>" + b"<array>" * 50_000,
    ],
)
def test_property_lists_with_wrong_values_are_refused(content: bytes) -> None:
    with pytest.raises(ConnectionEnded):
        parse_plist(content)
