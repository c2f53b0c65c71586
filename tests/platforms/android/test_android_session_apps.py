from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.app import App
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.launch.app import format_extras
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from platforms.android.session import AndroidSession
from tests.platforms.android.conftest import MakePlatform

PACKAGE = "org.example.bench"
APP = App(package=PACKAGE, activity=".Main", result="files/result.json")
TALKER = App(package=PACKAGE, activity=".Main")
PLAYED = App(package="org.example.played", activity=".Main", result="files/result.json")
PLAYING = "#!/system/bin/sh\nmkdir -p files; echo '{says}' >files/result.json; sleep 30\n"


def test_extras_are_given_by_their_kind() -> None:
    argv = ("dir", "/a b", "n", "50", "big", "5000000000", "x", "0.5", "on", "true", "v", "1.2.3", "empty", "")
    assert format_extras(argv) == [
        *("--es", "dir", "/a b", "--ei", "n", "50", "--el", "big", "5000000000", "--ef", "x", "0.5"),
        *("--ez", "on", "true", "--es", "v", "1.2.3", "--es", "empty", ""),
    ]
    with pytest.raises(BenchmarkFailed, match="no value"):
        format_extras(("name",))


def test_an_app_without_an_activity_is_not_for_android(session: AndroidSession) -> None:
    with pytest.raises(BenchmarkUnsupported, match="has no `activity`") as raised:
        session.run(Command((), app=App(package=PACKAGE, tests="Tests.xctest")))
    assert "iPhones" in (raised.value.hint or "")


@pytest.fixture
def hook(phone: Phone) -> Iterator[Path]:
    """File for the actions of the app."""
    phone.sh("mkdir -p /data/app-hooks")
    yield Path(f"/data/app-hooks/{PACKAGE}")
    phone.sh('rm -rf "/data/app-hooks/$1" "/data/data/$1" /data/local/tmp/edge-harness/apps', PACKAGE)


def does(stand_in: StandInPhone, hook: Path, script: str) -> None:
    stand_in.write(str(hook), script)


