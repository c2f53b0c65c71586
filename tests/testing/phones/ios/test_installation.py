from __future__ import annotations

import json
import socket
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.phone import InvalidPackage, StandInIPhone
from harness.testing.phones.ios.services import zip_conduit
from harness.testing.phones.ios.usbmux.connection import ServiceConnection, parse_plist
from tests.iphones import GoIosCaller

BUNDLE = "org.example.app"


def package(folder: Path, *, version: str = "1", size: int = 1000) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / f"program-{version}"
    program.write_bytes(b"#!/bin/sh\n" + b"#" * size)
    return make_package(folder / f"package-{version}", program, bundle=BUNDLE, name="App", version=version)


@pytest.mark.slow
def test_an_app_is_installed_listed_and_removed(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    ios.succeed("install", f"--path={package(tmp_path)}")
    (app,) = json.loads(ios.succeed("apps"))
    assert (app["CFBundleIdentifier"], app["CFBundleVersion"], app["CFBundleExecutable"]) == (BUNDLE, "1", "App")
    assert iphone.apps[BUNDLE].folder.joinpath("App").stat().st_mode & 0o111
    ios.succeed("uninstall", BUNDLE)
    assert not iphone.apps
    assert list((iphone.folder / "containers").iterdir()) == []
    ios.succeed("uninstall", BUNDLE)


def test_a_newer_build_keeps_the_container(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    older = iphone.install(package(tmp_path))
    (older.container / "Documents/kept").write_text("kept")
    ios.succeed("install", f"--path={package(tmp_path, version='2')}")
    newer = iphone.apps[BUNDLE]
    assert newer.info["CFBundleVersion"] == "2"
    assert (newer.container / "Documents/kept").read_text() == "kept"
    assert not older.folder.exists()


def test_an_app_that_is_not_signed_for_a_phone_is_refused(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    iphone.conditions.refuses_signature = True
    assert "not properly signed" in ios.fail("install", f"--path={package(tmp_path)}")
    assert not iphone.apps


def test_a_package_without_an_app_is_refused(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    ipa = tmp_path / "none.ipa"
    with zipfile.ZipFile(ipa, "w") as archive:
        archive.writestr("Payload/readme", "nothing")
    assert "PackageInspectionFailed" in ios.fail("install", f"--path={ipa}")
    with pytest.raises(InvalidPackage):
        iphone.install(ipa)


def test_a_full_phone_installs_nothing_and_loses_nothing(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    older = iphone.install(package(tmp_path))
    iphone.fill(50_000)
    message = ios.fail("install", f"--path={package(tmp_path, version='2', size=400_000)}")
    assert "No space left on device" in message
    assert iphone.apps[BUNDLE] is older
    assert older.folder.is_dir()
    assert iphone.conditions.bytes_left == 50_000


@pytest.mark.slow
def test_a_package_that_arrives_in_part_is_not_installed(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    ios.succeed("info")
    iphone.unplug_after(60_000)
    ios.fail("install", f"--path={package(tmp_path, size=3_000_000)}")
    assert not iphone.conditions.plugged_in
    iphone.plug()
    assert not iphone.apps
    ios.succeed("install", f"--path={package(tmp_path, size=3_000_000)}")


@pytest.fixture
def ends(iphone: StandInIPhone) -> Iterator[tuple[ServiceConnection, ServiceConnection]]:
    ours, theirs = socket.socketpair()
    client, service = ServiceConnection(ours, iphone.cable), ServiceConnection(theirs, iphone.cable)
    yield client, service
    client.close()
    service.close()


def entry(name: str, content: bytes, *, crc: int | None = None) -> bytes:
    encoded = name.encode()
    crc = zlib.crc32(content) if crc is None else crc
    fields = (20, 0, 0, 0, 0, crc, len(content), len(content), len(encoded), 0)
    return b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", *fields) + encoded + content


@pytest.mark.parametrize(
    "entries",
    [
        entry("../../outside", b"x"),
        entry("/tmp/outside", b"x"),
        entry("Payload/App.app/a\0b", b"x"),
        entry("Payload/App.app/App", b"damaged", crc=1),
        entry("Payload/App.app/Info.plist", b"bplist00"),
    ],
)
def test_a_stream_with_hostile_entries_installs_nothing(
    iphone: StandInIPhone, ends: tuple[ServiceConnection, ServiceConnection], entries: bytes
) -> None:
    client, service = ends
    thread = threading.Thread(target=zip_conduit.serve, args=(service, iphone))
    thread.start()
    client.send_plist({"MediaSubdir": "PublicStaging/App.ipa"})
    client.send(entries + b"PK\x01\x02")
    reply: object = None
    while reply is None:
        progress = client.read_plist()["InstallProgressDict"]
        assert isinstance(progress, dict)
        reply = progress.get("Error")
    thread.join()
    assert str(reply).startswith("Package")
    assert not iphone.apps
    assert list((iphone.folder / "staging").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"<plist", b"bplist00" + b"\xff" * 40, b"<plist><array/></plist>", b"\0" * 9])
def test_what_is_no_property_list_ends_a_connection(content: bytes) -> None:
    with pytest.raises(ConnectionError):
        parse_plist(content)
