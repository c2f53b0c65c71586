"""Phones, apps and failures of devicectl. Shapes and their sources: devicectl_recordings.py; none was made here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem, OutOfSpace
from platforms.ios.link.client import Battery, InstalledApp, ListedIPhone, PhoneProperties
from platforms.ios.link.devicectl.client import Devicectl
from platforms.ios.link.errors import AppNotInstalled, NoDeveloperServices, PhoneNotPaired
from tests.platforms.ios.link.devicectl_recordings import (
    BUNDLE,
    CORE_DEVICE,
    GONE,
    LOCKED,
    NO_IMAGE,
    NOT_INSTALLED,
    UDID,
    RecordedXcrun,
    XcrunAnswer,
    device,
    failed,
    native_error,
    succeeded,
    write_xcrun,
)

APPS = "device info apps"
DETAILS = "device info details"
LIST = "list devices"
LOCK = "device info lockState"


def devicectl(folder: Path, answers: Mapping[str, XcrunAnswer | list[XcrunAnswer]]) -> tuple[Devicectl, RecordedXcrun]:
    written = write_xcrun(folder, answers)
    return Devicectl(written.path), written


def test_phones_are_listed_by_udid_without_simulators_and_phones_of_the_past(tmp_path: Path) -> None:
    wireless = device(
        connectionProperties={"pairingState": "paired", "transportType": "localNetwork"},
        hardwareProperties={"udid": "00008110-B", "platform": "iOS"},
    )
    gone = device(connectionProperties={"pairingState": "paired", "tunnelState": "unavailable"})
    simulator = device(hardwareProperties={"udid": "S", "platform": "iOS", "reality": "simulated"})
    watch = device(hardwareProperties={"udid": "W", "platform": "watchOS", "reality": "physical"})
    nameless = device(hardwareProperties={"platform": "iOS"})
    devices = [device(), wireless, gone, simulator, watch, nameless, device()]
    client, written = devicectl(tmp_path, {LIST: succeeded({"devices": devices})})
    assert client.list_phones() == (ListedIPhone(UDID, "usb"), ListedIPhone("00008110-B", "network"))
    assert written.calls[0][:3] == ["devicectl", "list", "devices"]


@pytest.mark.parametrize("section", ["connectionProperties", "deviceProperties", "hardwareProperties", "properties"])
def test_a_phone_of_which_a_section_is_null_hides_no_other(section: str, tmp_path: Path) -> None:
    past = device(connectionProperties={"pairingState": "paired"})
    client, _ = devicectl(tmp_path, {LIST: succeeded({"devices": [{**past, section: None}, device()]})})
    assert client.list_phones() == (ListedIPhone(UDID, "usb"),)


def test_the_first_version_of_the_json_has_no_number(tmp_path: Path) -> None:
    client, _ = devicectl(tmp_path, {LIST: succeeded({"devices": [device()]}, version=None)})
    assert client.list_phones() == (ListedIPhone(UDID, "usb"),)


def test_properties_are_those_of_details(tmp_path: Path) -> None:
    client, written = devicectl(tmp_path, {DETAILS: succeeded(device())})
    assert client.read_properties(UDID) == PhoneProperties(
        udid=UDID,
        name="Ann's iPhone",
        product="iPhone15,4",
        version="18.5",
        build="22F76",
        model="D37AP",
        abi="arm64e",
        developer_mode=True,
    )
    words = written.calls[0]
    assert words[:6] == ["devicectl", "device", "info", "details", "--device", UDID]


def test_properties_of_version_5_outrank_the_older_ones(tmp_path: Path) -> None:
    newer = device(
        properties={
            "connection": {"pairingState": "paired", "state": "connected", "lastConnectionDate": 812152200},
            "hardware": {"deviceType": "iPad", "productType": "iPad17,1", "udid": UDID},
            "software": {"osVersionNumber": {"components": [27, 0], "stringValue": "27.0"}},
            "state": {"name": "Pad", "developerModeStatus": {"disabled": {}}},
        }
    )
    client, _ = devicectl(tmp_path, {DETAILS: succeeded(newer, version=5)})
    properties = client.read_properties(UDID)
    assert (properties.system, properties.product, properties.version) == ("iPadOS", "iPad17,1", "27.0")
    assert (properties.name, properties.developer_mode, properties.build) == ("Pad", False, "22F76")


def test_members_of_another_kind_are_unknown(tmp_path: Path) -> None:
    odd = device(deviceProperties={"name": ["x"], "osVersionNumber": "18.5", "developerModeStatus": 3})
    client, _ = devicectl(tmp_path, {DETAILS: succeeded(odd)})
    assert (client.read_properties(UDID).name, client.read_properties(UDID).developer_mode) == ("", None)


@pytest.mark.parametrize(
    ("pairing", "error", "words"),
    [("unpaired", PhoneNotPaired, "does not trust"), ("unsupported", EnvironmentProblem, "older than iOS 17")],
)
def test_a_phone_that_cannot_be_used_says_why(
    tmp_path: Path, pairing: str, error: type[EnvironmentProblem], words: str
) -> None:
    record = device(connectionProperties={"pairingState": pairing, "transportType": "wired"})
    client, _ = devicectl(tmp_path, {DETAILS: succeeded(record)})
    with pytest.raises(error, match=words) as caught:
        client.read_properties(UDID)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (XcrunAnswer('{"info": {"outcome": "success"}, "result": {}}'), r"result\.devices: Field required"),
        (XcrunAnswer('{"result": {"devices": []}}'), r"info: Field required"),
        (XcrunAnswer('{"info": {"jsonVersion": 2}}'), r"info\.outcome: Field required"),
        (XcrunAnswer('{"info": {"outcome": "success", "jsonVersion": "new"}}'), r"info\.jsonVersion"),
        (XcrunAnswer('{"info": {"outcome": "maybe"}}'), "outcome is 'maybe'"),
        (XcrunAnswer('{"info": {"outcome": "success"}, "result": '), "cannot be read"),
        (XcrunAnswer("[" * 100_000), "cannot be read"),
        (XcrunAnswer("\0\ud7ff"), "cannot be read"),
        (XcrunAnswer('{"info": {"outcome": "success"}, "result": {"devices": []}}', exit_code=1), "reports success"),
        (XcrunAnswer("", exit_code=1, stderr="boom\n"), "boom"),
        (XcrunAnswer(exit_code=1), "left no answer"),
        (XcrunAnswer(exit_code=72, stderr='xcrun: error: unable to find utility "devicectl"\n'), "finds no devicectl"),
    ],
)
def test_an_answer_that_cannot_be_used_is_named(tmp_path: Path, answer: XcrunAnswer, words: str) -> None:
    client, _ = devicectl(tmp_path, {LIST: answer})
    with pytest.raises(EnvironmentProblem, match=words):
        client.list_phones()
    (finding,) = client.diagnose()
    assert not finding.ok


def test_a_newer_version_of_the_json_is_blamed_where_a_member_is_missing(tmp_path: Path) -> None:
    client, _ = devicectl(tmp_path, {LIST: succeeded({"things": []}, version=9)})
    with pytest.raises(EnvironmentProblem, match="devices") as caught:
        client.list_phones()
    assert "jsonVersion is 9" in (caught.value.hint or "")


def test_a_machine_without_xcode_is_told_what_helps(tmp_path: Path) -> None:
    client = Devicectl(tmp_path / "xcrun")
    with pytest.raises(EnvironmentProblem, match="xcrun is not installed") as caught:
        client.list_phones()
    assert "go-ios" in (caught.value.hint or "")
    assert [finding.ok for finding in client.diagnose()] == [False]


def test_the_diagnosis_tells_the_version_and_counts_phones(tmp_path: Path) -> None:
    client, _ = devicectl(tmp_path, {LIST: succeeded({"devices": [device()]})})
    (finding,) = client.diagnose()
    assert finding.ok
    assert "443.19" in finding.found
    assert "1 phone" in finding.found


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (LOCKED, PhoneNotPaired, "is locked"),
        (native_error(CORE_DEVICE, 1, "The device is locked."), PhoneNotPaired, "is locked"),
        (NOT_INSTALLED, AppNotInstalled, "does not have this app"),
        (GONE, DeviceLost, "was not found"),
        (native_error(CORE_DEVICE, 4, "The tunnel connection failed while the system tried"), DeviceLost, "tunnel"),
        (native_error("com.apple.Mercury.error", 1001, "The connection was interrupted."), DeviceLost, "interrupted"),
        (
            native_error(CORE_DEVICE, 10, "The operation failed because Developer Mode is disabled."),
            NoDeveloperServices,
            "developer mode .* is off",
        ),
        (native_error(CORE_DEVICE, 3, "", native_error("NSPOSIXErrorDomain", 28, "x")), OutOfSpace, "no space"),
        (native_error(CORE_DEVICE, 3, "", native_error("NSCocoaErrorDomain", 640)), OutOfSpace, "no space"),
        (
            native_error(CORE_DEVICE, 3002, "Failed to install", native_error("X", 1, "ApplicationVerificationFailed")),
            EnvironmentProblem,
            "signature",
        ),
        (
            native_error(CORE_DEVICE, 10002, "", native_error("FBSOpenApplicationErrorDomain", 3)),
            EnvironmentProblem,
            "signature",
        ),
        (native_error(CORE_DEVICE, 2, "This Mac is not paired with it"), PhoneNotPaired, "does not trust"),
        (
            native_error(CORE_DEVICE, 1001, 'The capability "AppLaunch" is not supported by this device.'),
            EnvironmentProblem,
            "older than iOS 17",
        ),
        (native_error(CORE_DEVICE, 77, "Something\nelse\x1b[31m"), EnvironmentProblem, "Something else"),
        (native_error("only.a.domain", 5), EnvironmentProblem, "only.a.domain 5"),
        ("a text", EnvironmentProblem, "without a word"),
        ({"code": [], "domain": {}, "userInfo": {"NSUnderlyingError": [1]}}, EnvironmentProblem, "without a word"),
    ],
)
def test_failures_are_told_in_words(tmp_path: Path, error: object, kind: type[EnvironmentProblem], words: str) -> None:
    client, _ = devicectl(tmp_path, {APPS: failed(error), DETAILS: succeeded(device()), LOCK: failed(error)})
    with pytest.raises(kind, match=words):
        client.list_apps(UDID)


def test_an_image_that_cannot_be_mounted_has_a_cause(tmp_path: Path) -> None:
    off = device(deviceProperties={"developerModeStatus": "disabled"})
    unlocked, locked = (succeeded({"passcodeRequired": required}) for required in (False, True))
    client, _ = devicectl(tmp_path / "off", {APPS: failed(NO_IMAGE), DETAILS: succeeded(off)})
    with pytest.raises(NoDeveloperServices, match="developer mode"):
        client.list_apps(UDID)
    answers = {APPS: failed(NO_IMAGE), DETAILS: succeeded(device())}
    client, _ = devicectl(tmp_path / "locked", {**answers, LOCK: locked})
    with pytest.raises(PhoneNotPaired, match="is locked"):
        client.list_apps(UDID)
    client, _ = devicectl(tmp_path / "image", {**answers, LOCK: unlocked})
    with pytest.raises(NoDeveloperServices, match="developer disk image"):
        client.list_apps(UDID)
    client, _ = devicectl(tmp_path / "gone", {APPS: failed(NO_IMAGE), DETAILS: failed(GONE)})
    with pytest.raises(DeviceLost):
        client.list_apps(UDID)


def test_an_error_that_goes_deep_is_read_to_a_bound(tmp_path: Path) -> None:
    error = native_error("Deepest", 1, "unreachable")
    for level in range(60):
        error = native_error(f"Level{level}", 1, "", error)
    client, _ = devicectl(tmp_path, {LIST: failed(error)})
    with pytest.raises(EnvironmentProblem, match="Level59"):
        client.list_phones()


def test_a_phone_that_does_not_answer_in_time_is_lost(tmp_path: Path) -> None:
    answer = XcrunAnswer(json.dumps({"info": {"outcome": "timeout", "jsonVersion": 3}}), exit_code=1)
    client, _ = devicectl(tmp_path, {APPS: answer})
    with pytest.raises(DeviceLost, match="did not answer in time"):
        client.list_apps(UDID)


def test_apps_of_the_system_are_not_listed(tmp_path: Path) -> None:
    apps = [
        {"bundleIdentifier": BUNDLE, "bundleVersion": "7", "name": "Runner", "url": "file:///x", "removable": True},
        {"bundleIdentifier": "com.apple.mobilesafari", "defaultApp": True, "name": "Safari"},
        {"bundleIdentifier": "com.apple.hidden", "hidden": True, "name": "x"},
    ]
    client, written = devicectl(tmp_path, {APPS: succeeded({"apps": apps})})
    assert client.list_apps(UDID) == (InstalledApp(BUNDLE, "7", "Runner"),)
    assert "--include-all-apps" in written.calls[0]


def test_a_package_is_installed_as_it_is(tmp_path: Path) -> None:
    package = tmp_path / "-a b.ipa"
    package.write_bytes(b"PK")
    answer = succeeded({"installedApplications": [{"bundleID": BUNDLE}]})
    client, written = devicectl(tmp_path / "bin", {"device install app": answer})
    client.install(UDID, package)
    assert written.calls[0][:4] == ["devicectl", "device", "install", "app"]
    assert written.calls[0][-1] == str(package)
    with pytest.raises(EnvironmentProblem, match="there is no package"):
        client.install(UDID, tmp_path / "missing.ipa")


def test_removing_an_app_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    answer = failed(native_error(CORE_DEVICE, 3003, "Failed to uninstall"))
    client, _ = devicectl(tmp_path / "absent", {"device uninstall app": answer, APPS: succeeded({"apps": []})})
    client.uninstall(UDID, BUNDLE)
    answers = {APPS: succeeded({"apps": [{"bundleIdentifier": BUNDLE}]}), DETAILS: succeeded(device())}
    lock = {LOCK: succeeded({"passcodeRequired": False})}
    client, _ = devicectl(tmp_path / "present", {"device uninstall app": answer, **answers, **lock})
    with pytest.raises(EnvironmentProblem, match="Failed to uninstall"):
        client.uninstall(UDID, BUNDLE)


def test_what_devicectl_cannot_do_is_refused_with_an_alternative(tmp_path: Path) -> None:
    client, written = devicectl(tmp_path, {"device reboot": succeeded({"deviceIdentifier": "x"})})
    assert client.read_battery(UDID) == Battery()
    with pytest.raises(BenchmarkUnsupported, match="system log") as caught:
        client.open_log(UDID)
    assert "log collect" in (caught.value.hint or "")
    client.reboot(UDID)
    assert written.calls[0][1:3] == ["device", "reboot"]


@pytest.mark.parametrize("udid", ["", "-x", "../x", "a b", "a\n", "x" * 65])
def test_what_is_no_udid_is_not_passed_on(tmp_path: Path, udid: str) -> None:
    client, written = devicectl(tmp_path, {})
    with pytest.raises(EnvironmentProblem, match="is no UDID"):
        client.reboot(udid)
    assert written.calls == []
