"""Why a device gets no jobs, and what persons do about it."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, UsageError
from harness.lab.health import DeviceHealth, HealthCheck, health_file, read_health, write_health
from harness.lab.hosts import LabHost
from harness.lab.jobs import Place, RunningJob, own_versions
from harness.lab.maintenance import act
from harness.lab.pool import (
    PersonalAction,
    PoolAction,
    explain_absence,
    list_actions,
    read_withdrawal,
    request_action,
    write_withdrawal,
)
from harness.lab.quiet_hours import parse_quiet_hours
from harness.lab.targets import Target

pytest.importorskip("distributed")

DEVICE = Device(platform="android", identity="one", name="Pixel 8")
NOON = datetime(2026, 11, 26, 12).timestamp()  # noqa: DTZ001 - local time, as on the wall
GOOD = HealthCheck(time=NOON, subject="a", figure=100, spread=0.01)
BAD = GOOD.model_copy(update={"reason": "it drifts", "figure": 130.0})
WITHDRAWAL = PersonalAction(action=PoolAction.WITHDRAW, person="anna@desk", time=0.0, reason="its battery swells")


def words(cache: Path, *hours: str, is_checked: bool = True) -> str:
    absence = explain_absence(cache, DEVICE, parse_quiet_hours(hours), NOON, is_checked=is_checked)
    return "" if absence is None else absence.words


def host(cache: Path) -> tuple[LabHost, list[str]]:
    said: list[str] = []
    settings = Settings(cache_dir=cache)
    made = LabHost("lab", ("android",), (), "", settings, None, said.append, check_every_s=3600.0)
    made._devices[DEVICE.identity] = DEVICE
    return made, said


def test_the_first_reason_that_a_person_can_do_something_about_is_told(tmp_path: Path) -> None:
    assert words(tmp_path, is_checked=False) == ""
    assert words(tmp_path) == "out of the pool: not checked yet"
    write_health(health_file(tmp_path, DEVICE), DeviceHealth(checks=(GOOD,)))
    assert words(tmp_path) == ""
    assert words(tmp_path, "11:00-13:00") == "quiet hours until 13:00"
    assert words(tmp_path, "Thu-Sat 11:00-10:00", "10:00-11:00") == "quiet hours until Sun 11:00"
    write_health(health_file(tmp_path, DEVICE), DeviceHealth(checks=(GOOD, BAD)))
    assert words(tmp_path, "11:00-13:00") == "out of the pool: it drifts"
    assert words(tmp_path, "11:00-13:00", is_checked=False) == "quiet hours until 13:00"
    write_withdrawal(tmp_path, DEVICE, WITHDRAWAL)
    assert words(tmp_path) == "withdrawn by anna@desk since 1970-01-01 00:00 UTC: its battery swells"


def test_only_quiet_hours_say_when_a_device_comes_back(tmp_path: Path) -> None:
    quiet = explain_absence(tmp_path, DEVICE, parse_quiet_hours(["11:00-13:00"]), NOON, is_checked=False)
    assert quiet is not None
    assert quiet.returns_at == NOON + 3600
    write_withdrawal(tmp_path, DEVICE, WITHDRAWAL)
    withdrawn = explain_absence(tmp_path, DEVICE, (), NOON, is_checked=False)
    assert withdrawn is not None
    assert withdrawn.returns_at is None


def test_a_damaged_withdrawal_keeps_the_device_out(tmp_path: Path) -> None:
    write_withdrawal(tmp_path, DEVICE, WITHDRAWAL)
    (file,) = (tmp_path / "lab" / "withdrawn").iterdir()
    file.write_text("{")
    assert "is damaged: remove it" in words(tmp_path)


def test_a_host_carries_out_what_persons_left_while_it_was_away(tmp_path: Path) -> None:
    request_action(tmp_path, DEVICE, WITHDRAWAL)
    (tmp_path / "lab" / "actions" / f"{next(list_actions(tmp_path, DEVICE))[0].stem}0.json").write_text("damaged")
    made, _ = host(tmp_path)
    assert made._carry_out_actions() == frozenset()
    assert list(list_actions(tmp_path, DEVICE)) == []
    assert read_withdrawal(tmp_path, DEVICE) == WITHDRAWAL
    request_action(tmp_path, DEVICE, WITHDRAWAL.model_copy(update={"action": PoolAction.RETURN}))
    made._carry_out_actions()
    assert read_withdrawal(tmp_path, DEVICE) is None


def test_a_check_that_a_person_wants_is_pending_until_it_has_ended(tmp_path: Path) -> None:
    request_action(tmp_path, DEVICE, WITHDRAWAL.model_copy(update={"action": PoolAction.CHECK}))
    made, _ = host(tmp_path)
    assert made._carry_out_actions() == made._carry_out_actions() == {DEVICE.identity}
    made._forget_wanted_check(DEVICE)
    assert made._carry_out_actions() == frozenset()


def test_a_withdrawal_and_a_bad_check_are_returned_one_by_one(tmp_path: Path) -> None:
    """Who returns a device that was in a drawer does not say that its figures are right."""
    file = health_file(tmp_path, DEVICE)
    write_health(file, DeviceHealth(checks=(GOOD, BAD)))
    write_withdrawal(tmp_path, DEVICE, WITHDRAWAL)
    made, _ = host(tmp_path)
    for expected in ("out of the pool: it drifts", ""):
        request_action(tmp_path, DEVICE, WITHDRAWAL.model_copy(update={"action": PoolAction.RETURN}))
        made._carry_out_actions()
        assert words(tmp_path) == expected
    health, _ = read_health(file)
    assert health.checks[-1].accepted
    assert [doubt.resolved for doubt in health.doubts(DEVICE, "pixel-8")] == [False]


class Lab:
    """Client whose host answers at once, with the device as it is afterwards."""

    def __init__(self, before: Place, after: Place) -> None:
        self._answers = [before, after]
        self.actions: list[PersonalAction] = []

    def places(self) -> list[Place]:
        return [self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]]

    def request_action(self, place: Place, action: PersonalAction) -> None:
        self.actions.append(action)


PLACE = Place(device=DEVICE, device_class="pixel-8", host="h", versions=own_versions())


@pytest.mark.parametrize(
    ("action", "places", "said", "code"),
    [
        ("withdraw", ({}, {"health": "withdrawn"}), "Pixel 8 is withdrawn; `harness lab return` brings it back", 0),
        (
            "withdraw",
            ({}, {"job": RunningJob(title="m/a", measuring_s=1, expected_s=91)}),
            "Pixel 8 is withdrawn as soon as it has measured m/a, which takes 2 min more; ",
            0,
        ),
        ("return", ({"health": "withdrawn"}, {}), "Pixel 8 is returned", 0),
        ("return", ({"health": "withdrawn"}, {"health": "hot"}), "Pixel 8 is returned, but stays out: hot", 0),
        ("check", ({"checked_at": 1.0}, {"checked_at": 2.0}), "Pixel 8 is healthy", 0),
        ("check", ({}, {"checked_at": 2.0, "check_reason": "x", "health": "out: x"}), "Pixel 8 is not healthy: x", 4),
        ("check", ({}, {"checked_at": 2.0, "check_reason": "x"}), "; its host lets it stay in the pool", 4),
    ],
)
def test_what_became_of_it_is_said(
    action: str,
    places: tuple[dict[str, object], dict[str, object]],
    said: str,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harness.lab.maintenance.pause", lambda _: None)
    lab, lines = Lab(*(PLACE.model_copy(update=each) for each in places)), list[str]()
    assert act(lab, PoolAction(action), "Pixel 8", "why", lines.append) == code  # type: ignore[arg-type]
    assert said in lines[0]
    assert [each.action for each in lab.actions] == [action]


@pytest.mark.parametrize(
    ("action", "changes", "message"),
    [
        ("return", {}, "Pixel 8 is in the pool"),
        ("return", {"health": "quiet hours until 07:00", "returns_at": 1.0}, "is not withdrawn: quiet hours until"),
        ("check", {"device": DEVICE.model_copy(update={"platform": "ios"})}, "has no shell"),
    ],
)
def test_where_there_is_nothing_to_do_that_is_said(action: str, changes: dict[str, object], message: str) -> None:
    place = PLACE.model_copy(update=changes)
    lab = Lab(place, place)
    with pytest.raises(UsageError, match=message):
        act(lab, PoolAction(action), "one", "", print)  # type: ignore[arg-type]
    assert lab.actions == []


def test_a_check_that_could_not_be_made_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.lab.maintenance.pause", lambda _: None)
    place = PLACE.model_copy(update={"checked_at": time.time()})
    with pytest.raises(EnvironmentProblem, match="could not be checked"):
        act(Lab(place, place), PoolAction.CHECK, "one", "", print)  # type: ignore[arg-type]


def test_quiet_devices_are_out_of_the_pool_of_a_class() -> None:
    quiet = PLACE.model_copy(update={"health": "quiet hours until 07:00", "returns_at": 1.0})
    assert Target("pixel-8", "class-pixel-8", (PLACE, quiet)).count_in_pool() == 1
