"""Sessions with a client that runs the programs of apps here, without go-ios."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, DeviceLost, EnvironmentProblem
from harness.testing.phones.ios.apps.packages import RUNNER_BUNDLE, SHELL_BUNDLE, runner_app
from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.usbmux.pairing import Pairings, make_key
from harness.testing.progress import RecordedProgress
from platforms.ios.options import IosOptions
from platforms.ios.platform import Ios
from platforms.ios.session import IosSession
from platforms.phone_options import PhoneOptions
from tests.platforms.ios.local_client import LocalClient

LIMIT_S = 60.0


@pytest.fixture
def phone(tmp_path: Path, shell: Path) -> Iterator[StandInIPhone]:
    folder = tmp_path / "phone"
    folder.mkdir()
    phone = StandInIPhone(IPhoneModel("00008110-000A", "Phone"), folder, Pairings(make_key(), folder))
    phone.install(shell)
    yield phone
    phone.process_table.kill_all()


@pytest.fixture
def local(phone: StandInIPhone) -> LocalClient:
    return LocalClient(phone)


def opened(local: LocalClient, folder: Path) -> AbstractContextManager[IosSession]:
    options = (IosOptions(ios_app=SHELL_BUNDLE), PhoneOptions())
    settings = Settings(cache_dir=folder / "cache", cool_timeout=0.1, return_timeout=0.1, plug_ins=options)
    (folder / "locks").mkdir(exist_ok=True)
    ios = Ios(settings, local, locks=folder / "locks")
    return ios.open(ios.devices()[0], RecordedProgress())


@pytest.fixture
def session(local: LocalClient, tmp_path: Path) -> Iterator[IosSession]:
    with opened(local, tmp_path) as session:
        yield session


def sh(script: str, timeout_s: float = LIMIT_S) -> Command:
    return Command(("/bin/sh", "-c", script), timeout_s=timeout_s)


def runner(folder: Path, text: str) -> Path:
    folder.mkdir()
    program = folder / "runner"
    program.write_text(f"#!/bin/sh\necho {text}\n")
    program.chmod(0o755)
    return runner_app(folder, program)


def contents(local: LocalClient) -> list[str]:
    return [path for path in local.pushed if "/contents/" in path]


def test_a_content_is_pushed_once_for_all_benchmarks(session: IosSession, local: LocalClient, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("weights\n")
    for name in ("a", "b"):
        staged = session.stage({name: tmp_path / "model"}, {})
        assert session.run(sh(f"cat {staged.files[name]}")).stdout == "weights\n"
    assert len(contents(local)) == len(set(contents(local))) == 2  # the model, and the note about our folder


def test_an_incomplete_content_is_pushed_again(session: IosSession, local: LocalClient, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("weights\n")
    staged = session.stage({"model": tmp_path / "model"}, {})
    assert session.run(sh("true")).exit_code == 0
    for content in (local.phone.apps[SHELL_BUNDLE].container / "Documents/edge-harness/contents").iterdir():
        content.unlink()
        content.write_text("w")
    for link in (local.phone.apps[SHELL_BUNDLE].container / staged.folder).iterdir():
        link.unlink()
    assert session.run(sh(f"cat {staged.files['model']}")).stdout == "weights\n"


def test_a_pulled_file_is_gone_there(session: IosSession, tmp_path: Path) -> None:
    staged = session.stage({}, {})
    session.run(sh(f"echo figures > {staged.folder}/out"))
    session.pull(f"{staged.folder}/out", tmp_path / "out")
    assert (tmp_path / "out").read_text() == "figures\n"
    with pytest.raises(FileNotFoundError):
        session.pull(f"{staged.folder}/out", tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("remote", ["../../etc/passwd", "/etc/passwd", "Documents/../../x", ""])
def test_nothing_outside_the_container_is_pulled(session: IosSession, tmp_path: Path, remote: str) -> None:
    session.run(sh("true"))
    with pytest.raises(FileNotFoundError):
        session.pull(remote, tmp_path / "out")


def test_a_build_that_is_installed_is_not_installed_again(
    session: IosSession, local: LocalClient, tmp_path: Path
) -> None:
    package = runner(tmp_path / "one", "one")
    for _ in range(2):
        app = session.stage({}, {"runner": package}).programs["runner"]
        assert session.run(Command((app,), timeout_s=LIMIT_S)).stdout == "one\n"
    assert local.installed == [package.name]


def test_two_builds_of_one_app_run_in_turns_and_a_note_says_so(session: IosSession, tmp_path: Path) -> None:
    packages = [runner(tmp_path / text, text) for text in ("control", "treatment")]
    apps = [session.stage({}, {"runner": package}).programs["runner"] for package in packages]
    completed = [session.run(Command((app,), timeout_s=LIMIT_S)) for app in (*apps, *apps)]
    assert [run.stdout for run in completed] == ["control\n", "treatment\n"] * 2
    assert {note.code for run in completed for note in run.notes} == {"installed_in_turns"}


def test_the_right_build_is_installed_again_once(session: IosSession, local: LocalClient, tmp_path: Path) -> None:
    local.phone.install(runner(tmp_path / "old", "old"))
    local.swallowed = 1
    app = session.stage({}, {"runner": runner(tmp_path / "new", "new")}).programs["runner"]
    assert session.run(Command((app,), timeout_s=LIMIT_S)).stdout == "new\n"


def test_a_wrong_build_is_never_measured(session: IosSession, local: LocalClient, tmp_path: Path) -> None:
    local.phone.install(runner(tmp_path / "old", "old"))
    local.swallowed = 9
    app = session.stage({}, {"runner": runner(tmp_path / "new", "new")}).programs["runner"]
    with pytest.raises(BenchmarkFailed, match=f"another build of {RUNNER_BUNDLE}"):
        session.run(Command((app,), timeout_s=LIMIT_S))


def test_a_hot_phone_is_waited_for_and_looked_at_again(session: IosSession, local: LocalClient) -> None:
    local.phone.heat("serious", battery_c=30.0)
    session.run(sh("true"))
    assert session.state().thermal_status == 3
    with pytest.raises(EnvironmentProblem, match="thermal state serious"):
        session.wait_until_ready()
    local.phone.heat("nominal", battery_c=30.0)
    session.wait_until_ready()
    assert session.state().thermal_status == 0


def test_low_power_mode_that_was_switched_off_is_no_obstacle_any_more(session: IosSession, local: LocalClient) -> None:
    local.phone.conditions.low_power_mode = True
    session.run(sh("true"))
    with pytest.raises(EnvironmentProblem, match="low power mode"):
        session.wait_until_ready()
    local.phone.conditions.low_power_mode = False
    session.wait_until_ready()


@pytest.mark.slow
def test_a_program_that_does_not_end_keeps_what_it_wrote(session: IosSession, local: LocalClient) -> None:
    completed = session.run(sh("echo begun; exec sleep 600", timeout_s=2.0))
    assert completed.timed_out
    assert "begun" in completed.stdout
    assert not local.phone.processes()


@pytest.mark.slow
def test_the_log_is_read_only_after_an_app_that_left_nothing(session: IosSession, local: LocalClient) -> None:
    session.run(sh("true"))
    assert local.logs == 0
    crashed = session.run(sh("kill -SEGV $PPID; exec sleep 600", timeout_s=LIMIT_S))
    assert crashed.signal == signal.SIGSEGV
    assert "SIGSEGV" in crashed.stderr
    session.run(sh("true"))
    session.run(sh("true"))
    assert local.logs == 1


def test_a_phone_that_returned_begins_anew(session: IosSession, local: LocalClient) -> None:
    local.phone.conditions.plugged_in = False
    with pytest.raises(DeviceLost):
        session.run(sh("true"))
    with pytest.raises(DeviceLost, match="did not come back"):
        session.reconnect()
    local.phone.conditions.plugged_in = True
    session.reconnect()
    assert session.run(sh("echo back")).stdout == "back\n"
