"""`harness self-check` on a phone."""

from __future__ import annotations

import json

import pytest

from tests.cli.project import generic, one_test
from tests.e2e.desk import AS_BOUGHT, Desk, compile_witness, program_starts, settings_of

pytestmark = pytest.mark.slow


@pytest.mark.exhaustive
def test_a_phone_is_checked_with_a_program_that_runs_there(desk: Desk) -> None:
    phone = desk.phones[0]
    program = compile_witness(desk.project.folder, "same", STEPS=100_000, LABEL="same")
    spec = desk.project.write("spec.json", generic(one_test("a", "{program}")))
    words = ("--program", program, "--minutes", "0.05", "--seed", "1", "--json")
    done = desk.harness("self-check", spec, *words, on=phone.serial, timeout_s=400)
    assert done.code == 0, done.stderr + done.stdout
    (check,) = json.loads(done.stdout)["self_checks"]
    assert check["device"] == phone.serial
    (benchmark,) = check["sensitivity"]["benchmarks"]
    assert benchmark["pairs"] > 0
    assert len(program_starts(phone)) >= 2 * benchmark["pairs"]
    assert check["sensitivity"]["failures"] == []
    assert settings_of(phone) == AS_BOUGHT
