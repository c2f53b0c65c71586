"""What a phone was like while it was measured is told with its numbers, or prevented."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.core.result import Launch, Outcome
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from platforms.android.session import AndroidSession
from platforms.android.state.state import StateCache
from tests.platforms.android.conftest import MakePlatform

pytestmark = pytest.mark.slow

NOTHING = ("/system/bin/sh", "-c", ":")


@pytest.fixture
def blind(stand_in: StandInPhone) -> Iterator[None]:
    stand_in.hide_thermal_limits()
    yield
    stand_in.show_thermal_limits()


def note_codes(session: AndroidSession, **command: object) -> list[str]:
    completed = session.run(Command(NOTHING, **command))  # type: ignore[arg-type]
    assert completed.ok, completed.describe()
    return [note.code for note in completed.notes]


def test_a_phone_without_thermal_limits_is_told_with_its_numbers(
    lab: PhoneLab, make_platform: MakePlatform, blind: None
) -> None:
    platform, progress = make_platform(lab), RecordedProgress()
    with platform.open(platform.devices()[0], progress) as session:
        session.wait_until_ready()
        assert note_codes(session) == ["thermal_blind"]
    assert any("no skin temperature at which it throttles" in line for line in progress.lines)


def test_threads_on_unlike_cpus_are_told(session: AndroidSession) -> None:
    assert note_codes(session, threads=2) == []
    assert note_codes(session, threads=3) == ["mixed_cpus"]
    assert note_codes(session, cpus=(0, 7)) == ["mixed_cpus"]
    assert note_codes(session, cpus=(0, 3)) == []


@pytest.mark.parametrize(("kind", "cpus"), [("prime", (6, 7)), ("big", (4, 5)), ("little", (0, 1, 2, 3))])
def test_a_kind_of_cpus_can_be_chosen(
    lab: PhoneLab, make_platform: MakePlatform, kind: str, cpus: tuple[int, ...]
) -> None:
    platform = make_platform(lab, cpus=kind)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        completed = session.run(Command(NOTHING, threads=4))
    assert completed.cpus == cpus
    assert completed.notes == ()


def test_a_phone_that_is_reached_over_the_network_is_kept_awake_and_restored(
    lab: PhoneLab, make_platform: MakePlatform
) -> None:
    stand_in, platform = lab.phones[0], make_platform(lab)
    timeout, stay_on = (
        f"/services/settings/{name}" for name in ("system/screen_off_timeout", "global/stay_on_while_plugged_in")
    )
    before = [stand_in.read(path).strip() for path in (timeout, stay_on)]
    stand_in.write("/services/wakefulness", "Asleep")
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        assert stand_in.read("/services/wakefulness").strip() == "Awake"
        assert int(stand_in.read(timeout)) > 1_000_000
        assert session.device.attributes["screen"] == "on, lest it sleeps"
    assert [stand_in.read(path).strip() for path in (timeout, stay_on)] == before
    assert stand_in.read("/services/wakefulness").strip() == "Asleep"
    stand_in.write("/services/wakefulness", "Awake")


def test_a_phone_whose_battery_is_broken_is_refused_before_anything_is_measured(
    lab: PhoneLab, make_platform: MakePlatform
) -> None:
    stand_in, platform = lab.phones[0], make_platform(lab)
    (device,) = platform.devices()
    stand_in.set_battery(health=6)
    try:
        with pytest.raises(EnvironmentProblem, match="its battery reports a failure"):
            platform.preflight(device)
    finally:
        stand_in.set_battery(health=2)
    platform.preflight(device)


def test_sleep_is_counted(broken_lab: PhoneLab) -> None:
    stand_in = broken_lab.phones[0]
    states = StateCache(Phone(AdbServer(broken_lab.server), stand_in.serial))
    before = states.read().device
    stand_in.fall_asleep()
    stand_in.wake_up()
    states.clear()
    after = states.read().device
    assert (before.suspend_count, after.suspend_count) == (0, 1)
    assert before.uptime_s is not None
    assert before.awake_s is not None


def test_a_phone_that_is_not_fit_is_measured_when_its_conditions_are_overridden(
    lab: PhoneLab, make_platform: MakePlatform
) -> None:
    stand_in = lab.phones[0]
    stand_in.set_battery(level=5, plugged=False)
    stand_in.set_thermal(status=3, skin_c=47.0)
    every = make_platform(lab, override=("battery", "temperature", "thermal-status", "fixed-performance"))
    some = make_platform(lab, override=("battery", "thermal-status"), cool_timeout=0.0)
    try:
        every.preflight(every.devices()[0])
        with every.open(every.devices()[0], RecordedProgress()) as session:
            session.wait_until_ready()
            completed = session.run(Command(NOTHING))
            state = session.state()
            assert session.device.attributes["fixed_performance"] == "left as it is (--override)"
            asked = session.run(Command(("sh", "-c", "cat /services/fixed_performance 2>/dev/null || echo false")))
            assert asked.stdout.strip() == "false"
        with (
            some.open(some.devices()[0], RecordedProgress()) as session,
            pytest.raises(EnvironmentProblem, match="not ready to be measured on: skin sensor") as refused,
        ):
            session.wait_until_ready()
    finally:
        stand_in.set_battery(level=85, plugged=True)
        stand_in.set_thermal(status=0, skin_c=30.5)
    assert "battery at" not in refused.value.message
    (note,) = completed.notes
    assert (note.code, note.trust) == ("overridden", False)
    assert "battery at 5 %" in note.message
    assert "thermal status 3" in note.message
    assert (state.thermal_status, state.thermal_status_ignored) == (3, True)
    launch = Launch(index=0, outcome=Outcome.OK, started=0.0, before=state, after=state)
    assert not launch.throttled, "it counts, because the user wants it"
