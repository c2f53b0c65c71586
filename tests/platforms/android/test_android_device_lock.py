"""Two hosts and one phone: each platform has lock files of its own here, as two machines have."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.testing.phones import start_phones
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link import device_lock
from platforms.android.link.adb import AdbServer
from platforms.android.link.device_lock import LOCK, DeviceLock, owner_of
from platforms.android.link.phone import Phone
from platforms.android.link.protocol import ShellStream
from platforms.android.platform import Android
from tests.platforms.android.conftest import settings_with
from tests.processes import wait_until

pytestmark = pytest.mark.slow

_OWN = "/data/local/tmp/edge-harness"
_MACHINES = itertools.count()
_LONG_S = 60.0
"""Time limit of a host that gets the lock in the end: the phone takes its time to notice an ended connection."""
_ANIMATION = "/services/settings/global/window_animation_scale"
MakeHost = Callable[..., Android]


@pytest.fixture(autouse=True)
def _free(phone: Phone) -> None:
    """Wait for the end of locks of earlier tests, which end a moment after their connections."""
    phone.sh('[ ! -e "$1" ] || flock 8 8<"$1"', LOCK, timeout_s=60.0)


@pytest.fixture
def make_host(tmp_path: Path) -> MakeHost:
    """Make the platform as on a machine of this name: with its own locks and cache."""

    def make(lab: PhoneLab, name: str, **changed: object) -> Android:
        locks = tmp_path / name / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        settings = Settings(cache_dir=tmp_path / name / "cache", return_timeout=60.0, lock_timeout=0.5)
        return Android(settings_with(settings, changed), AdbServer(lab.server), locks=locks)

    return make


def lock_of(phone: Phone, timeout_s: float = 0.5, progress: RecordedProgress | None = None) -> DeviceLock:
    """Return the lock as seen by another machine each time."""
    return DeviceLock(phone, f"machine{next(_MACHINES)}", timeout_s, progress or RecordedProgress())


def be_away_for_a_moment(stand_in: StandInPhone) -> None:
    stand_in.unplug()
    stand_in.plug()
    stand_in.wait_until_ready()


def test_a_second_host_is_refused_by_name_and_touches_nothing(
    lab: PhoneLab, stand_in: StandInPhone, make_host: MakeHost
) -> None:
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
    patient = make_host(lab, "second", lock_timeout=_LONG_S)
    with patient.open(patient.devices()[0], progress) as session:
        assert session.run(Command(("true",))).ok
    assert progress.lines == []


def test_a_second_host_waits_until_the_first_has_finished(phone: Phone) -> None:
    progress = RecordedProgress()
    first, second = lock_of(phone), lock_of(phone, _LONG_S, progress)
    first.acquire()

    def release_it_when_it_is_waited_for() -> None:
        try:
            wait_until(lambda: bool(progress.tasks))
        finally:
            first.release()

    other = threading.Thread(target=release_it_when_it_is_waited_for)
    other.start()
    try:
        second.acquire()
        second.check()
    finally:
        other.join()
        second.release()
    assert len(progress.tasks) == 1


def test_the_lock_ends_with_the_connection(phone: Phone) -> None:
    line = f"exec 9>>{LOCK}; flock 8 8>&9; echo held; while read -r line; do :; done"
    with phone.shell(line, "it was held") as stream:
        while b"held" not in stream.out:
            assert stream.read(float("inf"))
        with pytest.raises(EnvironmentProblem, match="is measuring on"):
            lock_of(phone).acquire()
    taken = lock_of(phone, _LONG_S)
    taken.acquire()
    taken.release()


def test_a_lost_lock_is_noticed_without_a_round_trip_and_acquired_again(broken_lab: PhoneLab) -> None:
    stand_in = broken_lab.phones[0]
    phone = Phone(AdbServer(broken_lab.server), stand_in.serial)
    ours, other = lock_of(phone), lock_of(phone, _LONG_S)
    ours.acquire()
    ours.check()
    be_away_for_a_moment(stand_in)
    stand_in.round_trips = 0
    wait_until(lambda: is_lost(ours))
    assert stand_in.round_trips == 0
    other.acquire()
    with pytest.raises(EnvironmentProblem, match="is measuring on"):
        ours.ensure()
    other.release()
    wait_until(lambda: is_ensured(ours))
    ours.check()
    ours.release()


def is_lost(lock: DeviceLock) -> bool:
    try:
        lock.check()
    except DeviceLost:
        return True
    return False


def is_ensured(lock: DeviceLock) -> bool:
    try:
        lock.ensure()
    except EnvironmentProblem:
        return False
    return True


def test_settings_are_not_restored_while_another_host_measures(make_host: MakeHost) -> None:
    progress = RecordedProgress()
    with start_phones(1) as lab, ExitStack() as other:
        stand_in = lab.phones[0]
        first, second = make_host(lab, "first"), make_host(lab, "second", lock_timeout=_LONG_S)
        with first.open(first.devices()[0], progress):
            be_away_for_a_moment(stand_in)
            other.enter_context(second.open(second.devices()[0], RecordedProgress()))
        assert stand_in.read(_ANIMATION) == "0\n"
        assert "is measuring on" in progress.lines[-1]
        assert "the next run will try again" in progress.lines[-1]
        other.close()
        assert stand_in.read(_ANIMATION) == "1.0\n"
        again = make_host(lab, "first", lock_timeout=_LONG_S)
        with again.open(again.devices()[0], progress):
            pass
        assert stand_in.read(_ANIMATION) == "1.0\n"


def test_a_phone_that_was_unreachable_for_a_moment_is_reconnected_before_the_next_program(
    broken_lab: PhoneLab, make_host: MakeHost
) -> None:
    stand_in, host = broken_lab.phones[0], make_host(broken_lab, "first", lock_timeout=_LONG_S)
    with host.open(host.devices()[0], RecordedProgress()) as session:
        be_away_for_a_moment(stand_in)
        with pytest.raises(DeviceLost, match="reserved for this host"):
            session.run(Command(("true",)))
        session.reconnect()
        assert session.run(Command(("true",))).ok


def test_a_phone_without_flock_is_used_without_a_lock(rooted_lab: PhoneLab) -> None:
    phone = Phone(AdbServer(rooted_lab.server), rooted_lab.phones[0].serial)
    assert phone.sh("mv /system/bin/flock /system/bin/away").exit_code == 0
    try:
        first, second = lock_of(phone), lock_of(phone)
        for lock in (first, second):
            lock.acquire()
            lock.check()
            lock.ensure()
        first.release()
        second.release()
    finally:
        phone.sh("mv /system/bin/away /system/bin/flock")


def test_a_lock_file_that_cannot_be_created_is_reported(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_lock, "LOCK", "/proc/x")
    with pytest.raises(EnvironmentProblem, match="does not let the lock file /proc/x be created"):
        lock_of(phone).acquire()


def test_a_phone_that_another_host_has_locked_meanwhile_stays_lost(make_host: MakeHost) -> None:
    progress = RecordedProgress()
    with start_phones(1) as lab:
        stand_in, host = lab.phones[0], make_host(lab, "first")
        other = lock_of(Phone(AdbServer(lab.server), stand_in.serial), _LONG_S)
        with host.open(host.devices()[0], progress) as session:
            be_away_for_a_moment(stand_in)
            other.acquire()
            with pytest.raises(DeviceLost, match="is measuring on"):
                session.reconnect()
            with pytest.raises(DeviceLost, match="another host may have reserved it since"):
                session.run(Command(("true",)))
        assert stand_in.read(_ANIMATION) == "0\n", "what the other host measures under is left alone"
        assert "the next run will try again" in progress.lines[-1]
        other.check()
        other.release()
        again = make_host(lab, "first", lock_timeout=_LONG_S)
        with again.open(again.devices()[0], progress):
            pass
        assert stand_in.read(_ANIMATION) == "1.0\n"


@contextlib.contextmanager
def a_ghost(phone: Phone, owner: str) -> Iterator[ShellStream]:
    """A hold whose connection nobody listens to any more."""
    left = DeviceLock(phone, owner, 0.5, RecordedProgress())
    left.acquire()
    assert left._stream is not None
    try:
        yield left._stream
    finally:
        left.release()


def test_a_left_over_lock_of_this_machine_is_ended_at_once(phone: Phone) -> None:
    with a_ghost(phone, "ours") as ghost:
        with pytest.raises(EnvironmentProblem, match="is measuring on"):
            DeviceLock(phone, "theirs", 0.0, RecordedProgress()).acquire()
        taken = DeviceLock(phone, "ours", _LONG_S, RecordedProgress())
        taken.acquire()
        taken.check()
        assert ended(ghost)
        taken.release()


def ended(stream: ShellStream) -> bool:
    deadline = time.monotonic() + 30.0
    while stream.read(deadline):
        pass
    return stream.exit_code is not None


def test_a_name_in_the_lock_file_alone_ends_no_process(phone: Phone) -> None:
    bystander = "echo $$; read -r line; echo alive"
    with phone.shell(bystander, "it ran") as stream:
        while b"\n" not in stream.out:
            assert stream.read(float("inf"))
        number = stream.out.decode().strip()
        with a_ghost(phone, "theirs"):
            phone.sh(f"echo {number} ours somebody >{LOCK}")
            with pytest.raises(EnvironmentProblem, match="somebody is measuring on"):
                DeviceLock(phone, "ours", 0.5, RecordedProgress()).acquire()
        stream.write(b"\n")
        assert ended(stream)
        assert stream.out.endswith(b"alive\n")


def test_a_held_lock_sends_a_line_now_and_then(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_lock, "_SCRIPT", device_lock._SCRIPT.replace("-t 15", "-t 0.1"))
    with a_ghost(phone, "ours") as ghost:
        length, deadline = len(ghost.out), time.monotonic() + 30.0
        while len(ghost.out) < length + 3 and ghost.read(deadline):
            pass
        assert ghost.out[length:].startswith(b"\n\n\n")
        assert ghost.exit_code is None


def test_a_host_that_does_not_confirm_the_lock_loses_it(phone: Phone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_lock, "_SCRIPT", device_lock._SCRIPT.replace("-t 30", "-t 0.3"))
    monkeypatch.setattr(ShellStream, "write", lambda stream, text: None)
    with a_ghost(phone, "ours") as ghost:
        assert ended(ghost)


def test_hosts_with_different_folders_exclude_each_other(lab: PhoneLab, make_host: MakeHost) -> None:
    first = make_host(lab, "first")
    second = make_host(lab, "second", android_dir="/data/local/tmp/mine")
    with (
        first.open(first.devices()[0], RecordedProgress()),
        pytest.raises(EnvironmentProblem, match="is measuring on"),
        second.open(second.devices()[0], RecordedProgress()),
    ):
        pytest.fail("two hosts hold one phone")


def test_a_phone_stays_locked_when_the_working_folder_is_removed(phone: Phone) -> None:
    ours = lock_of(phone)
    ours.acquire()
    assert phone.sh(f"mkdir -p {_OWN}; rm -r {_OWN}").exit_code == 0
    with pytest.raises(EnvironmentProblem, match="is measuring on"):
        lock_of(phone).acquire()
    ours.release()


def test_the_owner_of_a_phone_depends_on_the_lock_file_of_the_machine(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for lock in (first, second):
        lock.touch()
    assert owner_of(first) == owner_of(first) != owner_of(second)
    with pytest.raises(EnvironmentProblem, match="cannot look at the lock file"):
        owner_of(tmp_path / "missing")
