"""The real go-ios, through our client, with stand-in iPhones: every call, and the faults of phones."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from platforms.ios.link.client import Launch
from platforms.ios.link.errors import PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.link.go_ios.program import TimeLimits

pytestmark = pytest.mark.slow


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
        lambda: client.push(udid, "org.example.Runner", tmp_path / "x.ipa", "Documents/x"),
        lambda: client.pull(udid, "org.example.Runner", "Documents/x", tmp_path / "y"),
        lambda: client.install(udid, tmp_path / "x.ipa"),
        lambda: client.launch(udid, Launch("org.example.Runner")),
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
