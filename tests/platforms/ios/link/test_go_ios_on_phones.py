"""The real go-ios, through our client, with stand-in iPhones: every call, and the faults of phones."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from platforms.ios.link.errors import PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos

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
