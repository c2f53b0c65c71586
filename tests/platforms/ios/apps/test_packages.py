"""Packages of apps (.ipa): what is read from them, and how hostile ones are refused."""

from __future__ import annotations

import contextlib
import hashlib
import plistlib
import stat
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.errors import BenchmarkFailed
from platforms.ios.apps.packages import read_package

PROGRAM = b"\xcf\xfa\xed\xfe program"
INFO = {
    "CFBundleIdentifier": "org.example.Runner",
    "CFBundleExecutable": "Runner",
    "CFBundleVersion": "42",
    "CFBundleName": "Runner for tests",
}


def info_with(**changes: object) -> bytes:
    return plistlib.dumps({key: value for key, value in {**INFO, **changes}.items() if value is not None})


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def app_with(path: Path, **members: bytes) -> Path:
    base = {"Payload/Runner.app/Info.plist": info_with(), "Payload/Runner.app/Runner": PROGRAM}
    return make_zip(path, {**base, **members})


def test_a_package_says_what_its_app_is(tmp_path: Path) -> None:
    path = app_with(tmp_path / "runner.ipa", **{"Payload/Runner.app/PlugIns/Tests.xctest/Tests": b"tests"})
    package = read_package(path)
    assert (package.bundle, package.version, package.name) == ("org.example.Runner", "42", "Runner for tests")
    assert (package.executable, package.folder, package.tests) == ("Runner", "Payload/Runner.app", ("Tests.xctest",))
    assert package.executable_sha256 == hashlib.sha256(PROGRAM).hexdigest()
    assert package.size_bytes == path.stat().st_size


def test_a_binary_property_list_is_read(tmp_path: Path) -> None:
    binary = plistlib.dumps(INFO, fmt=plistlib.FMT_BINARY)
    assert read_package(app_with(tmp_path / "a.ipa", **{"Payload/Runner.app/Info.plist": binary})).version == "42"


def test_folders_that_have_entries_of_their_own_are_no_files(tmp_path: Path) -> None:
    path = app_with(tmp_path / "a.ipa", **{"Payload/": b"", "Payload/Runner.app/": b""})
    assert read_package(path).bundle == "org.example.Runner"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"Runner.app/Info.plist": info_with()}, "there is no `Payload/NAME.app`"),
        ({"Payload/A.app/Info.plist": b"", "Payload/B.app/Info.plist": b""}, "holds 2 apps: 'A.app', 'B.app'"),
        ({"Payload/A.app/A": b""}, "there is no 'Payload/A.app/Info.plist'"),
        ({"Payload/A.app/Info.plist": b"<plist><dict>"}, "Info.plist is no property list"),
        ({"Payload/A.app/Info.plist": b"bplist00" + b"\xff" * 40}, "Info.plist is no property list"),
        ({"Payload/A.app/Info.plist": plistlib.dumps([])}, "Info.plist is no dictionary"),
        ({"Payload/A.app/Info.plist": b" " * (2 << 20)}, "Info.plist has 2097152 bytes"),
        ({"Payload/A.app/Info.plist": info_with(CFBundleIdentifier=None)}, "'' is no bundle identifier"),
        ({"Payload/A.app/Info.plist": info_with(CFBundleIdentifier="a\nb")}, r"'a\\nb' is no bundle identifier"),
        ({"Payload/A.app/Info.plist": info_with(CFBundleIdentifier=7)}, "is no bundle identifier"),
        ({"Payload/A.app/Info.plist": info_with()}, "no program 'Runner'"),
        ({"Payload/A.app/Info.plist": info_with(CFBundleExecutable=None)}, "no program ''"),
        ({"Payload/A.app/Info.plist": info_with(CFBundleExecutable="x/y"), "Payload/A.app/x/y": b""}, "program 'x/y'"),
        ({"Payload/A.app/../../../etc/passwd": b""}, "leads out of its folder"),
        ({"/etc/passwd": b""}, "leads out of its folder"),
        ({"Payload\\A.app\\A": b""}, "leads out of its folder"),
    ],
)
def test_what_is_no_app_is_refused_in_words(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    with pytest.raises(BenchmarkFailed, match=words) as raised:
        read_package(make_zip(tmp_path / "a.ipa", members))
    assert raised.value.hint is not None
    assert "a.ipa" in str(raised.value)


def test_entities_of_xml_are_not_expanded(tmp_path: Path) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a "aaaa">]><plist><dict><key>&a;</key><true/></dict></plist>'
    with pytest.raises(BenchmarkFailed, match="no property list"):
        read_package(app_with(tmp_path / "a.ipa", **{"Payload/Runner.app/Info.plist": bomb}))


def test_a_file_that_is_no_zip_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.ipa").write_text("no zip")
    with pytest.raises(BenchmarkFailed, match="damaged or none"):
        read_package(tmp_path / "text.ipa")
    with pytest.raises(BenchmarkFailed, match="there is no package"):
        read_package(tmp_path / "missing.ipa")
    with pytest.raises(BenchmarkFailed, match="cannot be read"):
        read_package(tmp_path)


def test_symbolic_links_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(path := tmp_path / "a.ipa", "w") as archive:
        link = zipfile.ZipInfo("Payload/A.app/A")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(BenchmarkFailed, match="is a symbolic link"):
        read_package(path)


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = app_with(tmp_path / "a.ipa")
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("Payload/Runner.app/Runner", b"another")
    with pytest.raises(BenchmarkFailed, match="is there twice"):
        read_package(path)


def test_a_package_that_would_fill_the_disk_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = app_with(tmp_path / "a.ipa")
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, entry + 24, 0xFFFFFFFE)
    path.write_bytes(content)
    with pytest.raises(BenchmarkFailed, match="its program has 4294967294 bytes"):
        read_package(path)


def test_a_damaged_program_is_refused(tmp_path: Path) -> None:
    path = app_with(tmp_path / "a.ipa")
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("Payload/Runner.app/Runner").header_offset
    content = bytearray(path.read_bytes())
    content[offset + 60 : offset + 66] = b"\0" * 6
    path.write_bytes(content)
    with pytest.raises(BenchmarkFailed, match=r"damaged or none|cannot be read"):
        read_package(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_escapes_as_another_error(tmp_path: Path, data: st.DataObject) -> None:
    path = app_with(tmp_path / "a.ipa")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    with contextlib.suppress(BenchmarkFailed):
        read_package(path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), form=st.sampled_from(["bplist00", "<plist>"]))
def test_no_property_list_escapes_as_another_error(tmp_path: Path, data: st.DataObject, form: str) -> None:
    tags = ["<dict>", "</dict>", "<key>a</key>", "<integer>x</integer>", "<date>1</date>", "<data>!</data>", "</plist>"]
    xml = "<plist>" + "".join(data.draw(st.lists(st.sampled_from(tags), max_size=8)))
    content = xml.encode() if form == "<plist>" else b"bplist00" + data.draw(st.binary(max_size=120))
    with pytest.raises(BenchmarkFailed):
        read_package(app_with(tmp_path / "a.ipa", **{"Payload/Runner.app/Info.plist": content}))
