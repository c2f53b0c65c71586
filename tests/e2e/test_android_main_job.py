"""The main job on four phones at once, as a person types it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from frameworks.executorch.runners.native import native_build
from frameworks.executorch.runners.wheel import wheel_with_sdk
from harness.core.errors import BuildFailed
from harness.core.reproduction import Reproduction
from harness.testing.progress import RecordedProgress
from platforms.android.settings.settings_log import LOG_ON_PHONE
from tests.cli.project import generic, one_test
from tests.e2e.desk import AS_BOUGHT, NEIGHBOUR, OWN, Desk, identity, outcomes_by_phone, program_starts, settings_of, sh
from tests.processes import wait_until
from tests.shared_folders import share_cache_of_runners

pytestmark = pytest.mark.slow

ADD = Path(__file__).parents[2] / "specifications" / "models" / "add.json"
NAMES = ("a", "b", "c")


@pytest.fixture
def spec(desk: Desk) -> Path:
    tests = (one_test(name, f"{{program}} {name}") for name in NAMES)
    return desk.project.write("spec.json", generic(*tests, repeat=2))


def test_every_phone_measures_everything_and_is_left_as_it_was(desk: Desk, spec: Path, witness: Path) -> None:
    for phone in desk.phones:
        phone.write(NEIGHBOUR, "mine")
    done = desk.harness("-b", spec, "--program", witness)
    assert done.code == 0, done.stderr + done.stdout
    results = done.read()
    assert outcomes_by_phone(results) == {phone.serial: dict.fromkeys(NAMES, "ok") for phone in desk.phones}
    for result in results:
        assert len(result["launches"]) == 2
        assert all(launch["before"]["battery_percent"] == 85 for launch in result["launches"])
        assert all(launch["after"]["residency_ms"] for launch in result["launches"])
        assert len(result["metrics"][0]["samples"]) == 24
        assert result["device"]["attributes"]["fixed_performance"] == "on"
    for phone in desk.phones:
        assert [start.name for start in program_starts(phone)] == [name for name in NAMES for _ in range(2)]
        assert settings_of(phone) == AS_BOUGHT
        assert phone.read("/services/fixed_performance").strip() == "false"
        assert phone.read(NEIGHBOUR) == "mine"
        assert sh(desk.lab, phone, f"ls {OWN}/sessions; ls {LOG_ON_PHONE} 2>/dev/null") == ""
        assert phone.serial in done.stdout


def test_the_line_of_a_result_measures_its_phone_again(desk: Desk, spec: Path, witness: Path) -> None:
    changed = ("--override", "battery", "--min-battery", "20", "--cpus", "big")
    rows = desk.harness("-b", spec, "--program", witness, "--only", "*/a", *changed).read()
    assert len(rows) == len(desk.phones)
    row = rows[-1]
    reproduction = Reproduction.model_validate(row["reproduction"])
    words = shlex.split(reproduction.line)
    assert {*changed} <= {*words}
    done = desk.project.harness(*words[1:], HARNESS_ADB_SERVER=desk.lab.server)
    assert done.code == 0, done.stderr
    again = done.read()[len(rows) :]
    assert len(again) == 1
    for key in ("benchmark", "device", "build", "reproduction"):
        left, right = dict(row[key]), dict(again[0][key])
        left.pop("attributes", None), right.pop("attributes", None)
        assert left == right
    assert again[0]["launches"][0]["cpus"] == row["launches"][0]["cpus"]


def test_phones_are_listed_and_selected(desk: Desk, spec: Path, witness: Path) -> None:
    listed = desk.project.harness("devices", HARNESS_ADB_SERVER=desk.lab.server)
    assert listed.code == 0
    assert "android: 4 devices" in listed.stdout
    first, second, third, fourth = desk.phones
    assert all(words in listed.stdout for words in ("Edge Stand-in", "battery 85 %", identity(third), "2802 MHz"))
    arguments = ("-b", spec, "--program", witness, "--only", "*/a")
    assert set(outcomes_by_phone(desk.harness(*arguments, on=second.serial).read())) == {second.serial}
    chosen = desk.harness(*arguments, on=f"{identity(first)},{third.serial}")
    assert set(outcomes_by_phone(chosen.read())) == {second.serial, first.serial, third.serial}
    left = desk.harness(*arguments, "--excluded_devices", f"{first.serial},{second.serial},{identity(third)}")
    assert left.code == 0
    assert left.read()[-1]["device"]["name"] == fourth.serial
    assert [len(program_starts(phone)) for phone in desk.phones] == [2, 2, 2, 2]


def test_a_missing_phone_is_reported_and_nothing_is_measured(desk: Desk, spec: Path, witness: Path) -> None:
    arguments = ("-b", spec, "--program", witness, "--return-timeout", "0")
    done = desk.harness(*arguments, on=f"{desk.phones[0].serial},PIXEL8")
    assert done.code == 3
    assert "no device `PIXEL8`" in done.stderr
    assert desk.phones[1].serial in done.stderr, "what there is"
    assert all(not program_starts(phone) for phone in desk.phones)


def test_a_phone_that_is_away_at_the_start_is_waited_for(desk: Desk, spec: Path, witness: Path) -> None:
    phone = desk.phones[0]
    phone.unplug()
    wait_until(lambda: desk.lab.states().get(phone.serial) != "device")
    arguments = ("-b", spec, "--program", witness, "--only", "*/a")
    mistyped = desk.harness(*arguments, on="SI000000")
    assert mistyped.code == 3, "nobody ever saw it, and others are connected"
    assert desk.phones[1].serial in mistyped.stderr
    with desk.running(*arguments, "--return-timeout", "120", on=phone.serial) as running:
        running.says(f"(--return-timeout) for {phone.serial}")
        phone.plug()
        done = running.outcome()
    assert done.code == 0, done.stderr
    assert [len(program_starts(other)) > 0 for other in desk.phones] == [True, False, False, False]


def test_a_phone_that_is_left_out_is_named_and_listed_with_its_remedy(desk: Desk, spec: Path, witness: Path) -> None:
    first, locked = desk.phones[:2]
    locked.unauthorise()
    wait_until(lambda: desk.lab.states().get(locked.serial) == "unauthorized")
    try:
        listed = desk.project.harness("devices", "-p", "android", HARNESS_ADB_SERVER=desk.lab.server)
        as_json = desk.project.harness("devices", "-p", "android", "--json", HARNESS_ADB_SERVER=desk.lab.server)
        arguments = ("-b", spec, "--program", witness, "--only", "*/a", "-p", "android")
        done = desk.project.harness(*arguments, HARNESS_ADB_SERVER=desk.lab.server)
    finally:
        locked.authorise()
    assert "android: 4 devices, 1 of them cannot be used" in listed.stdout
    assert "Allow USB debugging" in listed.stdout
    by_name = {entry["name"]: entry for entry in json.loads(as_json.stdout)["devices"]}
    assert by_name.keys() == {phone.serial for phone in desk.phones}
    assert (by_name[locked.serial]["state"], by_name[first.serial]["state"]) == ("unauthorized", "ready")
    assert by_name[first.serial]["abi"] == by_name[first.serial]["device"]["abi"] != ""
    assert done.code == 0, done.stderr
    (measured,) = {result["device"]["name"] for result in done.read()}
    assert f"measuring on {measured}; left out: {locked.serial} (unauthorized: unlock it" in done.stderr


def test_spread_benchmarks_are_measured_once_each(desk: Desk, witness: Path) -> None:
    tests = (one_test(f"t{number}", f"{{program}} t{number} 0.3") for number in range(8))
    done = desk.harness("-b", desk.project.write("spec.json", generic(*tests)), "--program", witness, "--spread")
    assert done.code == 0, done.stderr
    by_phone = outcomes_by_phone(done.read())
    assert len(by_phone) > 1, "who is free takes the next"
    assert sorted(name for names in by_phone.values() for name in names) == sorted(f"t{number}" for number in range(8))
    assert all(
        {start.name for start in program_starts(phone)} == set(by_phone.get(phone.serial, ())) for phone in desk.phones
    )


def test_the_native_runner_of_executorch_measures_a_model(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        program = native_build(share_cache_of_runners(tmp_path_factory), RecordedProgress()).programs["program"]
        libraries = sorted((wheel_with_sdk().package / "lib").glob("libexecutorch*.so"))
    except BuildFailed as reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(reason))
    given = (str(program), *(f"{library.name}={library}" for library in libraries))
    phones = desk.phones[:2]
    serials = ",".join(phone.serial for phone in phones)
    done = desk.harness("-b", ADD, "--precision", "none", "--program", *given, on=serials)
    assert done.code == 0, done.stderr + done.stdout
    for result in done.read():
        metrics = {metric["name"]: metric for metric in result["metrics"]}
        assert len(metrics["NET latency"]["samples"]) == 150
        assert metrics["RUN peak_memory"]["samples"]
        assert json.dumps(result["launches"]).count('"taskset"') == 3, "pinned, for one thread is asked for"
    assert len(done.read()) == 2
