"""Phones that are too warm or too empty: waited for, reported, and never measured on meanwhile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.project import generic, one_test
from tests.e2e.desk import Desk, codes, has_begun, outcomes_by_phone, program_starts

pytestmark = pytest.mark.slow


@pytest.fixture
def spec(desk: Desk) -> Path:
    return desk.project.write("spec.json", generic(one_test("a", "{program} a 0.5"), repeat=2))


def test_only_phones_with_enough_charge_are_measured_on(desk: Desk, spec: Path, witness: Path) -> None:
    empty, good = desk.phones[:2]
    empty.set_battery(level=20, plugged=False)
    done = desk.harness("-b", spec, "--program", witness, on=f"{empty.serial},{good.serial}")
    assert done.code != 0
    by_phone = outcomes_by_phone(done.read())
    assert by_phone == {empty.serial: {"a": "failed"}, good.serial: {"a": "ok"}}
    (refused,) = (result for result in done.read() if result["outcome"] == "failed")
    assert "battery at 20 %, must be at least 30 % on battery" in refused["reason"]
    assert refused["hint"] == "charge it"
    assert not program_starts(empty)


def test_measuring_waits_until_a_warm_phone_has_cooled_down(desk: Desk, spec: Path, witness: Path) -> None:
    phone = desk.phones[0]
    phone.set_thermal(skin_c=41.0)
    with desk.running("-b", spec, "--program", witness, on=phone.serial) as running:
        running.says("skin sensor VIRTUAL-SKIN at 41.0 °C, must be below 39.0 °C")
        assert not program_starts(phone)
        phone.set_thermal(skin_c=36.0)
        done = running.outcome()
    assert done.code == 0, done.stderr
    assert len(program_starts(phone)) == 2


def test_a_phone_that_stays_too_warm_is_reported_before_the_timeout(desk: Desk, spec: Path, witness: Path) -> None:
    phone = desk.phones[0]
    phone.set_thermal(status=3, skin_c=46.0)
    done = desk.harness("-b", spec, "--program", witness, "--cool-timeout", "1", on=phone.serial)
    assert done.code != 0
    (result,) = done.read()
    words = r"not ready to be measured on after [1-9][0-9]* s: thermal status 3, must be 0; skin sensor"
    assert re.search(words, result["reason"])
    assert "--cool-timeout" in result["hint"]
    assert not program_starts(phone)


def test_a_throttled_launch_is_discarded_and_repeated(desk: Desk, witness: Path) -> None:
    phone = desk.phones[0]
    spec = desk.project.write("spec.json", generic(one_test("a", "{program} a 3"), repeat=2))  # heat comes meanwhile
    with desk.running("-b", spec, "--program", witness, on=phone.serial) as running:
        has_begun(phone, "a")
        phone.set_thermal(status=2)
        running.says("thermal status 2, must be 0")
        phone.set_thermal(status=0)
        done = running.outcome()
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    assert [launch["discarded"] for launch in result["launches"]] == ["throttled by heat", None, None]
    assert len(result["metrics"][0]["samples"]) == 24, "of the two that count"
    assert len(program_starts(phone)) == 3


def test_conditions_that_are_overridden_mark_the_result_and_limits_that_are_set_do_not(
    desk: Desk, spec: Path, witness: Path
) -> None:
    phone = desk.phones[0]
    phone.set_battery(level=20, plugged=False)
    limited = desk.harness("-b", spec, "--program", witness, "--min-battery", "15", on=phone.serial)
    (result,) = limited.read()
    assert (result["outcome"], "overridden" in codes(result)) == ("ok", False)
    phone.set_thermal(status=2)
    arguments = ("-b", spec, "--program", witness, "--override", "battery,thermal-status", "--cool-timeout", "1")
    done = desk.harness(*arguments, on=phone.serial)
    assert done.code == 0, done.stderr
    (result,) = (result for result in done.read() if "overridden" in codes(result))
    (note,) = (note for note in result["notes"] if note["code"] == "overridden")
    assert not note["trust"]
    assert "thermal status 2, must be 0; battery at 20 %, must be at least 30 %" in note["message"]
    assert [launch["discarded"] for launch in result["launches"]] == [None, None]
    assert "throttled" not in codes(result)
    assert "measured without demanding battery, thermal-status" in done.stdout


def test_a_phone_that_slept_is_not_trusted(desk: Desk, witness: Path) -> None:
    phone = desk.phones[0]
    spec = desk.project.write("spec.json", generic(one_test("a", "{program} a 3")))
    with desk.running("-b", spec, "--program", witness, on=phone.serial) as running:
        has_begun(phone, "a")
        phone.fall_asleep()
        phone.wake_up()
        done = running.outcome()
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert [note["trust"] for note in result["notes"] if note["code"] == "slept"] == [False]
