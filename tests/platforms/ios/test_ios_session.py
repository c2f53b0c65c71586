"""Launches of apps on stand-in iPhones: what is said of each way in which one may end.

What a client has to tell goes through the real go-ios; what a session does with any client is tested without it.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from harness.core.app import App
from harness.core.command import Command
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem, OutOfSpace
from harness.testing.phones.ios.apps.packages import SHELL_BUNDLE, make_package, shell_app
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.progress import RecordedProgress
from platforms.ios.platform import Ios
from platforms.phone_options import PhoneOptions
from tests.platforms.ios.conftest import MakeIos

pytestmark = pytest.mark.slow


def device_of(platform: Ios, phone: StandInIPhone) -> Device:
    (device,) = [device for device in platform.devices() if device.identity == phone.model.udid]
    return device


def sh(script: str, *words: str, timeout_s: float = 60.0) -> Command:
    return Command(("/bin/sh", "-c", script, "sh", *words), timeout_s=timeout_s)


def test_the_state_of_a_phone_is_what_its_app_saw(make_local_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_local_ios()
    iphone.heat("serious", 33.5)
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        iphone.conditions.brightness = 0.75
        session.run(sh("true"))
        state = session.state()
    assert (state.thermal_status, state.brightness, state.low_power_mode) == (3, 0.75, False)
    assert (state.battery_percent, state.plugged, state.temperature_c) == (88.0, True, 33.5)


def test_a_phone_in_low_power_mode_is_not_measured_on(make_local_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_local_ios()
    iphone.conditions.low_power_mode = True
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.run(sh("true"))
        with pytest.raises(EnvironmentProblem, match="low power mode is on") as caught:
            session.wait_until_ready()
        assert "switch it off" in (caught.value.hint or "")
        iphone.conditions.low_power_mode = False
        session.wait_until_ready()


def test_a_condition_that_is_overridden_is_a_note(make_local_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_local_ios(PhoneOptions(override=("low-power",)))
    iphone.conditions.low_power_mode = True
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.wait_until_ready()
        completed = session.run(sh("true"))
    (note,) = completed.notes
    assert note.code == "overridden"
    assert "low power mode is on" in note.message


def test_a_crash_is_told_by_its_report(make_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        for _ in range(2):
            completed = session.run(sh("echo before; kill -ABRT $$"))
            assert (completed.signal, completed.exit_code) == (6, None)
            assert "SIGABRT" in completed.stderr
            assert completed.stdout == "before\n"


def test_a_phone_that_is_unplugged_while_an_app_runs_is_lost(make_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.run(sh("true"))
        timer = threading.Timer(3.0, iphone.unplug)
        timer.start()
        with pytest.raises(DeviceLost):
            session.run(sh("sleep 60", timeout_s=120.0))
        timer.join()
        iphone.plug()
        session.reconnect()
        assert session.run(sh("echo again")).stdout == "again\n"


def test_a_phone_without_room_is_said_to_be_full(make_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(bytes(3_000_000))
    platform = make_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        iphone.fill(1_000_000)
        with pytest.raises(OutOfSpace):
            session.stage({"model": tmp_path / "model"}, {})
        iphone.fill(None)
        staged = session.stage({"model": tmp_path / "model"}, {})
        assert session.run(sh('wc -c < "$1"', staged.files["model"])).stdout.strip() == "3000000"


def test_contents_of_earlier_sessions_make_room(make_local_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path) -> None:
    for name, byte in (("old", b"o"), ("new", b"n")):
        (tmp_path / name).write_bytes(byte * 2_000_000)
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.stage({"model": tmp_path / "old"}, {})
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        iphone.fill(1_000_000)
        staged = session.stage({"model": tmp_path / "new"}, {})
        assert session.run(sh('head -c 3 "$1"', staged.files["model"])).stdout == "nnn"


def test_a_content_that_arrived_incomplete_is_pushed_again(
    make_local_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path
) -> None:
    (tmp_path / "model").write_bytes(b"m" * 1000)
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.stage({"model": tmp_path / "model"}, {})
        contents = iphone.apps[SHELL_BUNDLE].container / "Documents" / "edge-harness" / "contents"
        (content,) = [path for path in contents.iterdir() if path.stat().st_size == 1000]
        content.write_bytes(b"m" * 400)
        staged = session.stage({"model": tmp_path / "model"}, {})
        assert session.run(sh('wc -c < "$1"', staged.files["model"])).stdout.strip() == "1000"


def test_a_package_is_installed_only_where_that_build_is_not_there(
    make_local_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = shell_app(tmp_path / "one"), shell_app(tmp_path / "two", version="2")
    platform = make_local_ios()

    def installations() -> int:
        return sum("nstalled" in line for line in iphone.log)

    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        first = session.stage({}, {"program": one}).programs["program"]
        assert session.run(Command((first, "/bin/sh", "-c", "echo one"))).stdout == "one\n"
        second = session.stage({}, {"program": two}).programs["program"]
        assert first != second
        for program in (second, first, second):
            completed = session.run(Command((program, "/bin/sh", "-c", "echo ran")))
            assert completed.stdout == "ran\n"
            assert [note.code for note in completed.notes] == ["installed_in_turns"]
        assert iphone.apps[SHELL_BUNDLE].info["CFBundleVersion"] == "2"


def test_an_app_that_says_another_build_of_it_ran_fails(
    make_local_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path
) -> None:
    lies = tmp_path / "lies"
    lies.write_text(
        "#!/bin/sh\n"
        'cd "$HOME" && mkdir -p "$(dirname "$EDGE_HARNESS_RESULT")"\n'
        'printf \'{"schema_version": 1, "mark": "%s", "exit_code": 0, "stdout": "", "stderr": "", '
        '"executable_sha256": "other"}\' "$EDGE_HARNESS_MARK" > "$EDGE_HARNESS_RESULT"\n'
    )
    lies.chmod(0o755)
    package = make_package(tmp_path, lies, bundle="org.example.lies", name="Lies")
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        program = session.stage({}, {"program": package}).programs["program"]
        with pytest.raises(BenchmarkFailed, match=r"another build of org\.example\.lies ran"):
            session.run(Command((program,)))


def test_what_no_app_can_have_is_refused(make_local_ios: MakeIos, iphone: StandInIPhone) -> None:
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        with pytest.raises(BenchmarkUnsupported, match="pins"):
            session.run(Command(("/bin/true",), cpus=(0,)))
        for remote in ("/etc/passwd", "Documents/../../x", ""):
            with pytest.raises(FileNotFoundError):
                session.pull(remote, Path("never"))


def test_a_phone_that_no_longer_trusts_this_computer_is_listed_as_such(
    make_ios: MakeIos, iphones: IPhoneLab, iphone: StandInIPhone
) -> None:
    platform = make_ios()
    iphones.phones[1].plug()
    iphone.distrust()
    statuses = {status.name: status for status in platform.list_devices()}
    assert len(statuses) == 2
    assert statuses[iphones.phones[1].model.udid].state == "ready"
    status = statuses[iphone.model.udid]
    assert (status.device, status.state) == (None, "not paired")
    assert "Trust" in status.remedy


def test_a_phone_without_developer_mode_is_listed_with_its_remedy(make_ios: MakeIos, iphone: StandInIPhone) -> None:
    iphone.conditions.developer_mode = False
    (status,) = [status for status in make_ios().list_devices() if status.name == iphone.model.udid]
    assert (status.device, status.state) == (None, "developer mode is off")
    assert "restart" in status.remedy


def other_app(folder: Path, script: str) -> Path:
    """The package of an app that does not speak the protocol of runner apps."""
    program = folder / "program"
    program.write_text(f'#!/bin/sh\ncd "$HOME"\n{script}\n')
    program.chmod(0o755)
    return make_package(folder, program, bundle="org.example.other", name="Other")


@pytest.mark.parametrize(
    ("script", "exit_code", "signal", "said"),
    [
        ("mkdir -p Documents; echo '[1]' > Documents/result.json; sleep 60", 0, None, ""),
        ("mkdir -p Documents; echo '[1]' > Documents/result.json", 0, None, ""),
        ("mkdir -p Documents; echo '[1' > Documents/result.json; kill -SEGV $$", None, 11, "SIGSEGV"),
        ("exit 3", 1, None, "neither its result nor a crash report"),
        ("kill -SEGV $$", None, 11, "SIGSEGV"),
    ],
)
def test_an_app_that_is_not_ours_is_judged_by_its_result(  # noqa: PLR0917 - a table
    make_local_ios: MakeIos,
    iphone: StandInIPhone,
    tmp_path: Path,
    script: str,
    exit_code: int | None,
    signal: int | None,
    said: str,
) -> None:
    iphone.install(other_app(tmp_path, script))
    app = App(package="org.example.other", activity="", result="Documents/result.json")
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        completed = session.run(Command(("--words",), app=app, timeout_s=40.0))
    assert (completed.exit_code, completed.signal, completed.timed_out) == (exit_code, signal, False)
    assert said in completed.stderr
    assert exit_code != 0 or completed.stdout == "[1]\n"


def test_what_a_killed_run_left_is_removed_by_the_next(
    make_local_ios: MakeIos, iphone: StandInIPhone, tmp_path: Path
) -> None:
    (tmp_path / "model").write_bytes(b"model")
    ours = iphone.apps[SHELL_BUNDLE].container / "Documents" / "edge-harness"
    left = ours / "sessions" / "killed" / "0" / "output.bin"
    left.parent.mkdir(parents=True)
    left.write_bytes(bytes(1000))
    (ours.parent / "precious").write_text("the user's own")
    platform = make_local_ios()
    with platform.open(device_of(platform, iphone), RecordedProgress()) as session:
        session.stage({"model": tmp_path / "model"}, {})
        assert not left.exists()
    assert not list((ours / "sessions").glob("*"))
    assert (ours.parent / "precious").exists()
    assert any(content.read_bytes() == b"model" for content in (ours / "contents").iterdir())
