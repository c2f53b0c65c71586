"""The real go-ios, through our client, with stand-in iPhones: every call, and the faults of phones."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from harness.core.errors import DeviceLost, EnvironmentProblem, OutOfSpace
from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.model import StandInApp
from harness.testing.phones.ios.phone import StandInIPhone
from platforms.ios.link.client import AppLaunch
from platforms.ios.link.errors import AppNotInstalled, NoDeveloperServices, PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.link.go_ios.program import TimeLimits
from tests.processes import wait_until

pytestmark = pytest.mark.slow

BUNDLE = "org.example.Runner"


@pytest.fixture
def client(go_ios: Path, iphones: IPhoneLab) -> GoIos:
    return GoIos(go_ios, usbmuxd=iphones.usbmuxd, environment=iphones.environment)


@pytest.fixture
def udid(iphone: StandInIPhone) -> str:
    return iphone.model.udid


def test_phones_that_are_plugged_in_are_listed(client: GoIos, iphones: IPhoneLab) -> None:
    first, second = iphones.phones
    assert [phone.udid for phone in client.list_phones()] == [first.model.udid, second.model.udid]
    first.unplug()
    assert [phone.udid for phone in client.list_phones()] == [second.model.udid]
    assert [finding.ok for finding in client.diagnose()] == [True, True]


def test_properties_are_those_of_the_phone(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    properties = client.read_properties(udid)
    assert (properties.udid, properties.name, properties.product) == (udid, iphone.model.name, iphone.model.product)
    assert (properties.version, properties.build, properties.model) == ("16.7.10", "20H350", "D27AP")
    assert (properties.system, properties.abi, properties.developer_mode) == ("iOS", "arm64e", True)
    iphone.conditions.developer_mode = False
    assert client.read_properties(udid).developer_mode is False


def test_a_phone_without_usbmuxd_is_no_lost_phone(go_ios: Path, udid: str) -> None:
    client = GoIos(go_ios, usbmuxd="127.0.0.1:1")
    for call in (client.list_phones, lambda: client.read_properties(udid)):
        with pytest.raises(EnvironmentProblem, match="usbmuxd") as raised:
            call()
        assert not isinstance(raised.value, DeviceLost)


def test_a_phone_that_is_unplugged_is_lost(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    iphone.unplug()
    for call in (client.read_properties, client.list_apps, client.read_battery, client.list_crash_reports):
        with pytest.raises(DeviceLost, match="not connected"):
            call(udid)


def test_the_owner_is_asked_for_trust_when_properties_are_read(
    client: GoIos, iphones: IPhoneLab, iphone: StandInIPhone, udid: str
) -> None:
    iphone.leave_unanswered()
    iphones.computer.delete_record(udid)
    with pytest.raises(PhoneNotPaired, match="asks whether to trust"):
        client.read_properties(udid)
    with pytest.raises(PhoneNotPaired, match="does not trust this computer"):
        client.list_apps(udid)
    iphone.distrust()
    with pytest.raises(PhoneNotPaired, match="chose not to trust"):
        client.read_properties(udid)
    iphone.trust()
    assert client.read_properties(udid).udid == udid


def test_a_phone_that_forgot_this_computer_is_paired_again(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    assert client.list_apps(udid) == ()
    iphone.distrust()
    with pytest.raises(PhoneNotPaired, match="does not trust this computer"):
        client.list_apps(udid)
    iphone.trust()
    assert client.read_properties(udid).udid == udid
    assert client.list_apps(udid) == ()


def test_a_locked_phone_says_so(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    iphone.lock()
    assert client.read_properties(udid).udid == udid
    with pytest.raises(PhoneNotPaired, match="is locked"):
        client.list_apps(udid)
    iphone.unlock()
    assert client.list_apps(udid) == ()


def test_the_battery_is_read_in_our_units(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    iphone.conditions.battery_percent, iphone.conditions.charging, iphone.conditions.battery_c = 41.0, False, 31.5
    battery = client.read_battery(udid)
    assert (battery.percent, battery.plugged, battery.temperature_c) == (41.0, False, 31.5)
    assert 3000 < (battery.voltage_mv or 0) < 5000
    assert 100_000 < (battery.charge_uah or 0) < 10_000_000


def test_an_app_is_installed_replaced_and_removed(
    client: GoIos, iphone: StandInIPhone, udid: str, tmp_path: Path
) -> None:
    client.install(udid, package(tmp_path / "1", version="1"))
    client.push(udid, BUNDLE, tmp_path / "1/program", "Documents/kept")
    client.install(udid, package(tmp_path / "2", version="2"))
    assert [(app.bundle, app.version, app.executable) for app in client.list_apps(udid)] == [(BUNDLE, "2", "Runner")]
    assert client.list_files(udid, BUNDLE, "Documents") == ("kept",)
    client.uninstall(udid, BUNDLE)
    client.uninstall(udid, BUNDLE)
    assert client.list_apps(udid) == ()


def test_what_a_phone_does_not_install_is_said(client: GoIos, iphone: StandInIPhone, udid: str, tmp_path: Path) -> None:
    good = package(tmp_path)
    iphone.conditions.refuses_signature = True
    with pytest.raises(EnvironmentProblem, match="does not accept the signature"):
        client.install(udid, good)
    iphone.conditions.refuses_signature = False
    iphone.fill(bytes_left=10)
    with pytest.raises(OutOfSpace, match="no space left"):
        client.install(udid, good)
    iphone.fill(None)
    (tmp_path / "bad.ipa").write_text("no package")
    with pytest.raises(EnvironmentProblem, match="not a valid zip file"):
        client.install(udid, tmp_path / "bad.ipa")
    assert client.list_apps(udid) == ()


def package(folder: Path, version: str = "1") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program").write_text("#!/bin/sh\nexit 0\n")
    return make_package(folder, folder / "program", bundle=BUNDLE, name="Runner", version=version)


@pytest.fixture
def app(iphone: StandInIPhone, tmp_path: Path) -> StandInApp:
    return iphone.install(package(tmp_path / "package"))


def test_files_go_into_a_container_and_back(client: GoIos, app: StandInApp, udid: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000 + b"end"
    (tmp_path / "name with 'quotes'").write_bytes(content)
    remote = "Documents/edge-harness/a b/ü'$(x)\n.bin"
    client.push(udid, BUNDLE, tmp_path / "name with 'quotes'", remote)
    assert (app.container / remote).read_bytes() == content
    client.push(udid, BUNDLE, tmp_path / "name with 'quotes'", "Documents/edge-harness/a b/second")
    client.pull(udid, BUNDLE, remote, tmp_path / "here/back")
    assert (tmp_path / "here/back").read_bytes() == content
    assert [file.name for file in (tmp_path / "here").iterdir()] == ["back"]
    assert sorted(client.list_files(udid, BUNDLE, "Documents")) == [
        "edge-harness/a b/second",
        "edge-harness/a b/ü'$(x)\n.bin",
    ]
    client.remove(udid, BUNDLE, "Documents/edge-harness")
    client.remove(udid, BUNDLE, "Documents/edge-harness")
    assert client.list_files(udid, BUNDLE, "Documents/edge-harness") == ()
    assert client.list_files(udid, BUNDLE, "Documents") == ()


def test_empty_files_and_files_in_place_of_others_are_copied(
    client: GoIos, app: StandInApp, udid: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "old").write_text("old and longer")
    client.push(udid, BUNDLE, tmp_path / "old", "Documents/x")
    client.push(udid, BUNDLE, tmp_path / "empty", "Documents/x")
    client.pull(udid, BUNDLE, "Documents/x", tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == b""


def test_what_is_not_there_is_not_found(client: GoIos, app: StandInApp, udid: str, tmp_path: Path) -> None:
    for remote in ("Documents/none", "Documents/none/none"):
        with pytest.raises(FileNotFoundError):
            client.pull(udid, BUNDLE, remote, tmp_path / "here/x")
    with pytest.raises(EnvironmentProblem, match="is no file"):
        client.pull(udid, BUNDLE, "Documents", tmp_path / "here/x")
    assert list((tmp_path / "here").iterdir()) == []


def test_an_app_that_is_not_installed_is_named(client: GoIos, iphone: StandInIPhone, udid: str, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for call in (
        lambda: client.push(udid, BUNDLE, tmp_path / "x", "Documents/x"),
        lambda: client.pull(udid, BUNDLE, "Documents/x", tmp_path / "y"),
        lambda: client.remove(udid, BUNDLE, "Documents/x"),
        lambda: client.list_files(udid, BUNDLE, "Documents"),
    ):
        with pytest.raises(AppNotInstalled, match="does not have this app"):
            call()


def test_a_full_phone_is_out_of_space(
    client: GoIos, iphone: StandInIPhone, app: StandInApp, udid: str, tmp_path: Path
) -> None:
    (tmp_path / "x").write_bytes(bytes(1 << 20))
    iphone.fill(bytes_left=100_000)
    with pytest.raises(OutOfSpace, match="no space left"):
        client.push(udid, BUNDLE, tmp_path / "x", "Documents/x")


@pytest.mark.parametrize("carried_bytes", [300_000, 900_000])
def test_a_phone_that_is_unplugged_while_files_are_copied_is_lost(
    client: GoIos, iphone: StandInIPhone, app: StandInApp, tmp_path: Path, carried_bytes: int
) -> None:
    udid = iphone.model.udid
    (tmp_path / "x").write_bytes(bytes(4 << 20))
    (app.container / "Documents/x").write_bytes(bytes(4 << 20))
    iphone.unplug_after(carried_bytes)
    with pytest.raises(DeviceLost):
        client.push(udid, BUNDLE, tmp_path / "x", "Documents/y")
    iphone.unplug_after(None)
    iphone.plug()
    iphone.unplug_after(carried_bytes)
    with pytest.raises(DeviceLost):
        client.pull(udid, BUNDLE, "Documents/x", tmp_path / "here/x")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_slow_copy_is_no_lost_phone(
    go_ios: Path, iphones: IPhoneLab, app: StandInApp, udid: str, tmp_path: Path
) -> None:
    limits = TimeLimits(answer_s=10.0, slowest_bytes_per_s=1 << 20)
    client = GoIos(go_ios, usbmuxd=iphones.usbmuxd, environment=iphones.environment, limits=limits)
    (app.container / "Documents/x").write_bytes(bytes(64 << 20))
    client.pull(udid, BUNDLE, "Documents/x", tmp_path / "x")
    assert (tmp_path / "x").stat().st_size == 64 << 20


def test_crash_reports_are_listed_and_read(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    assert client.list_crash_reports(udid) == ()
    name = "Runner [x]*-2026-11-23-101500.ips"
    (iphone.crash_reports / name).write_text('{"app_name":"Runner"}\n{"é":1}')
    (iphone.crash_reports / "-option-2026-11-23-101500.ips").write_text("other")
    reports = {report.name: report for report in client.list_crash_reports(udid)}
    assert {report.process for report in reports.values()} == {"Runner [x]*", "-option"}
    assert client.read_crash_report(udid, reports[name]) == '{"app_name":"Runner"}\n{"é":1}'
    assert client.read_crash_report(udid, reports["-option-2026-11-23-101500.ips"]) == "other"
    (iphone.crash_reports / name).unlink()
    with pytest.raises(EnvironmentProblem, match="any more"):
        client.read_crash_report(udid, reports[name])


def test_the_log_is_followed(client: GoIos, iphones: IPhoneLab, iphone: StandInIPhone, udid: str) -> None:
    with client.open_log(udid) as log:

        def hears(message: str) -> bool:
            iphone.write_log("Runner", 4711, message)
            iphone.write_log("kernel", 0, "other")
            return any(message in line for line in log.lines("Runner"))

        wait_until(lambda: hears("first"), within_s=60)
        wait_until(lambda: hears("a \x1b[31m \ufffd line"), within_s=60)
        assert not any("other" in line for line in log.lines("Runner"))
        assert any("other" in line for line in log.lines())
    assert not processes_with(iphones.usbmuxd)


def test_a_phone_is_restarted(client: GoIos, udid: str) -> None:
    def is_back() -> bool:
        with contextlib.suppress(DeviceLost):
            return client.read_properties(udid).udid == udid
        return False

    client.reboot(udid)
    wait_until(is_back, within_s=60)


def test_without_developer_image_no_app_is_started(client: GoIos, iphone: StandInIPhone, udid: str) -> None:
    iphone.conditions.developer_image = False
    with pytest.raises(NoDeveloperServices, match="no developer image"):
        client.launch(udid, AppLaunch(BUNDLE))
    iphone.conditions.developer_mode = False
    with pytest.raises(NoDeveloperServices, match="developer mode"):
        client.is_running(udid, "Runner")


def test_a_phone_that_answers_nothing_is_lost_within_its_bound(
    go_ios: Path, iphones: IPhoneLab, iphone: StandInIPhone, udid: str, tmp_path: Path
) -> None:
    limits = TimeLimits(answer_s=3.0, install_s=3.0)
    client = GoIos(go_ios, usbmuxd=iphones.usbmuxd, environment=iphones.environment, limits=limits)
    assert client.list_apps(udid) == ()
    (tmp_path / "x.ipa").write_bytes(b"x")
    iphone.freeze()
    for call in (
        lambda: client.list_apps(udid),
        lambda: client.read_properties(udid),
        lambda: client.push(udid, BUNDLE, tmp_path / "x.ipa", "Documents/x"),
        lambda: client.pull(udid, BUNDLE, "Documents/x", tmp_path / "y"),
        lambda: client.install(udid, tmp_path / "x.ipa"),
        lambda: client.launch(udid, AppLaunch(BUNDLE)),
    ):
        with pytest.raises(DeviceLost, match="did not answer in time"):
            call()
    assert not processes_with(iphones.usbmuxd)
    iphone.thaw()
    assert client.list_apps(udid) == ()


def processes_with(usbmuxd: str) -> list[str]:
    """Return the processes that were started to reach these phones."""
    variable = f"USBMUXD_SOCKET_ADDRESS={usbmuxd}".encode()
    running = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable in (process / "environ").read_bytes().split(b"\0"):
                running.append(process.name)
    return running
