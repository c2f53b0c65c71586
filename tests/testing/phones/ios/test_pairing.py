from __future__ import annotations

import contextlib
import json
import socket
import struct

import pytest

from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from tests.iphones import GoIosCaller


def test_phones_that_are_plugged_in_are_listed(ios: GoIosCaller, iphones: IPhoneLab) -> None:
    first, second = iphones.phones
    assert json.loads(ios.succeed("list")) == {"deviceList": [first.model.udid, second.model.udid]}
    first.unplug()
    assert json.loads(ios.other(second).succeed("list")) == {"deviceList": [second.model.udid]}
    first.plug()
    assert first.model.udid in ios.succeed("list")


def test_properties_are_read_by_tls(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    values = json.loads(ios.succeed("info"))
    assert values["UniqueDeviceID"] == iphone.model.udid
    assert values["ProductVersion"] == "16.7.10"
    assert values["DeviceName"] == iphone.model.name
    assert values["PasswordProtected"] is False


def test_a_new_pairing_replaces_that_of_before(ios: GoIosCaller, iphones: IPhoneLab, iphone: StandInIPhone) -> None:
    ios.succeed("info")
    before = iphones.computer.read_record(iphone.model.udid)
    ios.succeed("pair")
    assert iphones.computer.read_record(iphone.model.udid) not in {None, before}
    assert json.loads(ios.succeed("apps")) == []


@pytest.mark.slow
def test_a_phone_that_forgot_this_computer_refuses_a_session(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    ios.succeed("info")
    iphone.distrust()
    assert "InvalidHostID" in ios.fail("info")
    assert "UserDeniedPairing" in ios.fail("pair")


@pytest.mark.slow
def test_a_question_of_trust_without_an_answer_is_told(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    iphone.leave_unanswered()
    assert "accept the PairingDialog" in ios.fail("pair")
    iphone.trust()
    ios.succeed("pair")
    ios.succeed("info")


def test_a_computer_that_was_never_paired_has_no_record(
    ios: GoIosCaller, iphones: IPhoneLab, iphone: StandInIPhone
) -> None:
    iphones.computer.delete_record(iphone.model.udid)
    iphone.leave_unanswered()
    assert "is the device paired?" in ios.fail("info")


@pytest.mark.slow
def test_a_locked_phone_is_not_paired_and_starts_no_service(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    ios.succeed("info")
    iphone.lock()
    assert "PasswordProtected" in ios.fail("pair")
    assert "PasswordProtected" in ios.fail("uninstall", "a.b")
    assert json.loads(ios.succeed("info"))["PasswordProtected"] is True
    iphone.unlock()
    ios.succeed("pair")


def test_battery_and_date_are_read(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    iphone.conditions.battery_percent, iphone.conditions.charging = 41.0, False
    battery = json.loads(ios.succeed("batterycheck"))
    assert (battery["BatteryCurrentCapacity"], battery["BatteryIsCharging"]) == (41, False)
    assert json.loads(ios.succeed("date"))["TimeIntervalSince1970"] > 0


def test_words_that_are_no_message_end_their_connection_only(ios: GoIosCaller, iphones: IPhoneLab) -> None:
    host, _, port = iphones.usbmuxd.partition(":")
    for content in (
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("<IIII", 0xFFFFFFFF, 1, 8, 1),
        struct.pack("<IIII", 20, 1, 8, 1) + b"<<<<",
        struct.pack("<IIII", 18, 1, 8, 1) + b"bp",
    ):
        with (
            socket.create_connection((host, int(port)), timeout=60) as client,
            contextlib.suppress(ConnectionResetError),
        ):
            client.sendall(content)
            assert client.recv(100) == b""
    ios.succeed("list")
