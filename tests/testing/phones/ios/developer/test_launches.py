"""Apps of stand-in iPhones, started, listed and killed by the real go-ios."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from harness import shell
from harness.testing.phones import start_iphones
from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.developer.instruments import serve_instruments
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.model import StandInApp
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.usbmux.connection import ConnectionEnded, ServiceConnection
from platforms.ios.apps.crashes import parse_crash
from tests.iphones import GoIosCaller

_BUNDLE = "org.example.app"
_END_S = 120.0


def install(phone: StandInIPhone, folder: Path, script: str, name: str = "TestApp") -> StandInApp:
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    return phone.install(make_package(folder, program, bundle=_BUNDLE, name=name))


def wait_for(file: Path) -> str:
    assert shell.poll_until(file.exists, _END_S)
    return file.read_text()


@pytest.fixture
def sleeper(iphone: StandInIPhone, tmp_path: Path) -> StandInApp:
    """An app that runs until it is killed, and a process of its own with it."""
    return install(
        iphone, tmp_path, 'sleep 600 & echo $! > "$HOME/tmp/child"; mv "$HOME/tmp/child" "$HOME/child"; wait'
    )


def test_an_app_gets_arguments_variables_home_and_folder(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    app = install(
        iphone,
        tmp_path,
        'printf "<%s>" "$@" "$NAMED" "$PWD" "$TMPDIR" > "$HOME/tmp/out"; mv "$HOME/tmp/out" "$HOME/Documents/out"',
    )
    ios.succeed("launch", _BUNDLE, "--arg=a b", "--arg=", "--arg=--x='\"é", "--env=NAMED=1 2", "--kill-existing")
    words = ("a b", "", "--x='\"é", "1 2", str(app.folder), str(app.container / "tmp"))
    assert wait_for(app.container / "Documents/out") == "".join(f"<{word}>" for word in words)


def test_what_an_app_writes_is_in_the_log_of_the_phone(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    install(iphone, tmp_path, "echo to output; echo to error >&2; exit 3")
    ios.succeed("launch", _BUNDLE)
    assert shell.poll_until(lambda: any("exited with status 3" in line for line in iphone.log), _END_S)
    text = "\n".join(iphone.log)
    assert "to output" in text
    assert "to error" in text
    assert list(iphone.crash_reports.iterdir()) == []


def test_running_apps_are_listed_and_killed_with_what_they_started(
    ios: GoIosCaller, iphone: StandInIPhone, sleeper: StandInApp
) -> None:
    assert json.loads(ios.succeed("ps", "--apps")) is None
    ios.succeed("launch", _BUNDLE)
    (listed,) = json.loads(ios.succeed("ps", "--apps"))
    (process,) = iphone.processes()
    assert (listed["Name"], listed["Pid"], listed["IsApplication"]) == ("TestApp", process.pid, True)
    assert {"launchd", "SpringBoard", "TestApp"} <= {each["Name"] for each in json.loads(ios.succeed("ps"))}
    child = int(wait_for(sleeper.container / "child"))
    ios.succeed("kill", _BUNDLE)
    assert "TestApp" not in {each["Name"] for each in json.loads(ios.succeed("ps"))}
    assert process.wait()
    assert process.exit_code == -signal.SIGKILL
    assert shell.poll_until(lambda: not is_alive(child), _END_S)
    assert list(iphone.crash_reports.iterdir()) == []
    assert "process not found" in ios.fail("kill", _BUNDLE)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_an_app_that_runs_is_started_again_only_when_asked(
    ios: GoIosCaller, iphone: StandInIPhone, sleeper: StandInApp
) -> None:
    ios.succeed("launch", sleeper.bundle)
    (first,) = iphone.processes()
    ios.succeed("launch", sleeper.bundle)
    assert iphone.processes() == (first,)
    ios.succeed("launch", sleeper.bundle, "--kill-existing")
    (second,) = iphone.processes()
    assert second.pid != first.pid
    assert first.exit_code == -signal.SIGKILL


@pytest.mark.parametrize(("name", "exception"), [("SEGV", "EXC_BAD_ACCESS"), ("ABRT", "EXC_CRASH")])
def test_an_app_that_crashes_leaves_a_report(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path, name: str, exception: str
) -> None:
    install(iphone, tmp_path, f"ulimit -c 0; echo 'last words' >&2; kill -{name} $$", "Crash App")
    ios.succeed("launch", _BUNDLE)
    assert shell.poll_until(lambda: any(iphone.crash_reports.glob("*.ips")), _END_S)
    (listed,) = json.loads(ios.succeed("crash", "ls"))["files"]
    assert listed.startswith("Crash_App-")
    ios.succeed("crash", "cp", "*", tmp_path)
    header, _, body = (tmp_path / listed).read_text().partition("\n")
    assert json.loads(header)["bundleID"] == _BUNDLE
    crash = parse_crash(f"{header}\n{body}")
    assert crash.signal == signal.Signals[f"SIG{name}"]
    assert exception in crash.text
    assert "last words" in crash.text


def test_two_crashes_in_a_second_leave_two_reports(iphone: StandInIPhone, tmp_path: Path) -> None:
    app = install(iphone, tmp_path, "ulimit -c 0; kill -ILL $$")
    for _ in range(4):
        assert iphone.start(app).wait()
    assert len(list(iphone.crash_reports.glob("TestApp-*.ips"))) == 4


def test_an_app_that_is_not_installed_or_cannot_start_is_told(
    ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path
) -> None:
    assert "unknown to FrontBoard" in ios.fail("launch", "org.example.none")
    app = install(iphone, tmp_path, "true")
    (app.folder / "TestApp").write_text("#!/nowhere/interpreter\n")
    assert "cannot start" in ios.fail("launch", _BUNDLE)
    assert iphone.processes() == ()


def test_developer_services_need_the_developer_image(ios: GoIosCaller, iphone: StandInIPhone) -> None:
    iphone.conditions.developer_image = False
    assert "Developer Disk Image must be mounted" in ios.fail("ps")


def test_an_app_ends_when_it_is_removed_or_replaced_or_the_phone_restarts(
    iphone: StandInIPhone, sleeper: StandInApp, tmp_path: Path
) -> None:
    replaced = iphone.start(sleeper)
    app = install(iphone, tmp_path, "exec sleep 600")
    assert replaced.exit_code == -signal.SIGKILL
    restarted = iphone.start(app)
    iphone.restart(0.01)
    assert restarted.exit_code == -signal.SIGKILL
    removed = iphone.start(app)
    iphone.uninstall(_BUNDLE)
    assert removed.exit_code == -signal.SIGKILL


def test_an_app_sees_conditions_that_change_while_it_runs(iphone: StandInIPhone, tmp_path: Path) -> None:
    app = install(
        iphone,
        tmp_path,
        'cp "$STAND_IN_CONDITIONS" "$HOME/before"; touch "$HOME/Documents/up"\n'
        'until grep -q serious "$STAND_IN_CONDITIONS"; do sleep 0.02; done',
    )
    process = iphone.start(app)
    wait_for(app.container / "Documents/up")
    iphone.conditions.thermal_state = "serious"
    assert process.wait(_END_S)
    assert process.exit_code == 0
    assert json.loads((app.container / "before").read_text())["thermal_state"] == "nominal"


def test_an_app_ends_with_the_lab(tmp_path: Path) -> None:
    with start_iphones() as lab:
        process = lab.phones[0].start(install(lab.phones[0], tmp_path, "trap '' TERM INT HUP; sleep 600 & wait"))
        assert is_alive(process.pid)
    assert process.exit_code == -signal.SIGKILL


def test_bytes_that_are_no_message_end_their_connection_only(
    ios: GoIosCaller, iphones: IPhoneLab, iphone: StandInIPhone
) -> None:
    for content in (b"GET / HTTP/1.1\r\n\r\n" + bytes(64), bytes(32), b"\x79\x5b\x3d\x1f" + b"\xff" * 60):
        near, far = socket.socketpair()
        with near:
            near.sendall(content)
            connection = ServiceConnection(far, iphone.cable)
            with pytest.raises(ConnectionEnded):
                serve_instruments(connection, iphone)
            connection.close()
    ios.succeed("ps")