@pytest.mark.slow
def test_an_app_keeps_its_time_when_the_phone_s_clock_is_set(
    broken_lab: PhoneLab, make_platform: MakePlatform, tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("a C compiler is missing (apt install gcc)")
    stand_in = broken_lab.phones[0]
    phone = Phone(AdbServer(broken_lab.server), stand_in.serial)
    source, library = Path(__file__).with_name("jumping_clock.c"), tmp_path / "jumping_clock.so"
    subprocess.run((compiler, "-shared", "-fPIC", "-o", str(library), str(source)), check=True)
    phone.push(library, "/data/local/tmp/jumping_clock.so")
    stand_in.write("/etc/ld.so.preload", "/data/local/tmp/jumping_clock.so\n")
    phone.sh("mkdir -p /data/app-hooks")
    script = (
        "sleep 1; touch /data/local/tmp/clock-was-set; sleep 2; mkdir -p files; echo well >files/result.json; sleep 30"
    )
    does(stand_in, Path(f"/data/app-hooks/{PACKAGE}"), f"cd /data/data/{PACKAGE}; {script}")
    platform = make_platform(broken_lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command((), app=APP, timeout_s=60.0))
    assert (completed.ok, completed.stdout) == (True, "well\n")
    assert completed.wall_s < 60


@pytest.mark.slow
def test_an_app_s_result_file_is_its_output(
    session: AndroidSession, stand_in: StandInPhone, hook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platforms.android.state.state._FRESH_S", 60.0)
    does(stand_in, hook, f'cd /data/data/{PACKAGE}; mkdir -p files; echo "$*" >files/result.json; sleep 30')
    (tmp_path / "model").write_text("model")
    staged = session.stage({"model": tmp_path / "model"}, {})
    completed = session.run(Command(("model_dir", staged.folder, "num_iter", "5"), app=APP, timeout_s=20))
    assert completed.ok, completed.describe()
    assert staged.folder in completed.stdout
    assert completed.command.argv[:3] == ("am", "start", "-W")
    stand_in.round_trips = 0
    session.run(Command(("model_dir", staged.folder), app=APP, timeout_s=20))
    session.state()
    assert stand_in.round_trips == 1
    listed = session.run(Command(("/system/bin/ls", "-l", staged.files["model"])))
    assert listed.stdout.startswith("-r--r--r--") or listed.stdout.startswith("-rw-r--r--")


@pytest.mark.slow
def test_an_old_result_is_never_credited(
    session: AndroidSession, stand_in: StandInPhone, hook: Path, phone: Phone
) -> None:
    does(stand_in, hook, "exit 0")
    phone.sh("mkdir -p /data/data/$1/files; echo old >/data/data/$1/files/result.json", PACKAGE)
    completed = session.run(Command((), app=APP, timeout_s=20))
    assert (completed.exit_code, completed.stdout) == (1, "")
    assert "left no result" in completed.stderr


@pytest.mark.slow
def test_a_result_that_is_still_written_is_waited_for(
    session: AndroidSession, stand_in: StandInPhone, hook: Path
) -> None:
    slowly = "mkdir -p files; for part in 1 2 3 4; do echo $part >>files/result.json; sleep 0.3; done"
    does(stand_in, hook, f"exec /system/bin/sh -c '{slowly}'")  # under a name that is not the app's
    completed = session.run(Command((), app=APP, timeout_s=20))
    assert completed.ok, completed.describe()
    assert completed.stdout.split() == ["1", "2", "3", "4"]


@pytest.mark.slow
def test_an_app_without_a_process_has_ended_and_not_timed_out(
    session: AndroidSession, stand_in: StandInPhone, hook: Path
) -> None:
    does(stand_in, hook, "exec true")
    completed = session.run(Command((), app=APP, timeout_s=1))
    assert (completed.exit_code, completed.timed_out) == (1, False)
    assert "left no result" in completed.stderr


@pytest.mark.slow
def test_a_crash_is_explained_by_the_log(session: AndroidSession, stand_in: StandInPhone, hook: Path) -> None:
    does(stand_in, hook, "log -p e -t AndroidRuntime 'FATAL EXCEPTION: main'; exit 1")
    completed = session.run(Command((), app=APP, timeout_s=20))
    assert completed.exit_code == 1
    assert "FATAL EXCEPTION" in completed.describe()


@pytest.mark.slow
def test_an_app_that_does_not_end_is_stopped(session: AndroidSession, stand_in: StandInPhone, hook: Path) -> None:
    does(stand_in, hook, "sleep 300")
    completed = session.run(Command((), app=APP, timeout_s=2))
    assert completed.timed_out
    assert session.run(Command(("/system/bin/pidof", PACKAGE))).stdout == ""


@pytest.mark.slow
def test_the_result_of_an_app_is_read_from_the_log(session: AndroidSession, stand_in: StandInPhone, hook: Path) -> None:
    does(stand_in, hook, "log -t caffe2 'NET latency: 12'; log -t caffe2 BENCHMARK_DONE; sleep 30")
    completed = session.run(Command((), app=TALKER, timeout_s=20))
    assert completed.ok, completed.describe()
    assert completed.stdout == "NET latency: 12\nBENCHMARK_DONE\n"


@pytest.mark.slow
def test_an_app_of_the_build_is_installed(
    session: AndroidSession, stand_in: StandInPhone, phone: Phone, tmp_path: Path
) -> None:
    with pytest.raises(BenchmarkUnsupported, match="not installed"):
        session.run(Command((), app=App(package="org.example.new", activity=".Main"), timeout_s=5))
    (tmp_path / "org.example.new.apk").write_text("package")
    session.stage({}, {"app": tmp_path / "org.example.new.apk"})
    session.run(Command((), app=App(package="org.example.new", activity=".Main"), timeout_s=2))
    assert stand_in.exists("/services/packages/org.example.new")
    phone.sh("pm uninstall org.example.new; rm -rf /data/local/tmp/edge-harness/apps")


@pytest.fixture
def package(session: AndroidSession, phone: Phone, tmp_path: Path) -> Iterator[Path]:
    """A package that was given as a program, and is not installed yet."""
    file = tmp_path / f"{PLAYED.package}.apk"
    file.write_text(PLAYING.format(says="ours"))
    yield file
    phone.sh("pm uninstall $1; rm -rf /data/local/tmp/edge-harness/apps /services/no-installing", PLAYED.package)


def says(session: AndroidSession) -> str:
    return session.run(Command((), app=PLAYED, timeout_s=10)).stdout


def install(phone: Phone, content: str) -> None:
    """As somebody else does."""
    phone.sh(
        'echo "$2" >/data/local/tmp/$1.apk; pm install /data/local/tmp/$1.apk; rm /data/local/tmp/$1.apk',
        PLAYED.package,
        content,
    )


@pytest.mark.slow
def test_the_given_build_is_measured(session: AndroidSession, package: Path) -> None:
    session.stage({}, {"app": package})
    assert says(session) == says(session) == "ours\n"
    session.reconnect()
    package.write_text(PLAYING.format(says="ours, newer"))
    session.stage({}, {"app": package})
    assert says(session) == "ours, newer\n", "what we installed may be replaced"


@pytest.mark.slow
def test_a_build_that_somebody_else_installed_is_neither_measured_nor_replaced(
    session: AndroidSession, stand_in: StandInPhone, phone: Phone, package: Path
) -> None:
    install(phone, "another build")
    session.stage({}, {"app": package})
    with pytest.raises(BenchmarkFailed, match="another build of") as refused:
        says(session)
    assert "uninstall" in str(refused.value.hint)
    assert stand_in.read(f"/data/app/{PLAYED.package}/base.apk") == "another build\n"
    phone.sh("pm uninstall $1", PLAYED.package)
    assert says(session) == "ours\n"
    install(phone, "another build")
    with pytest.raises(BenchmarkFailed, match="another build of"):
        says(session)


@pytest.mark.slow
def test_the_same_build_is_measured_whoever_installed_it(
    session: AndroidSession, stand_in: StandInPhone, phone: Phone, package: Path
) -> None:
    install(phone, package.read_text().rstrip("\n"))
    session.stage({}, {"app": package})
    assert says(session) == "ours\n"
    assert not stand_in.exists(f"/data/local/tmp/edge-harness/apps/{PLAYED.package}"), "it stays theirs"


@pytest.mark.slow
def test_a_phone_that_forbids_installing_over_usb_has_a_remedy(
    session: AndroidSession, stand_in: StandInPhone, package: Path
) -> None:
    stand_in.write("/services/no-installing", "INSTALL_FAILED_USER_RESTRICTED: Install canceled by user")
    session.stage({}, {"app": package})
    with pytest.raises(EnvironmentProblem, match="cannot be installed") as refused:
        says(session)
    assert "Install via USB" in str(refused.value.hint)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_an_app_whose_screen_is_off_is_not_measured(
    session: AndroidSession, stand_in: StandInPhone, phone: Phone, hook: Path, when: str
) -> None:
    sleeps = "input keyevent KEYCODE_SLEEP; " if when == "meanwhile" else ""
    does(stand_in, hook, f"{sleeps}mkdir -p files; echo 1 >files/result.json; sleep 30")
    if when == "before":
        phone.sh("input keyevent KEYCODE_SLEEP")
    try:
        with pytest.raises(EnvironmentProblem, match="is off" if when == "before" else "went off") as dark:
            session.run(Command((), app=APP, timeout_s=20))
        assert "--screen on" in str(dark.value.hint)
    finally:
        phone.sh("input keyevent KEYCODE_WAKEUP")


@pytest.mark.slow
def test_two_builds_of_an_app_are_not_confused(session: AndroidSession, tmp_path: Path) -> None:
    for name in ("one.apk", "two.apk"):
        (tmp_path / name).write_text(name)
        session.stage({}, {"app": tmp_path / name})
    with pytest.raises(BenchmarkFailed, match="several builds"):
        session.run(Command((), app=APP))


@pytest.mark.slow
def test_options_that_apps_do_not_support_are_refused(session: AndroidSession) -> None:
    for command in (Command((), app=APP, env={"A": "1"}), Command((), app=APP, cpus=(0,))):
        with pytest.raises(BenchmarkUnsupported, match="can be given no"):
            session.run(command)


@pytest.mark.slow
def test_an_app_behind_the_lock_screen_is_not_measured(
    session: AndroidSession, stand_in: StandInPhone, hook: Path
) -> None:
    does(stand_in, hook, "mkdir -p files; echo 1 >files/result.json; sleep 30")
    stand_in.lock()
    try:
        with pytest.raises(EnvironmentProblem, match="is locked") as locked:
            session.run(Command((), app=APP, timeout_s=20))
    finally:
        stand_in.unlock()
    assert "unlock it" in str(locked.value.hint)
    assert session.run(Command((), app=APP, timeout_s=20)).ok


@pytest.mark.slow
def test_a_lock_screen_is_told_before_anything_is_built(
    lab: PhoneLab, make_platform: MakePlatform, stand_in: StandInPhone, hook: Path
) -> None:
    does(stand_in, hook, ":")
    platform = make_platform(lab)
    (device,) = platform.devices()
    platform.preflight(device, PACKAGE)
    stand_in.lock()
    try:
        platform.preflight(device)
        with pytest.raises(EnvironmentProblem, match="is locked"):
            platform.preflight(device, PACKAGE)
    finally:
        stand_in.unlock()
