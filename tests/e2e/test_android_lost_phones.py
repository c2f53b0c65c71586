"""Phones that become unreachable while measuring: reported, waited for, without disturbing the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.project import generic, one_test
from tests.e2e.desk import AS_BOUGHT, Desk, codes, has_begun, outcomes_by_phone, program_starts, settings_of
from tests.processes import wait_until

pytestmark = pytest.mark.slow


def spec_of(desk: Desk, *names: str, seconds: float = 3.0, timeout: float = 60.0, repeat: int = 2) -> Path:
    """Benchmarks that take so long that something can happen to a phone meanwhile."""
    tests = (one_test(name, f"{{program}} {name} {seconds}", timeout=timeout) for name in names)
    return desk.project.write("spec.json", generic(*tests, repeat=repeat))


def unplug(desk: Desk) -> None:
    desk.phones[0].unplug()
    desk.phones[0].plug()


def reboot(desk: Desk) -> None:
    desk.phones[0].reboot()


def kill_server(desk: Desk) -> None:
    desk.lab.kill_server()


@pytest.mark.parametrize("disturb", [unplug, reboot, kill_server])
def test_a_benchmark_continues_when_its_phone_returns(
    desk: Desk, witness: Path, disturb: Callable[[Desk], None]
) -> None:
    phone = desk.phones[0]
    arguments = ("-b", spec_of(desk, "first", "second"), "--program", witness)
    with desk.running(*arguments, on=phone.serial) as running:
        has_begun(phone, "first", 2)
        disturb(desk)
        done = running.outcome()
    assert done.code == 0, done.stderr + done.stdout
    first, second = done.read()
    assert codes(first).count("returned") == 1
    assert "it came back after" in next(note["message"] for note in first["notes"] if note["code"] == "returned")
    assert "returned" not in codes(second)
    assert [len(result["launches"]) for result in (first, second)] == [2, 2], "the voided launch does not count"
    assert len(first["metrics"][0]["samples"]) == 24
    starts = [(start.name, start.ended is not None) for start in program_starts(phone)]
    assert starts == [("first", True), ("first", False), ("first", True), ("second", True), ("second", True)]
    assert settings_of(phone) == AS_BOUGHT
    assert phone.read("/services/fixed_performance").strip() == "false"


def test_lost_and_hung_phones_are_reported_and_the_remaining_phones_continue(desk: Desk, witness: Path) -> None:
    good, unplugged, hung = desk.phones[:3]
    spec = spec_of(desk, "first", "second", timeout=5, repeat=1)
    arguments = ("-b", spec, "--program", witness, "--return_timeout", "12")
    with desk.running(*arguments, on=",".join(phone.serial for phone in (good, unplugged, hung))) as running:
        for phone in (unplugged, hung):
            has_begun(phone, "first")
        unplugged.unplug()
        hung.freeze()
        running.says(f"✗ {unplugged.serial}: {unplugged.serial} did not come back within 12 s")
        running.says(f"{hung.serial}: waiting for its return")
        hung.thaw()
        done = running.outcome()
    assert done.code == 3, done.stderr + done.stdout
    assert outcomes_by_phone(done.read()) == {
        good.serial: {"first": "ok", "second": "ok"},
        unplugged.serial: {"first": "device_lost", "second": "device_lost"},
        hung.serial: {"first": "ok", "second": "ok"},
    }
    notes = {(result["device"]["name"], result["benchmark"]["identifier"]): codes(result) for result in done.read()}
    returned = [place for place, codes in notes.items() if "returned" in codes]
    assert returned == [(hung.serial, "first")]
    for result in done.read():
        if result["outcome"] == "device_lost":
            assert "did not come back within 12 s" in result["reason"]
            assert "--return-timeout" in result["hint"]
    assert [start.name for start in program_starts(good)] == ["first", "second"]
    assert settings_of(hung) == AS_BOUGHT


def test_another_phone_takes_over_the_benchmark_of_a_lost_one(desk: Desk, witness: Path) -> None:
    lost, healthy = desk.phones[:2]
    names = [f"t{number}" for number in range(4)]
    spec = spec_of(desk, *names, repeat=1)
    arguments = ("-b", spec, "--program", witness, "--spread", "--return_timeout", "1")
    with desk.running(*arguments, on=f"{lost.serial},{healthy.serial}") as running:
        wait_until(lambda: len(program_starts(lost)) > 0)
        lost.unplug()
        done = running.outcome()
    assert f"✗ {lost.serial}: {lost.serial} did not come back within 1 s" in done.stderr
    results = done.read()
    assert sorted(result["benchmark"]["identifier"] for result in results) == names
    assert {result["outcome"] for result in results} == {"ok"}
    assert done.code == 0, done.stderr
    (cut_short,) = (start.name for start in program_starts(lost) if start.ended is None)
    assert cut_short in {start.name for start in program_starts(healthy)}
