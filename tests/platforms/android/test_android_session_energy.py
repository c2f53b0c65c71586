"""Energy of programs on stand-in phones, whose perfetto writes the trace that a test gives."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from frameworks.generic.framework import Generic
from harness.analysis.results import build_result
from harness.core.app import App
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command
from harness.core.measurement import Job
from harness.core.result import Outcome, Result
from harness.running.measure import measure
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link.phone import Phone
from platforms.android.session import AndroidSession
from tests.platforms.android.conftest import MakePlatform
from tests.platforms.android.traces import rails_trace
from tests.processes import wait_until

pytestmark = pytest.mark.slow

_CANNED = "/services/perfetto-trace"
_CPU_MW, _GPU_MW = 1500, 200


@pytest.fixture
def meterless(lab: PhoneLab, make_platform: MakePlatform, stand_in: StandInPhone) -> Iterator[AndroidSession]:
    """A session on a phone off its charger, whose perfetto finds nothing to connect to."""
    stand_in.set_battery(plugged=False, charge_uah=3_000_000, voltage_mv=4000)
    platform = make_platform(lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as session:
        yield session
    stand_in.set_battery(plugged=True, charge_uah=3_300_000, voltage_mv=4200)


@pytest.fixture
def railed(phone: Phone, session: AndroidSession) -> Iterator[AndroidSession]:
    """A session on a phone that records 1.5 W and 0.2 W on two rails from now on for a minute."""
    now_ms = int(1000 * float(phone.sh("cat /proc/uptime").stdout.split()[0]))
    times = range(now_ms, now_ms + 60_000, 250)
    trace = rails_trace(
        {0: "S2M_VDD_CPUCL2", 1: "S2S_VDD_G3D"},
        [(time_ms, {0: _CPU_MW * time_ms, 1: _GPU_MW * time_ms}) for time_ms in times],
    )
    result = phone.sh(f"base64 -d >{_CANNED}", stdin=base64.b64encode(trace))
    assert result.exit_code == 0, result.stderr
    yield session
    phone.sh(f"rm -f {_CANNED}")


def program(seconds: float = 0.0, *, spends_uah: int = 0) -> Command:
    """It sleeps, and the battery has so much less charge afterwards."""
    spend = f"echo $((3000000 - {spends_uah})) >/services/battery/charge_counter" if spends_uah else ":"
    return Command(("sh", "-c", f"{spend}; sleep {seconds}; echo it was here"), energy=True)


def test_power_rails_give_the_energy_of_a_program(railed: AndroidSession, stand_in: StandInPhone) -> None:
    stand_in.round_trips = 0
    completed = railed.run(program(2.3))
    assert stand_in.round_trips == 1, "the trace comes with the answer"
    assert completed.ok
    assert completed.stdout == "it was here\n"
    assert completed.energy_unavailable is None
    # Rails go by the time since boot, which may differ by 0.05 s from the clock that is told (`script.elapsed_s`).
    assert completed.energy_mj == {
        "rail S2M_VDD_CPUCL2": pytest.approx(_CPU_MW * completed.wall_s, rel=0.04),
        "rail S2S_VDD_G3D": pytest.approx(_GPU_MW * completed.wall_s, rel=0.04),
    }


def test_the_recording_leaves_no_files_and_processes(railed: AndroidSession, phone: Phone) -> None:
    assert railed.run(program(2.1)).energy_mj
    wait_until(lambda: phone.sh("pidof -x perfetto").stdout == "")
    assert phone.sh("ls /data/misc/perfetto-traces").stdout == ""
    folder = railed.stage({}, {}).folder.rpartition("/")[0]
    assert not [name for name in phone.sh('ls "$1"', folder).stdout.split() if name.startswith("rails")]


def test_a_program_that_is_too_short_has_no_energy(railed: AndroidSession) -> None:
    completed = railed.run(program())
    assert completed.ok
    assert completed.energy_mj == {}
    assert "ended too soon" in (completed.energy_unavailable or "")


def test_a_program_that_fails_has_no_energy(railed: AndroidSession) -> None:
    completed = railed.run(Command(("false",), energy=True))
    assert completed.exit_code == 1
    assert completed.energy_mj == {}


def test_without_rails_the_battery_gives_the_energy(meterless: AndroidSession) -> None:
    completed = meterless.run(program(spends_uah=12_345))
    assert completed.energy_mj == {"battery": pytest.approx(12_345e-6 * 3600 * 4.0 * 1000)}


def test_the_battery_is_read_right_before_the_program(meterless: AndroidSession, stand_in: StandInPhone) -> None:
    meterless.state()
    stand_in.set_battery(charge_uah=3_500_000)
    energy_mj = meterless.run(program(spends_uah=12_345)).energy_mj
    assert energy_mj == {"battery": pytest.approx(512_345e-6 * 3600 * 4.0 * 1000)}


def test_a_phone_on_its_charger_has_a_reason_for_unknown_energy(session: AndroidSession) -> None:
    completed = session.run(program(spends_uah=0))
    assert completed.ok
    assert completed.energy_mj == {}
    assert completed.energy_unavailable == "it has no power rails, and it is plugged in: reach it over Wi-Fi"


def test_energy_is_measured_on_request_only(session: AndroidSession) -> None:
    completed = session.run(Command(("true",)))
    assert (completed.energy_mj, completed.energy_unavailable) == ({}, None)


def test_interactive_programs_have_no_energy_of_their_own(meterless: AndroidSession) -> None:
    with meterless.start(Command(("cat",), energy=True)) as live:
        completed = live.finish()
    assert completed.energy_mj == {}
    assert "share it" in (completed.energy_unavailable or "")


def test_the_energy_of_an_app_is_unknown(meterless: AndroidSession, stand_in: StandInPhone) -> None:
    stand_in.write("/data/app-hooks/org.energy", "echo done >files/result; sleep 2\n")
    app = App(package="org.energy", activity=".A", result="files/result")
    completed = meterless.run(Command((), app=app, energy=True))
    assert completed.ok
    assert "app" in (completed.energy_unavailable or "")


def power_test(session: AndroidSession, folder: Path) -> Result:
    """The result of a program that says nothing, and takes 20 mAh in each of two launches."""
    counter = "/services/battery/charge_counter"
    benchmark = Benchmark(
        id=0,
        model=Model(name="m", format="none"),
        identifier="t",
        metric="power",
        framework="generic",
        commands=(f"sh -c 'echo $(($(cat {counter}) - 20000)) >{counter}.new; mv {counter}.new {counter}'",),
        launches=2,
        energy=True,
        origin=SpecificationPlace(file=Path("spec.json")),
        digest="0" * 64,
    )
    job = Job(benchmark, Build(source="none", commit="none"), {})
    measured = measure(job, session, Generic({}), scratch=folder, clock=time.time, progress=RecordedProgress())
    return build_result(job, session.device, measured, run_type="benchmark", meta={})


def test_a_test_of_power_measures_each_launch(meterless: AndroidSession, tmp_path: Path) -> None:
    meterless.run(program(spends_uah=1))  # from a counter of single steps on
    result = power_test(meterless, tmp_path)
    assert result.outcome is Outcome.OK, result.reason
    energy = result.metric("RUN energy")
    assert energy is not None
    assert energy.launches == (0, 1)
    assert energy.samples == pytest.approx([20_000e-6 * 3600 * 4.0 * 1000] * 2)
    assert result.metric("battery energy") is not None
    assert [launch.peak_memory_bytes for launch in result.launches] == [None, None], "unknown, and not zero"


def test_a_test_of_power_on_a_charger_fails_with_a_reason(session: AndroidSession, tmp_path: Path) -> None:
    result = power_test(session, tmp_path)
    assert result.outcome is Outcome.FAILED
    assert "it is plugged in: reach it over Wi-Fi" in (result.reason or "")
