"""Energy net of idling, on a stand-in phone whose battery is drained all the time, and faster while a program runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.testing.phones.android.phone import StandInPhone
from tests.cli.project import generic
from tests.e2e.desk import Desk, sh
from tests.processes import wait_until

pytestmark = pytest.mark.slow

_BATTERY = "/services/battery/charge_counter"
_LOAD = "/data/local/tmp/load"
_DRAIN = "/data/local/tmp/drain"
_IDLE_UAH, _LOAD_UAH = 80, 800
"""Charge taken in each hundredth of a second, however late the turns of a busy machine come."""


@pytest.fixture
def drained(desk: Desk) -> Iterator[StandInPhone]:
    """A phone off its charger, whose battery loses charge until the test ends."""
    phone = desk.phones[0]
    phone.set_battery(plugged=False, charge_uah=3_000_000, voltage_mv=4000)
    look = "read up _ </proc/uptime; now=${up%.*}${up#*.}"
    turn = (
        f"rate={_IDLE_UAH}; [ -e {_LOAD} ] && rate={_LOAD_UAH}; {look}; "
        f"echo $(($(cat {_BATTERY}) - rate * (now - last))) >{_DRAIN}.next && mv {_DRAIN}.next {_BATTERY}; "
        "last=$now; sleep 0.05"
    )
    loop = f"{look}; last=$now; while [ -e {_DRAIN} ]; do {turn}; done"
    sh(desk.lab, phone, f"touch {_DRAIN}; setsid sh -c '{loop}' >/dev/null 2>&1 &")
    wait_until(lambda: int(phone.read(_BATTERY) or 3_000_000) < 3_000_000)
    yield phone
    sh(desk.lab, phone, f"rm -f {_DRAIN} {_LOAD}")


def test_the_energy_of_a_launch_is_net_of_what_the_idle_phone_takes(desk: Desk, drained: StandInPhone) -> None:
    program = f"/system/bin/sh -c 'touch {_LOAD}; sleep 3; rm {_LOAD}'"
    test = {
        "metric": "power",
        "identifier": "energy",
        "commands": [program],
        "power": {"method": "software", "baseline": 2},
    }
    spec = desk.project.write("spec.json", generic(test, repeat=3))
    done = desk.harness("-b", spec, on=drained.serial)
    assert done.code == 0, done.stderr + done.stdout
    (result,) = done.read()
    assert len(result["launches"]) == 3
    medians = {metric["name"]: metric["summary"]["p50"] for metric in result["metrics"]}
    assert medians["battery energy"] == medians["RUN energy"]
    assert medians["RUN mean_power"] > 1.5 * medians["RUN idle_power"] > 0
    assert 0 < medians["RUN dynamic_energy"] < medians["RUN energy"]
    codes = {note["code"] for note in result["notes"]}
    assert not codes & {"energy_not_above_idle", "baseline_unavailable", "energy_unavailable"}
    assert "RUN dynamic_energy" in done.stdout.split("battery energy")[0], "the table is about it"


def test_where_the_phone_charges_energy_is_unknown_and_the_reason_is_told(desk: Desk) -> None:
    test = {"metric": "power", "identifier": "energy", "commands": ["/system/bin/true"], "power": {"baseline": 1}}
    spec = desk.project.write("spec.json", generic(test, repeat=1))
    done = desk.harness("-b", spec, on=desk.phones[0].serial)
    assert done.code == 4
    (result,) = done.read()
    assert result["outcome"] == "failed"
    assert "it is plugged in" in result["reason"]
