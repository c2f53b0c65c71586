"""Two hosts and one phone: each platform has lock files of its own here, as two machines have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness import shell
from harness.core.command import Command
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.settings import Settings
from harness.testing.android import phones
from harness.testing.android.lab import Lab
from harness.testing.android.phone import StandIn
from harness.testing.progress import RecordedProgress
from platforms.android.adb import AdbServer
from platforms.android.holding import Hold
from platforms.android.phone import Phone
from platforms.android.platform import Android

pytestmark = pytest.mark.slow

_OWN = "/data/local/tmp/edge-harness"
_ANIMATION = "/services/settings/global/window_animation_scale"
MakeHost = Callable[..., Android]


@pytest.fixture
def make_host(tmp_path: Path) -> MakeHost:
    """Makes the platform as another machine has it: with locks and a cache of its own."""

    def make(lab: Lab, name: str, **changed: object) -> Android:
        locks = tmp_path / name / "locks"
        locks.mkdir(parents=True)
        settings = Settings(
            adb_server=lab.server, cache_dir=tmp_path / name / "cache", return_timeout=20.0, lock_timeout=0.5
        )
        return Android(replace(settings, **changed), AdbServer(lab.server), locks=locks)  # type: ignore[arg-type]

    return make


def hold(phone: Phone, timeout_s: float = 0.5, progress: RecordedProgress | None = None) -> Hold:
    return Hold(phone, _OWN, timeout_s, progress or RecordedProgress())


def be_away_for_a_moment(stand_in: StandIn) -> None:
    stand_in.unplug()
    stand_in.plug()
    stand_in.wait()


def test_a_second_host_is_refused_by_name_and_touches_nothing(lab: Lab, stand_in: StandIn, make_host: MakeHost) -> None:
    first, second = make_host(lab, "first"), make_host(lab, "second")
    progress = RecordedProgress()
    with first.open(first.devices()[0], RecordedProgress()) as session:
        with (
            pytest.raises(EnvironmentProblem, match=r"\(process [0-9]+\) is measuring on .* after 0\.5 s"),
            second.open(second.devices()[0], progress),
        ):
            pytest.fail("two hosts hold one phone")
        assert stand_in.read(_ANIMATION) == "0\n", "the journal of a live run is not that of a killed one"
        assert session.run(Command(("true",))).ok
    assert "waiting" in progress.tasks[0]
    with second.open(second.devices()[0], progress) as session:
        assert session.run(Command(("true",))).ok
    assert progress.lines == []


def test_a_second_host_waits_until_the_first_is_done(phone: Phone) -> None:
    progress = RecordedProgress()
    first, second = hold(phone), hold(phone, 20.0, progress)
    first.take()
    timer = threading.Timer(0.5, first.release)
    timer.start()
    try:
        second.take()
        second.check()
    finally:
        timer.join()
        second.release()
    assert len(progress.tasks) == 1


def test_a_host_whose_connection_is_gone_holds_nothing(phone: Phone) -> None:
    line = f"mkdir -p {_OWN}; exec 9>>{_OWN}/lock; flock 8 8>&9; echo held; while read -r line; do :; done"
    with phone.shell(line, "it was held") as stream:
        while b"held" not in stream.out:
            assert stream.read(float("inf"))
        with pytest.raises(EnvironmentProblem, match="is measuring on"):
            hold(phone).take()
    taken = hold(phone, 5.0)
    taken.take()
    taken.release()


def test_a_hold_that_broke_is_noticed_without_asking_and_taken_again(broken_lab: Lab) -> None:
    stand_in = broken_lab.phones[0]
    phone = Phone(AdbServer(broken_lab.server), stand_in.serial)
    ours, other = hold(phone), hold(phone)
    ours.take()
    ours.check()
    be_away_for_a_moment(stand_in)
    stand_in.round_trips = 0
    assert shell.patiently(lambda: is_lost(ours), 10.0)
    assert stand_in.round_trips == 0
    other.take()
    with pytest.raises(EnvironmentProblem, match="is measuring on"):
        ours.ensure()
    other.release()
    assert shell.patiently(lambda: is_ensured(ours), 10.0)
    ours.check()
    ours.release()


def is_lost(one: Hold) -> bool:
    try:
        one.check()
    except DeviceLost:
        return True
    return False


def is_ensured(one: Hold) -> bool:
    try:
        one.ensure()
    except EnvironmentProblem:
        return False
    return True


def test_settings_are_not_put_back_under_another_host_s_measurement(make_host: MakeHost) -> None:
    progress = RecordedProgress()
    with phones(1) as lab, ExitStack() as other:
        stand_in = lab.phones[0]
        first, second = make_host(lab, "first"), make_host(lab, "second", lock_timeout=5.0)
        with first.open(first.devices()[0], progress):
            be_away_for_a_moment(stand_in)
            other.enter_context(second.open(second.devices()[0], RecordedProgress()))
        assert stand_in.read(_ANIMATION) == "0\n"
        assert "is measuring on" in progress.lines[-1]
        assert "the next run will try again" in progress.lines[-1]
        other.close()
        assert stand_in.read(_ANIMATION) == "1.0\n"
        with first.open(first.devices()[0], progress):
            pass
        assert stand_in.read(_ANIMATION) == "1.0\n"


def test_a_phone_that_was_away_for_a_moment_is_regained_before_the_next_program(
    broken_lab: Lab, make_host: MakeHost
) -> None:
    stand_in, host = broken_lab.phones[0], make_host(broken_lab, "first", lock_timeout=5.0)
    with host.open(host.devices()[0], RecordedProgress()) as session:
        be_away_for_a_moment(stand_in)
        with pytest.raises(DeviceLost, match="held against other hosts"):
            session.run(Command(("true",)))
        session.regain()
        assert session.run(Command(("true",))).ok


def test_a_phone_without_flock_is_used_all_the_same(rooted_lab: Lab) -> None:
    phone = Phone(AdbServer(rooted_lab.server), rooted_lab.phones[0].serial)
    assert phone.sh("mv /system/bin/flock /system/bin/away").exit_code == 0
    try:
        first, second = hold(phone), hold(phone)
        for one in (first, second):
            one.take()
            one.check()
            one.ensure()
        first.release()
        second.release()
    finally:
        phone.sh("mv /system/bin/away /system/bin/flock")


def test_a_folder_that_cannot_be_made_is_told(phone: Phone) -> None:
    with pytest.raises(EnvironmentProblem, match="does not let us work in /proc/x"):
        Hold(phone, "/proc/x", 1.0, RecordedProgress()).take()
