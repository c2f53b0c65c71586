"""Comparisons of two builds of an app on iPhones, through the real go-ios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones.ios.lab import IPhoneLab
from tests.cli.project import Project, generic, one_test
from tests.e2e.desk import codes
from tests.e2e.iphone_desk import IPhoneDesk
from tests.e2e.repositories import need
from tests.iphones import go_ios, iphone_lab, iphones

__all__ = ["go_ios", "iphone_lab", "iphones"]

pytestmark = pytest.mark.slow

STEPS = 400_000
FEW = ("--pairs", "8", "--seed", "1")


@pytest.fixture
def desk(iphones: IPhoneLab, go_ios: Path, tmp_path: Path) -> Iterator[IPhoneDesk]:
    need("g++")
    desk = IPhoneDesk(iphones, Project(tmp_path, tmp_path / "cache"), go_ios)
    yield desk
    desk.forget_locks()


@pytest.fixture
def spec(desk: IPhoneDesk) -> Path:
    return desk.project.write("spec.json", generic(one_test("a", "{program}")))


@pytest.mark.exhaustive
def test_a_slower_build_is_a_regression_on_every_iphone(desk: IPhoneDesk, spec: Path) -> None:
    sides = ("--control-program", desk.app("old", STEPS), "--treatment-program", desk.app("new", STEPS * 2))
    done = desk.harness("compare", "-b", spec, *sides, *FEW)
    assert done.code == 1, done.stderr + done.stdout
    results = done.read()
    assert {result["device"]["identity"] for result in results} == {phone.model.udid for phone in desk.phones}
    for result in results:
        assert result["comparison"]["verdict"] == "regression"
        assert 0.5 < result["comparison"]["difference"] < 8  # twice the work, of which more waits where CPUs are busy
        assert result["device"]["kind"] == "iPhone 14"
        assert result["launches"][0]["after"]["brightness"] == 0.5
        assert "installed_in_turns" not in codes(result)


def test_two_builds_of_one_app_are_installed_in_turns(desk: IPhoneDesk, spec: Path) -> None:
    old, new = desk.app("old", STEPS, "org.example.same"), desk.app("new", STEPS * 2, "org.example.same")
    phone = desk.phones[0]
    sides = ("--control-program", old, "--treatment-program", new)
    done = desk.harness("compare", "-b", spec, *sides, *FEW, on=phone.model.udid)
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    assert result["comparison"]["verdict"] == "regression"
    assert "installed_in_turns" in codes(result)


@pytest.mark.exhaustive
def test_equal_builds_have_no_regression(desk: IPhoneDesk, spec: Path) -> None:
    sides = ("--control-program", desk.app("old", STEPS), "--treatment-program", desk.app("new", STEPS))
    phone = desk.phones[0]
    decided = ("--alpha", "0.0001", "--pairs", "5", "--seed", "2")
    done = desk.harness("compare", "-b", spec, *sides, *decided, on=phone.model.udid)
    assert done.code in {0, 5}, done.stderr + done.stdout
    (result,) = done.read()
    assert result["comparison"]["verdict"] in {"no change", "undecided"}


@pytest.mark.exhaustive
def test_a_pair_that_lost_its_iphone_is_repeated(desk: IPhoneDesk, spec: Path) -> None:
    phone = desk.phones[0]
    sides = ("--control-program", desk.app("old", STEPS), "--treatment-program", desk.app("new", STEPS * 2))
    phone.unplug_after(400_000)
    with desk.running("compare", "-b", spec, *sides, *FEW, on=phone.model.udid) as running:
        running.says("waiting for its return")
        phone.plug()
        done = running.outcome(400.0)
    assert done.code == 1, done.stderr + done.stdout
    (result,) = done.read()
    assert result["comparison"]["verdict"] == "regression"


@pytest.mark.exhaustive
def test_an_iphone_that_does_not_return_has_no_verdict(desk: IPhoneDesk, spec: Path) -> None:
    phone = desk.phones[0]
    sides = ("--control-program", desk.app("old", STEPS), "--treatment-program", desk.app("new", STEPS * 2))
    phone.unplug_after(400_000)
    done = desk.harness("compare", "-b", spec, *sides, *FEW, "--return_timeout", "3", on=phone.model.udid)
    assert done.code == 3, done.stderr + done.stdout
    (result,) = done.read()
    assert result["outcome"] == "device_lost"
    assert "did not come back within 3 s" in result["reason"]
