"""Comparisons of two builds on phones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import generic, one_test
from tests.e2e.desk import AS_BOUGHT, Desk, codes, compile_witness, has_begun, program_starts, settings_of

pytestmark = pytest.mark.slow

STEPS = 100_000


@pytest.fixture
def spec(desk: Desk) -> Path:
    return desk.project.write("spec.json", generic(one_test("a", "{program}")))


def build(desk: Desk, name: str, steps: int = STEPS) -> Path:
    return compile_witness(desk.project.folder, name, STEPS=steps, LABEL=name)


def test_a_slower_build_is_a_regression_on_every_phone(desk: Desk, spec: Path) -> None:
    sides = ("--control-program", build(desk, "old"), "--treatment-program", build(desk, "new", STEPS * 2))
    phones = desk.phones[:2]
    done = desk.harness("compare", "-b", spec, *sides, "--seed", "1", on=",".join(phone.serial for phone in phones))
    assert done.code == 1, done.stderr + done.stdout
    results = done.read()
    assert {result["device"]["name"] for result in results} == {phone.serial for phone in phones}
    for result in results:
        comparison = result["comparison"]
        assert comparison["verdict"] == "regression"
        assert 0.5 < comparison["difference"] < 8  # twice the work, of which more waits where CPUs are busy
    # On one phone alone eight or nine tosses may all be equal: the coin depends on the phone's serial number.
    tosses = [pair["control_first"] for result in results for pair in result["comparison"]["pairs"]]
    assert set(tosses) == {True, False}
    for phone in phones:
        names = [start.name for start in program_starts(phone)]
        pairs = zip(names[::2], names[1::2], strict=True)
        assert all({*pair} == {"old", "new"} for pair in pairs), "a pair is both sides, back to back"
        assert settings_of(phone) == AS_BOUGHT


def test_equal_builds_never_have_a_regression_or_improvement(desk: Desk, spec: Path) -> None:
    sides = ("--control-program", build(desk, "old"), "--treatment-program", build(desk, "new"))
    # Such a small error on purpose: what a test says must not depend on luck. It needs 14 pairs that all agree.
    decided = ("--alpha", "0.0001", "--pairs", "20", "--seed", "2")
    done = desk.harness("compare", "-b", spec, *sides, *decided, on=desk.phones[0].serial)
    assert done.code in {0, 5}, done.stderr + done.stdout
    (result,) = done.read()
    assert result["outcome"] == "ok"
    assert result["comparison"]["verdict"] in {"no change", "undecided"}
    assert not result["comparison"]["identical"]


def test_a_pair_that_lost_its_phone_is_repeated(desk: Desk, spec: Path) -> None:
    phone = desk.phones[0]
    sides = ("--control-program", build(desk, "old"), "--treatment-program", build(desk, "new", STEPS * 2))
    with desk.running("compare", "-b", spec, *sides, "--seed", "3", on=phone.serial) as running:
        has_begun(phone, "new", 2)
        phone.unplug()
        phone.plug()
        done = running.outcome()
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    assert result["comparison"]["verdict"] == "regression"
    assert "returned" in codes(result)
    for key in ("launches", "control_launches"):
        counting = [launch for launch in result[key] if launch["discarded"] is None]
        assert len(counting) == len(result["comparison"]["pairs"])


def test_a_comparison_whose_phone_does_not_return_has_no_verdict(desk: Desk, spec: Path) -> None:
    phone = desk.phones[0]
    sides = ("--control-program", build(desk, "old"), "--treatment-program", build(desk, "new", STEPS * 2))
    with desk.running("compare", "-b", spec, *sides, "--return_timeout", "1", on=phone.serial) as running:
        has_begun(phone, "new", 2)
        phone.unplug()
        done = running.outcome()
    assert done.code == 3, done.stderr + done.stdout
    (result,) = done.read()
    assert result["outcome"] == "device_lost"
    assert "did not come back within 1 s" in result["reason"]
    assert result["comparison"] is None or result["comparison"]["verdict"] == "undecided"
