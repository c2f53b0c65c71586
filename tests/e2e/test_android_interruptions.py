"""The harness is stopped, or killed, in the middle: phones are as they were, at once or after the next run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from platforms.android.settings.settings_log import LOG_ON_PHONE
from tests.cli.project import generic, one_test
from tests.e2e.desk import (
    AS_BOUGHT,
    NEIGHBOUR,
    OWN,
    Desk,
    has_begun,
    outcomes_by_phone,
    program_starts,
    settings_of,
    sh,
)
from tests.processes import wait_until

pytestmark = pytest.mark.slow

RUNS = "pidof program; true"


@pytest.fixture
def spec(desk: Desk) -> Path:
    for phone in desk.phones:
        phone.write(NEIGHBOUR, "mine")
    tests = (one_test("short", "{program} short"), one_test("long", "{program} long 60"))
    return desk.project.write("spec.json", generic(*tests))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_phones_as_they_were(
    desk: Desk, spec: Path, witness: Path, number: signal.Signals
) -> None:
    phones = desk.phones[:2]
    with desk.running("-b", spec, "--program", witness, on=",".join(phone.serial for phone in phones)) as running:
        for phone in phones:
            has_begun(phone, "long")
            assert set(settings_of(phone).values()) == {"0"}, "what is put back was changed"
        running.send(number)
        done = running.outcome(timeout_s=60)
    assert done.code == 130
    assert "interrupted" in done.stderr
    assert outcomes_by_phone(done.read()) == {phone.serial: {"short": "ok"} for phone in phones}
    for phone in phones:
        assert settings_of(phone) == AS_BOUGHT
        assert phone.read("/services/fixed_performance").strip() == "false"
        assert sh(desk.lab, phone, f"ls {OWN}/sessions; ls {LOG_ON_PHONE} 2>/dev/null; {RUNS}") == ""
        assert phone.read(NEIGHBOUR) == "mine"


def test_the_next_run_restores_settings_of_a_killed_run(desk: Desk, spec: Path, witness: Path) -> None:
    phone = desk.phones[0]
    with desk.running("-b", spec, "--program", witness, on=phone.serial) as running:
        has_begun(phone, "long")
        running.send(signal.SIGKILL)
        running.outcome()
    wait_until(lambda: sh(desk.lab, phone, RUNS) == "")  # the connection ended, and with it what it started
    assert set(settings_of(phone).values()) == {"0"}
    assert sh(desk.lab, phone, f"ls {OWN}/sessions") != ""
    assert phone.exists(LOG_ON_PHONE)
    done = desk.harness("-b", spec, "--program", witness, "--only", "*/short", on=phone.serial)
    assert done.code == 0, done.stderr
    assert "restored what an earlier run had changed" in done.stderr
    assert settings_of(phone) == AS_BOUGHT
    assert phone.read("/services/fixed_performance").strip() == "false"
    assert sh(desk.lab, phone, f"ls {OWN}/sessions; ls {LOG_ON_PHONE} 2>/dev/null") == ""
    assert phone.read(NEIGHBOUR) == "mine"
    assert [start.ended is not None for start in program_starts(phone)] == [True, False, True]


def test_another_machine_restores_settings_of_a_killed_run(desk: Desk, spec: Path, witness: Path) -> None:
    phone = desk.phones[0]
    with desk.running("-b", spec, "--program", witness, on=phone.serial) as running:
        has_begun(phone, "long")
        running.send(signal.SIGKILL)
        running.outcome()
    arguments = (
        "-b",
        spec,
        "--program",
        witness,
        "--only",
        "*/short",
        "--cache_dir",
        desk.project.folder / "elsewhere",
    )
    done = desk.harness(*arguments, on=phone.serial)
    assert done.code == 0, done.stderr
    assert "restored what an earlier run had changed" in done.stderr
    assert settings_of(phone) == AS_BOUGHT
