from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness import shell
from harness.testing.phones import start_iphones
from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.phone import StandInIPhone
from tests.iphones import GoIosCaller

BUNDLE = "org.example.app"
LIMIT_S = 300.0


@pytest.fixture
def package(tmp_path: Path) -> Path:
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n" + b"#" * 300_000)
    return make_package(tmp_path / "package", program, bundle=BUNDLE, name="App")


def test_lines_of_the_log_arrive_until_the_cable_is_pulled(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    with ios.open("syslog") as process:
        assert process.stdout is not None
        assert "a client listens" in process.stdout.readline()
        iphone.write_log("Runner(libz)", 77, 'what "it" said\nand more\0', "Error")
        message = json.loads(process.stdout.readline())["msg"]
        iphone.unplug()
        assert process.stdout.readline() == ""
        assert process.wait(LIMIT_S) != 0
    assert 'Runner(libz)[77] <Error>: what "it" said\\nand more' in message


@pytest.mark.slow
def test_a_phone_that_is_unplugged_ends_what_runs(ios: GoIosCaller, iphone: StandInIPhone, package: Path) -> None:
    ios.succeed("info")
    for carried in (1, 3_000, 9_000, 150_000):
        iphone.unplug_after(carried)
        ios.fail("install", f"--path={package}")
        assert not iphone.conditions.plugged_in
        iphone.plug()
    assert not iphone.apps
    ios.succeed("install", f"--path={package}")


@pytest.mark.slow
def test_phones_that_come_and_go_are_told_to_those_who_listen(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    with ios.open("listen") as process:
        assert process.stdout is not None
        events = (json.loads(line) for line in process.stdout)
        assert [next(events)["MessageType"], next(events)["MessageType"]] == ["Attached", "Attached"]
        iphone.unplug()
        gone = next(events)
        iphone.plug()
        back = next(events)
        process.kill()
    assert (gone["MessageType"], gone["DeviceID"]) == ("Detached", back["DeviceID"])
    assert (back["MessageType"], back["Properties"]["SerialNumber"]) == ("Attached", iphone.model.udid)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["push", "pull"])
def test_a_file_that_is_cut_off_ends_its_call(
    ios: GoIosCaller, iphone: StandInIPhone, package: Path, tmp_path: Path, direction: str
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"x" * 2_000_000)
    documents = iphone.install(package).container / "Documents"
    (documents / "source").write_bytes(source.read_bytes())
    paths = (source, "Documents/file") if direction == "push" else ("Documents/source", tmp_path / "back")
    ios.succeed("info")
    iphone.unplug_after(500_000)
    message = ios.fail("fsync", f"--app={BUNDLE}", direction, f"--srcPath={paths[0]}", f"--dstPath={paths[1]}")
    assert f"fsync: {direction} failed" in message
    assert not iphone.conditions.plugged_in


@pytest.mark.slow
def test_a_frozen_phone_is_listed_answers_nothing_and_goes_on_when_thawed(
    ios: GoIosCaller, iphone: StandInIPhone
) -> None:
    ios.succeed("info")
    iphone.freeze()
    assert iphone.model.udid in ios.succeed("list")
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(ios, "info")
        assert not shell.poll_until(waiting.done, 3.0)
        iphone.thaw()
        assert waiting.result(timeout=LIMIT_S).ok


@pytest.mark.slow
def test_a_frozen_phone_can_be_unplugged(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    ios.succeed("info")
    iphone.freeze()
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(ios, "apps")
        shell.poll_until(waiting.done, 1.0)
        iphone.unplug()
        assert not waiting.result(timeout=LIMIT_S).timed_out


def test_a_restart_ends_connections_and_brings_the_phone_back(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    restarts = iphone.restarts
    ios.succeed("reboot")
    assert shell.poll_until(lambda: iphone.restarts > restarts and iphone.conditions.plugged_in, LIMIT_S)
    ios.succeed("info")


def test_the_developer_image_and_developer_mode_are_told(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    assert "image signature" in ios("image", "list").stderr
    iphone.conditions.developer_image = iphone.conditions.developer_mode = False
    assert "image signature" not in ios("image", "list").stderr
    assert json.loads(ios.succeed("devmode", "get")) == {"DeveloperModeEnabled": False}


def test_the_battery_is_read_in_detail(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    iphone.heat("serious", battery_c=41.25)
    registry = json.loads(ios.succeed("batteryregistry"))
    assert (registry["Temperature"], registry["IsCharging"], registry["CurrentCapacity"]) == (4125, True, 88)


@pytest.mark.slow
def test_ten_phones_are_used_at_once(go_ios: Path, package: Path, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(b"0123456789" * 100_000)
    with start_iphones(10) as lab:

        def use(phone: StandInIPhone) -> bytes:
            ios = GoIosCaller(go_ios, lab, phone)
            ios.succeed("install", f"--path={package}")
            app = f"--app={BUNDLE}"
            ios.succeed("fsync", app, "push", f"--srcPath={content}", "--dstPath=Documents/content")
            back = tmp_path / phone.model.udid
            ios.succeed("fsync", app, "pull", "--srcPath=Documents/content", f"--dstPath={back}")
            return (back / "content").read_bytes()

        with ThreadPoolExecutor(10) as threads:
            assert set(threads.map(use, lab.phones)) == {content.read_bytes()}
        folders = [phone.folder for phone in lab.phones]
    assert not any(folder.exists() for folder in folders)
